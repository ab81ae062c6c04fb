"""What a watcher sees: frozen values, made by `explorer.live.fold` and read by screens and tests."""

from __future__ import annotations

from typing import Literal

import msgspec

from explorer.live.text import Piece
from sweeps.plan.model import Run
from sweeps.supervise.state import Verdict

RunWord = Literal[
    "queued", "running", "waiting", "ok", "failed", "refused", "skipped", "cancelled", "cut off"
]
"""Where a run stands. `waiting`: some reps are done and a later pass will do the rest; `cut off`: it was
running when its supervisor died."""


class Metrics(msgspec.Struct, frozen=True):
    """One `generate()`, so far or to its end. None: not known, or it cannot be said yet."""

    tokens: int = 0
    rounds: int = 0
    accepted: int = 0
    proposals: int | None = None
    """By the path's rule while it runs; None where the rule is not fixed (a confidence threshold)."""
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    """(last - first) / (tokens - 1)."""

    @property
    def tok_s(self) -> float | None:
        """Decode rate: 1 / TPOT, the first token left out."""
        return 1000.0 / self.tpot_ms if self.tpot_ms else None

    @property
    def acceptance(self) -> float | None:
        """r = accepted / proposals."""
        return self.accepted / self.proposals if self.proposals else None

    @property
    def tokens_per_round(self) -> float | None:
        """tau = 1 + accepted / rounds."""
        return 1.0 + self.accepted / self.rounds if self.rounds else None


class RepView(msgspec.Struct, frozen=True):
    """The `generate()` that runs, or the last one of a run."""

    prompt: str
    rep: int
    warmup: bool
    metrics: Metrics = Metrics()
    pieces: tuple[Piece, ...] = ()
    done: bool = False
    began: float = 0.0
    beside: bool = False
    """It is the baseline's, measured beside the run's own."""

    @property
    def key(self) -> tuple[str, int, bool, float]:
        """Changes when another `generate()` begins."""
        return (self.prompt, self.rep, self.warmup, self.began)

    @property
    def kind(self) -> str:
        """What it is, in a word or two."""
        return "baseline" if self.beside else "warm-up" if self.warmup else "rep"


class RunView(msgspec.Struct, frozen=True):
    """One run as it stands."""

    run: Run
    label: str
    short: str
    """The label without a target that all runs share."""
    word: RunWord = "queued"
    attempt: int = 0
    done: int = 0
    """Counted units that are measured: reps over all prompts, passes of an agreement run."""
    todo: int = 0
    """Counted units that the plan wants."""
    phase: str = ""
    phase_began: float = 0.0
    construct_s: float | None = None
    seconds: float = 0.0
    """Time spent in processes of this run that have ended."""
    process_began: float = 0.0
    process_done: int = 0
    """Counted units before the process that runs now."""
    failure: str = ""
    reason: str = ""
    exit_name: str = ""
    tail: tuple[str, ...] = ()
    rss_mb: float | None = None
    peak_rss_mb: float | None = None
    cpu: float | None = None
    other_cpu: float | None = None
    rep: RepView | None = None
    rates: tuple[float, ...] = ()
    """tok/s of the last stretches of decoding, oldest first."""
    devices: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """The run's content hash."""
        return self.run.id

    @property
    def over(self) -> bool:
        """Nothing more will be done for it by this supervisor."""
        return self.word in ("ok", "failed", "refused", "skipped", "cancelled")


class ErrorGroup(msgspec.Struct, frozen=True):
    """Runs that died of the same class of failure."""

    failure: str
    runs: tuple[RunView, ...]


class Progress(msgspec.Struct, frozen=True):
    """How far something is: `done` of `total`, and the seconds that are left (None: unknown)."""

    done: int = 0
    total: int = 0
    eta_s: float | None = None
    rough: bool = False
    """Guessed from runs of other kinds."""

    @property
    def fraction(self) -> float:
        """0..1; 0 when there is no total."""
        return min(1.0, self.done / self.total) if self.total else 0.0


class Result(msgspec.Struct, frozen=True):
    """One finished run and prompt, with what the store derived from it."""

    run: str
    label: str
    prompt: str
    status: str
    reason: str = ""
    tok_s: float | None = None
    tok_s_sd: float | None = None
    speedup: float | None = None
    speedup_lo: float | None = None
    speedup_hi: float | None = None
    acceptance: float | None = None
    tokens_per_round: float | None = None
    noisy: bool = False


class Note(msgspec.Struct, frozen=True):
    """Something that a person should know."""

    t: float
    message: str
    run: str = ""


class LiveState(msgspec.Struct, frozen=True):
    """The whole sweep at one moment (`now`, Unix seconds; in a replay the moment shown)."""

    sweep: str = ""
    verdict: Verdict = Verdict("unknown", "nothing read yet")
    now: float = 0.0
    began: float = 0.0
    idle_s: float = 0.0
    """Time since then in which nobody worked on it."""
    last: float = 0.0
    """Time of the newest event read."""
    runs: tuple[RunView, ...] = ()
    current: str | None = None
    """The run that runs, or ran last."""
    rep_progress: Progress = Progress()
    run_progress: Progress = Progress()
    sweep_progress: Progress = Progress()
    runs_over: int = 0
    results: tuple[Result, ...] = ()
    notes: tuple[Note, ...] = ()
    host: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    budget: int = 0
    broken: int = 0
    """Journal lines that could not be read."""

    def run(self, run_id: str | None) -> RunView | None:
        """A run by its id."""
        return next((view for view in self.runs if view.id == run_id), None)

    @property
    def errors(self) -> tuple[ErrorGroup, ...]:
        """Failed and refused runs by class of failure, in the order in which the classes appeared."""
        groups: dict[str, list[RunView]] = {}
        for view in self.runs:
            if view.word in ("failed", "refused", "cut off"):
                groups.setdefault(view.failure or view.word, []).append(view)
        return tuple(ErrorGroup(name, tuple(views)) for name, views in groups.items())
