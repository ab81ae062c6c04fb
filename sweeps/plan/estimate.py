"""How long runs take, learned from runs that were recorded."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from sweeps.plan.beside import beside
from sweeps.plan.model import Plan, Run

IMPORT_S: Final = "import_s"
"""Optional key of a history row; process start and import where a caller has measured them."""


class _Frame(Protocol):
    def to_dicts(self) -> list[dict[str, Any]]: ...


Rows = Iterable[Mapping[str, Any]]


class Estimate(NamedTuple):
    """Seconds by run id (None: nothing like it was recorded), and their sum.

    `total` is None as soon as one run is unknown; `at_least` sums the known ones.
    """

    runs: dict[str, float | None]
    total: float | None
    at_least: float

    @property
    def unknown(self) -> int:
        """Runs without an estimate."""
        return sum(seconds is None for seconds in self.runs.values())


class _Sample(NamedTuple):
    run: str
    kind: str
    target: str
    target_device: str
    draft: str | None
    draft_device: str | None
    path: str | None
    start_s: float
    """Import and construct (compile included)."""
    token_s: float
    """Wall time of generate() per token, prefill included."""


def estimate(plan: Plan, history: Rows | _Frame) -> Estimate:
    """Seconds that a plan takes: start-up once a run, then warm-ups and reps of every prompt.

    `history` is the runs frame, or its rows: `run kind target target_device draft draft_device path
    construct_s wall_tok_s` (rows without a positive `wall_tok_s` teach nothing). A run is judged by the
    median of the rows most like it: the same run, else the same pair on the same devices and path, else the
    same pair on the same devices, else the same target on its device. Cool-downs between runs are counted.
    """
    rows = history.to_dicts() if hasattr(history, "to_dicts") else history
    samples = [sample for row in rows if (sample := _sample(row)) is not None]
    protocol = plan.protocol
    tokens = (protocol.warmup + protocol.reps) * len(plan.prompts) * protocol.max_new_tokens
    seconds = {run.id: _run_seconds(run, samples, tokens, protocol.cooldown_s) for run in plan.runs}
    if protocol.paired:
        _add_what_stands_beside(seconds, plan, samples, tokens)
    known = [value for value in seconds.values() if value is not None]
    return Estimate(seconds, sum(known) if len(known) == len(seconds) else None, sum(known))


def _add_what_stands_beside(
    seconds: dict[str, float | None], plan: Plan, samples: Sequence[_Sample], tokens: int
) -> None:
    by_id = {run.id: run for run in plan.runs}
    for run in plan.runs:
        base, own = by_id.get(beside(plan.runs, run) or ""), seconds[run.id]
        if base is not None and own is not None:
            more = _run_seconds(base, samples, tokens, 0.0)
            seconds[run.id] = None if more is None else own + more


def remaining_s(
    todo: Sequence[float | None],
    finished: Sequence[tuple[float | None, float]],
    running: tuple[float | None, float] | None = None,
) -> float | None:
    """Seconds left while a plan is running, or None while nothing is known.

    `todo` estimates of the runs not yet started; `finished` (estimate, measured seconds) of those that
    ended; `running` (estimate, seconds so far) of the one under way. Estimates are scaled by the median of
    measured/estimated; a run without an estimate counts as the median of the finished ones.
    """
    ratios = [took / guess for guess, took in finished if guess]
    scale = statistics.median(ratios) if ratios else 1.0
    typical = statistics.median([took for _, took in finished]) if finished else None

    def expected(guess: float | None) -> float | None:
        return guess * scale if guess is not None else typical

    left = [expected(guess) for guess in todo]
    if running is not None:
        whole = expected(running[0])
        left.append(None if whole is None else max(whole - running[1], 0.0))
    known = [seconds for seconds in left if seconds is not None]
    return sum(known) if len(known) == len(left) else None


def _sample(row: Mapping[str, Any]) -> _Sample | None:
    rate = row.get("wall_tok_s")
    if not isinstance(rate, int | float) or not rate > 0:
        return None
    start = sum(float(row.get(key) or 0.0) for key in ("construct_s", IMPORT_S))
    return _Sample(
        str(row.get("run")),
        str(row.get("kind")),
        str(row.get("target")),
        str(row.get("target_device")),
        row.get("draft"),
        row.get("draft_device"),
        row.get("path"),
        start,
        1.0 / rate,
    )


def _run_seconds(run: Run, samples: Sequence[_Sample], tokens: int, cooldown_s: float) -> float | None:
    like = _like(run, samples)
    if not like:
        return None
    start = statistics.median([sample.start_s for sample in like])
    if run.config.kind == "agreement":
        # One pass a prompt: next to the start-up it takes no time.
        return start + cooldown_s
    return start + cooldown_s + tokens * statistics.median([sample.token_s for sample in like])


def _like(run: Run, samples: Sequence[_Sample]) -> list[_Sample]:
    """The samples most like a run; of the first level that has any."""
    config = run.config
    target = (config.target, config.target_device)
    pair = (config.kind, *target, config.draft, config.draft_device)
    levels = (
        lambda s: s.run == run.id,
        lambda s: (s.kind, s.target, s.target_device, s.draft, s.draft_device, s.path) == (*pair, run.path),
        lambda s: (s.kind, s.target, s.target_device, s.draft, s.draft_device) == pair,
        lambda s: (s.target, s.target_device) == target,
    )
    found = ([sample for sample in samples if level(sample)] for level in levels)
    return next((samples for samples in found if samples), [])
