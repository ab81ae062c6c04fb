"""Runs made by hand, so that they get past the planner, measured by the real supervisor and workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from sweeps.check import preflight
from sweeps.events.types import AnyEvent, RepDone, RunEnded
from sweeps.paths import bundled
from sweeps.plan.model import Config, Finding, Plan, Prompt, Run
from sweeps.plan.routing import emulated, path_of
from sweeps.spec.model import Kind, Protocol
from sweeps.store.frames import load_folder
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.prepare import prepare
from sweeps.supervise.supervisor import Supervisor
from tests.e2e.engine import all_events

E = TypeVar("E")

MODELS: Final = bundled("models")
BIG: Final = MODELS / "draft-m"
SMALL: Final = MODELS / "draft-s"
"""The bundled drafts make a pair of their own, which is built faster than the demo's."""

EMULATED: Final = {"NPU_USE_NPUW": "YES", "NPUW_DEVICES": "CPU", "NPUW_ONLINE_PIPELINE": "NONE"}
BUDGET: Final = 48
"""New tokens unless told otherwise: enough for a late first burst to be no matter."""
PROMPT: Final = {"fib": "def fibonacci(n):\n    "}
TOO_LONG: Final = "x = 1\n" * 1500
"""7500 tokens: more than the NPU pipeline's 1024."""

_numbers = itertools.count(1)


def make_run(
    kind: Kind,
    device: str = "CPU",
    draft_device: str | None = None,
    *,
    target: Path = BIG,
    draft: Path = SMALL,
    nat: int | None = None,
    properties: Mapping[str, Any] | None = None,
    draft_properties: Mapping[str, Any] | None = None,
    baseline: Run | None = None,
    **axes: Any,
) -> Run:
    """A run as nobody checked it: a side on the NPU is emulated on the CPU, the engine follows from the
    devices and `attention_backend`."""
    pair = kind == "speculative"
    config = Config(
        kind=kind,
        target=target.name,
        target_device=device,
        draft=draft.name if pair else None,
        draft_device=draft_device if pair else None,
        num_assistant_tokens=nat,
        **axes,
    )
    on_target = (EMULATED if device == "NPU" else {}) | dict(properties or {})
    on_draft = (EMULATED if draft_device == "NPU" else {}) | dict(draft_properties or {})
    if config.attention_backend is not None:
        on_target["ATTENTION_BACKEND"] = config.attention_backend
    return Run(
        id=f"{next(_numbers):010x}",
        config=config,
        path=path_of(config),
        emulated=emulated(config, on_target, on_draft),
        target_dir=str(target),
        target_properties=on_target,
        draft_dir=str(draft) if pair else None,
        draft_properties=on_draft,
        baseline=baseline.id if baseline else None,
    )


def cb(nat: int = 3, **settings: Any) -> Run:
    """A pair on the CPU: continuous batching."""
    return make_run("speculative", "CPU", "CPU", nat=nat, **settings)


def stateful(nat: int = 3, **settings: Any) -> Run:
    """A target on the CPU and a draft on the emulated NPU: the stateful engine."""
    return make_run("speculative", "CPU", "NPU", nat=nat, **settings)


def plain(backend: str | None = None, **settings: Any) -> Run:
    """The target alone on the CPU."""
    return make_run("plain", attention_backend=backend, **settings)


class Measured:
    """What became of some runs."""

    def __init__(self, folder: SweepFolder) -> None:
        self.folder = folder
        self.events = all_events(folder)
        self._rows: list[dict[str, Any]] | None = None

    def of(self, kind: type[E], run: Run) -> list[E]:
        """The events of a type that belong to a run."""
        return [e for e in self.events if isinstance(e, kind) and getattr(e, "run", "") == run.id]

    def ended(self, run: Run) -> list[RunEnded]:
        """How each of its processes ended."""
        return self.of(RunEnded, run)

    def reps(self, run: Run, prompt: str = "fib") -> list[RepDone]:
        """Its counted reps."""
        return [e for e in self.of(RepDone, run) if e.prompt == prompt and not e.warmup]

    def row(self, run: Run, prompt: str = "fib") -> dict[str, Any]:
        """Its row of the run table."""
        if self._rows is None:
            self._rows = load_folder(self.folder.path).runs.to_dicts()
        (row,) = [row for row in self._rows if (row["run"], row["prompt"]) == (run.id, prompt)]
        return row


def make_plan(
    runs: Sequence[Run],
    *,
    prompts: Mapping[str, str] = PROMPT,
    budget: int = BUDGET,
    reps: int = 1,
    warmup: int = 0,
    **protocol: Any,
) -> Plan:
    """A plan of runs made by hand; one rep without warm-up unless told otherwise."""
    settings = {"max_new_tokens": budget, "reps": reps, "warmup": warmup, **protocol}
    texts = tuple(Prompt(name, text, name) for name, text in prompts.items())
    return Plan("traps", msgspec.convert(settings, Protocol), texts, tuple(runs))


def measure(
    folder: Path,
    *runs: Run,
    on_event: Callable[[AnyEvent], None] = lambda event: None,
    answers: Callable[[str], bool] = lambda device: True,
    **settings: Any,
) -> Measured:
    """Measure runs in real processes; `settings` are `make_plan`'s."""
    return supervise(folder, make_plan(runs, **settings), on_event, answers)


def supervise(
    folder: Path,
    plan: Plan,
    on_event: Callable[[AnyEvent], None] = lambda event: None,
    answers: Callable[[str], bool] = lambda device: True,
) -> Measured:
    """Run a plan to its end in a results folder of its own."""
    made = prepare(folder / "results", plan, "", fresh=True)
    Supervisor(made, plan, on_event=on_event, answers=answers).run()
    return Measured(made)


def findings(*runs: Run, **settings: Any) -> list[dict[str, Finding]]:
    """What the preflight says of each run, by code, on this machine."""
    checked = preflight(make_plan(runs, **settings))
    return [{finding.code: finding for finding in run.findings} for run in checked.runs]
