"""One short sweep on the demo's target, measured once and looked at by many tests."""

from __future__ import annotations

import msgspec
import pytest

from sweeps.check import preflight
from sweeps.plan.build import plan_file
from tests.e2e.engine import SPECULATIVE, sweep_text
from tests.e2e.traps import kit

LOOKUP = """
[[grid]]
kind = "prompt-lookup"
target = "target"
target_device = "CPU"
num_assistant_tokens = 3
max_ngram_size = 3
"""


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> kit.Measured:
    """Both paths, their baselines, the draft alone and prompt lookup: three reps of two prompts.

    Without the agreement runs, half of the time, which the demo's tests look at.
    """
    folder = tmp_path_factory.mktemp("clean")
    grid = "".join(SPECULATIVE.format(device=device) for device in ("CPU", "NPU")) + LOOKUP
    prompts = 'short = { file = "demo:short" }\nscript = { file = "demo:script" }'
    text = sweep_text(grid, budget=48, reps=3, prompts=prompts).replace("warmup = 0", "warmup = 1")
    sweep = folder / "sweep.toml"
    sweep.write_text(text, encoding="utf-8")
    plan = preflight(plan_file(sweep))
    measured = tuple(run for run in plan.runs if run.config.kind != "agreement")
    return kit.supervise(folder, msgspec.structs.replace(plan, runs=measured))
