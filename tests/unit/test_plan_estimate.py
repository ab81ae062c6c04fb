"""Time estimates learned from rows, and what a plan looks like as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from sweeps.plan.build import build_plan
from sweeps.plan.estimate import estimate, remaining_s
from sweeps.plan.model import Plan
from sweeps.plan.show import duration, plan_text, rows, summary
from sweeps.spec.load import parse_sweep
from sweeps.store import schema

TEXT = """
name = "s"
[protocol]
max_new_tokens = 100
warmup = 1
reps = 3
[models]
big = "big"
small = "small"
[devices.NPU]
NPUW_DEVICES = "CPU"
[prompts]
a = "hello"
b = "world"
[[grid]]
kind = "speculative"
target = "big"
target_device = "CPU"
draft = "small"
draft_device = ["CPU", "NPU"]
num_assistant_tokens = 3
assistant_confidence_threshold = [0.3]
[[grid]]
kind = "speculative"
target = "big"
target_device = "CPU"
draft = "small"
draft_device = ["CPU", "NPU"]
num_assistant_tokens = 3
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    for name in ("big", "small"):
        (tmp_path / name).mkdir()
    return build_plan(parse_sweep(TEXT), tmp_path, hasher=lambda path: path.name)


def row(**values: Any) -> dict[str, Any]:
    return {
        "run": "x",
        "kind": "plain",
        "target": "big",
        "target_device": "CPU",
        "draft": None,
        "draft_device": None,
        "path": "cb",
        "construct_s": 2.0,
        "wall_tok_s": 100.0,
        **values,
    }


PAIR = {"kind": "speculative", "draft": "small", "draft_device": "CPU"}
TOKENS = (1 + 3) * 2 * 100


def test_nothing_recorded_is_no_estimate(plan: Plan) -> None:
    found = estimate(plan, [])
    assert found.total is None
    assert found.at_least == 0
    assert found.unknown == len(plan.runs) == len(found.runs)
    useless = [row(wall_tok_s=None), row(wall_tok_s=0.0), row(wall_tok_s=float("nan")), {}]
    assert estimate(plan, useless) == found


def test_the_median_of_the_rows_most_like_a_run(plan: Plan) -> None:
    history = [
        row(wall_tok_s=50.0),
        row(**PAIR, wall_tok_s=200.0, construct_s=4.0),
        row(**PAIR, wall_tok_s=100.0, construct_s=6.0),
        row(**PAIR, wall_tok_s=100.0, construct_s=6.0),
    ]
    found = estimate(plan, history)
    by_path = {(run.config.kind, run.path, run.config.target): found.runs[run.id] for run in plan.runs}
    assert by_path["speculative", "cb", "big"] == pytest.approx(6.0 + TOKENS / 100)
    assert by_path["plain", "cb", "big"] == pytest.approx(2.0 + TOKENS / 50)
    # Another path of the same model on the same device is the next best.
    assert by_path["plain", "sdpa", "big"] == pytest.approx(2.0 + TOKENS / 50)
    # Nothing is known about the draft alone.
    assert by_path["plain", "cb", "small"] is None
    assert found.total is None
    assert found.at_least > 0


def test_the_same_run_is_the_best_teacher(plan: Plan) -> None:
    first = plan.runs[0]
    history = [row(), row(run=first.id, construct_s=None, wall_tok_s=10.0)]
    assert estimate(plan, history).runs[first.id] == pytest.approx(TOKENS / 10)


def test_a_frame_is_a_history_and_a_known_plan_has_a_total(plan: Plan) -> None:
    history = [row(), row(target="small"), row(target="small", target_device="NPU", path="npu")]
    frame = pl.DataFrame(history, schema={name: schema.RUNS[name].dtype for name in history[0]})
    found = estimate(plan, frame)
    assert found == estimate(plan, history)
    # Seven measured runs, and four agreement passes that cost their start-up only.
    assert found.total == pytest.approx(7 * (2.0 + TOKENS / 100) + 4 * 2.0)


def test_in_pairs_the_baseline_is_measured_beside_every_rep(plan: Plan) -> None:
    history = [row(), row(target="small"), row(target="small", target_device="NPU", path="npu")]
    paired = msgspec.structs.replace(plan, protocol=msgspec.structs.replace(plan.protocol, order="paired"))
    once = 2.0 + TOKENS / 100
    found = {run.id: estimate(paired, history).runs[run.id] for run in plan.runs}
    for run in plan.runs:
        alone = run.config.kind == "plain" and run.config.attention_backend in ("PA", "SDPA")
        baseline = alone and run.config.target == "big"
        expected = 2.0 if run.config.kind == "agreement" else once if baseline else 2 * once
        assert found[run.id] == pytest.approx(expected)


def test_time_left_is_unknown_until_something_is_known() -> None:
    assert remaining_s([None, None], []) is None
    assert remaining_s([], []) == 0
    assert remaining_s([None, 10.0], []) is None
    assert remaining_s([10.0, 10.0], []) == 20.0


def test_time_left_is_scaled_by_what_runs_really_took() -> None:
    assert remaining_s([10.0], [(10.0, 20.0)]) == 20.0
    assert remaining_s([None, 10.0], [(10.0, 20.0), (None, 8.0)]) == pytest.approx(14.0 + 20.0)
    assert remaining_s([10.0], [], running=(10.0, 4.0)) == 16.0
    assert remaining_s([10.0], [], running=(10.0, 40.0)) == 10.0
    assert remaining_s([10.0], [], running=(None, 4.0)) is None


def test_rows_of_a_plan(plan: Plan) -> None:
    shown = rows(plan)
    assert [(line["target"], line["draft"], line["nat"], line["path"], line["added"]) for line in shown] == [
        ("big@CPU", "", "", "cb", True),
        ("big@CPU", "", "", "default", True),
        ("small@CPU", "", "", "cb", True),
        ("big@CPU", "small@CPU", "3", "cb", False),
        ("big@CPU", "small@CPU", "", "default", True),
        ("big@CPU", "big@CPU", "", "default", True),
        ("big@CPU", "", "", "sdpa", True),
        ("small@NPU*", "", "", "npu", True),
        ("big@CPU", "small@NPU*", "3", "stateful", False),
        ("big@CPU", "small@CPU", "", "default", True),
        ("big@CPU", "big@CPU", "", "default", True),
    ]


def test_the_text_of_a_plan_says_what_was_added_and_dropped(plan: Plan) -> None:
    text = plan_text(plan)
    lines = text.splitlines()
    assert lines[0].split() == ["run", "kind", "target", "draft", "NAT", "path", "options", "notes"]
    assert sum("  added" in line for line in lines) == 9
    assert "dropped  grid[0].assistant_confidence_threshold[0]: the library takes" in text
    assert lines[-1] == (
        "11 runs (9 added: baselines, agreement), 2 dropped, 2 prompts, 3 reps + 1 warm-up; "
        "time unknown (nothing like it was recorded)"
    )


def test_the_summary_says_how_much_of_the_time_is_known(plan: Plan) -> None:
    assert "more than" in summary(plan, estimate(plan, [row()]))
    history = [row(), row(target="small"), row(target="small", target_device="NPU")]
    assert summary(plan, estimate(plan, history)).endswith("about 78 s")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (5399, "1 h 30 min"), (7500, "2 h 05 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
