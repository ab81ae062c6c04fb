"""What a journal says so far: events folded into the state of each run. No Polars here, so that the
supervisor (resume) and the watch screen can use it at no cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

import msgspec

from sweeps.events.types import (
    Agreement,
    AnyEvent,
    Constructed,
    Log,
    LoopTimes,
    Phase,
    PhaseBegan,
    PromptEncoded,
    RepDone,
    RepStarted,
    RunEnded,
    RunStarted,
    Sample,
    SweepEnded,
    SweepStarted,
    Tokens,
    VerifyWidths,
    WorkerError,
)
from sweeps.plan.model import Plan, Run
from sweeps.spec.model import Protocol

Status = Literal["queued", "running", "ok", "failed", "skipped", "cancelled", "refused"]
SweepStatus = Literal["queued", "running", "done", "stopped", "interrupted"]


class Failure(NamedTuple):
    """Why something did not come to its end: a failure class and a line for people."""

    failure: str
    reason: str


class Rep(NamedTuple):
    """One counted `generate()` and what was going on around it."""

    done: RepDone
    started: float
    """Unix seconds."""
    other_cpu: float | None
    """Cores that other processes used meanwhile, mean of the samples; None without a sample."""
    freq_mhz: float | None = None
    """Clock of the fastest core, mean of the samples."""
    throttles: int = 0
    """Thermal throttlings meanwhile."""
    on_battery: bool = False


@dataclass
class RunState:
    """One run of the plan with what has happened to it."""

    run: Run
    protocol: Protocol
    status: Status = "queued"
    failure: str = ""
    reason: str = ""
    attempt: int = 0
    pid: int = 0
    phase: Phase = "idle"
    phase_since: float = 0.0
    prompt: str = ""
    """The prompt being measured; empty before the first."""
    rep: int = 0
    warmup: bool = False
    started: float = 0.0
    ended: float = 0.0
    construct_s: float | None = None
    """Of the first construction: later ones may find a compile cache."""
    openvino: str = ""
    genai: str = ""
    fallback: str = ""
    devices: dict[str, str] = field(default_factory=dict)
    peak_rss_mb: float = 0.0
    prompt_tokens: dict[str, int] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    """Prompt -> what the process died of while measuring it."""
    tail: list[str] = field(default_factory=list)
    """Last lines of stderr of the last process that failed."""
    _rep_started: tuple[str, int, float] = ("", 0, 0.0)
    _samples: list[Sample] = field(default_factory=list)


@dataclass
class SweepState:
    """All that a journal says: fold more events into it as they come."""

    name: str = ""
    """Name of the sweep, as its file gives it."""
    plan: Plan | None = None
    status: SweepStatus = "queued"
    host: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    pid: int = 0
    started: float = 0.0
    last: float = 0.0
    """Time of the newest event."""
    runs: dict[str, RunState] = field(default_factory=dict)
    """In the order of the plan; runs of an earlier plan of this journal that have reps come after."""
    reps: dict[tuple[str, str, int], Rep] = field(default_factory=dict)
    """(run, prompt, rep number) -> the counted rep; measured twice, the later one stands."""
    agreements: dict[tuple[str, str], Agreement] = field(default_factory=dict)
    beside: dict[tuple[str, str, int], RepDone] = field(default_factory=dict)
    """(run, prompt, rep number) -> the run's baseline, measured beside that rep."""
    drifts: dict[tuple[str, str], RepDone] = field(default_factory=dict)
    """(baseline, prompt) -> one more rep of it at the end of the sweep."""
    prompt_hashes: dict[str, str] = field(default_factory=dict)
    """Prompt -> hash of the text that it had last, in whichever plan."""
    widths: dict[tuple[str, int], VerifyWidths] = field(default_factory=dict)
    """(run, pass) -> what the target's verify costs by its width, timed apart."""
    loops: dict[tuple[str, int], LoopTimes] = field(default_factory=dict)
    """(run, pass) -> what target and draft cost in turns, timed apart."""
    logs: list[Log] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What could not be understood, e.g. a plan of a newer version."""

    @property
    def prompts(self) -> list[str]:
        """Names of the plan's prompts."""
        return [prompt.name for prompt in self.plan.prompts] if self.plan else []

    def done(self, run: str, prompt: str) -> set[int]:
        """Numbers of the counted reps of a run and a prompt (an agreement pass counts as rep 0)."""
        if (run, prompt) in self.agreements:
            return {0}
        reps = self.runs[run].protocol.reps if run in self.runs else 0
        return {rep for rep in range(reps) if (run, prompt, rep) in self.reps}

    def wanted(self, run: str) -> int:
        """Counted reps that a run is to have for each prompt."""
        state = self.runs[run]
        return 1 if state.run.config.kind == "agreement" else state.protocol.reps

    def row_status(self, run: str, prompt: str) -> tuple[Status, Failure]:
        """How a run stands for one prompt. A prompt whose reps are complete is `ok`, whatever happened
        to the process afterwards."""
        state = self.runs[run]
        done, wanted = len(self.done(run, prompt)), self.wanted(run)
        if done >= wanted:
            return "ok", Failure("", "")
        if state.status == "running":
            busy = state.prompt in ("", prompt) and prompt not in state.failures
            if busy:
                return "running", Failure("", "")
        if prompt in state.failures:
            failure = state.failures[prompt]
            kept = f" ({done} of {wanted} reps kept)" if done else ""
            return "failed", Failure(failure.failure, failure.reason + kept)
        if state.status in ("running", "ok"):
            # Its turn comes again: another prompt is being measured, or passes are interleaved.
            return "queued", Failure("", "")
        return state.status, Failure(state.failure, state.reason)


def fold(events: Iterable[AnyEvent], state: SweepState | None = None) -> SweepState:
    """Fold events into `state` (changed in place and returned), or into a new one."""
    state = SweepState() if state is None else state
    for event in events:
        _apply(state, event)
        state.last = max(state.last, event.t)
    return state


def finished_reps(state: SweepState) -> dict[str, dict[str, set[int]]]:
    """Run -> prompt -> numbers of the counted reps that need not be measured again."""
    return {
        run: {prompt: done for prompt in state.prompts if (done := state.done(run, prompt))}
        for run in state.runs
    }


def _apply(state: SweepState, event: AnyEvent) -> None:
    if isinstance(event, Tokens):
        return
    if isinstance(event, SweepStarted):
        _begin(state, event)
        return
    if isinstance(event, SweepEnded):
        state.status = event.status
        _reset_running(state, "cancelled", "the sweep ended while it ran")
        return
    if isinstance(event, Log):
        state.logs.append(event)
        return
    run = state.runs.get(event.run)
    if run is not None:
        _apply_to_run(state, run, event)


def _begin(state: SweepState, event: SweepStarted) -> None:
    state.name, state.pid = event.sweep, event.pid
    state.host = event.host or state.host
    state.facts = event.facts or state.facts
    state.started = state.started or event.t
    state.status = "running"
    # A supervisor that was killed could not say how its run ended: it will be taken up again.
    _reset_running(state, "queued", "")
    try:
        plan = msgspec.json.decode(event.plan, type=Plan | None)
    except msgspec.MsgspecError as error:
        state.problems.append(f"the plan in the journal cannot be read: {error}")
        return
    if plan is not None:
        _adopt(state, plan)


def _adopt(state: SweepState, plan: Plan) -> None:
    """Take over a plan, maybe of an edited sweep file."""
    known_texts = state.prompt_hashes
    changed = {p.name for p in plan.prompts if known_texts.get(p.name, p.hash) != p.hash}
    known_texts.update({p.name: p.hash for p in plan.prompts})
    # The same name over another text: what was measured for it belongs to no prompt any more.
    for key in [key for key in state.reps if key[1] in changed]:
        del state.reps[key]
    for key in [key for key in state.beside if key[1] in changed]:
        del state.beside[key]
    for pair in [pair for pair in state.agreements if pair[1] in changed]:
        del state.agreements[pair]
    state.plan = plan
    former, state.runs = state.runs, {}
    for run in plan.runs:
        known = former.pop(run.id, None)
        if known is None:
            known = RunState(run, plan.protocol)
        known.run, known.protocol = run, plan.protocol
        if run.refused:
            found = [f for f in run.findings if f.level == "refused"]
            known.status, known.failure = "refused", found[0].code
            known.reason = "; ".join(f.text for f in found)
        elif known.status == "refused":
            known.status, known.failure, known.reason = "queued", "", ""
        state.runs[run.id] = known
    measured = {key[0] for key in state.reps} | {pair[0] for pair in state.agreements}
    state.runs |= {id_: run for id_, run in former.items() if id_ in measured}


def _reset_running(state: SweepState, status: Status, reason: str) -> None:
    for run in state.runs.values():
        if run.status == "running":
            run.status, run.reason, run.phase, run.prompt = status, reason, "idle", ""


RunEvent = (
    RunStarted
    | PhaseBegan
    | Constructed
    | PromptEncoded
    | RepStarted
    | RepDone
    | Sample
    | Agreement
    | VerifyWidths
    | LoopTimes
    | WorkerError
    | RunEnded
)


def _apply_to_run(state: SweepState, run: RunState, event: RunEvent) -> None:
    match event:
        case RunStarted():
            run.status, run.failure, run.reason = "running", "", ""
            run.attempt, run.pid, run.prompt, run.rep = event.attempt, event.pid, "", 0
            run.started = run.started or event.t
            run.phase, run.phase_since = "import", event.t
        case PhaseBegan():
            run.phase, run.phase_since = event.phase, event.t
            run.prompt = event.prompt or run.prompt
        case Constructed():
            run.construct_s = event.construct_s if run.construct_s is None else run.construct_s
            run.openvino, run.genai = event.openvino, event.genai
            run.fallback, run.devices = event.fallback, event.devices
        case PromptEncoded():
            run.prompt_tokens[event.prompt] = event.tokens
        case RepStarted():
            run.prompt, run.rep, run.warmup = event.prompt, event.rep, event.warmup
            run.failures.pop(event.prompt, None)
            run._rep_started, run._samples = (event.prompt, event.rep, event.t), []
        case RepDone():
            _keep_rep(state, run, event)
        case Sample():
            run.peak_rss_mb = max(run.peak_rss_mb, event.rss_mb)
            run._samples.append(event)
        case Agreement():
            state.agreements[event.run, event.prompt] = event
        case VerifyWidths():
            state.widths[event.run, event.rep] = event
        case LoopTimes():
            state.loops[event.run, event.rep] = event
        case WorkerError():
            run.reason = event.error
            if event.prompt:
                run.failures[event.prompt] = Failure("", event.error)
        case RunEnded():
            _end(run, event)


def _keep_rep(state: SweepState, run: RunState, event: RepDone) -> None:
    if event.beside:
        state.beside[event.run, event.prompt, event.rep] = event
    if event.warmup or event.beside:
        return
    if event.drift:
        state.drifts[event.run, event.prompt] = event
        return
    prompt, rep, started = run._rep_started
    seen = (prompt, rep) == (event.prompt, event.rep)
    samples = run._samples if seen else []
    clocks = [sample.freq_mhz for sample in samples if sample.freq_mhz]
    state.reps[event.run, event.prompt, event.rep] = Rep(
        event,
        # Recovered from what a killed supervisor left, a rep may stand without its start.
        started=started if seen else event.t - event.wall_us / 1e6,
        other_cpu=fmean(sample.other_cpu for sample in samples) if samples else None,
        freq_mhz=fmean(clocks) if clocks else None,
        throttles=sum(sample.throttles for sample in samples),
        on_battery=any(sample.on_battery for sample in samples),
    )


def _end(run: RunState, event: RunEnded) -> None:
    prompt = event.prompt or (run.prompt if run.phase in ("first_token", "decode") else "")
    run.status, run.ended = event.status, event.t
    run.peak_rss_mb = max(run.peak_rss_mb, event.peak_rss_mb)
    run.phase, run.phase_since, run.prompt = "idle", event.t, ""
    if event.status == "ok":
        run.failure = run.reason = ""
        return
    run.failure, run.reason = event.failure, event.reason or run.reason
    if event.status == "failed":
        run.tail = event.tail
        if prompt:
            run.failures[prompt] = Failure(event.failure, run.reason)
