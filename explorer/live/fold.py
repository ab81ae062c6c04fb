"""Events in, `LiveState` out: the one place that knows what each event means to a watcher."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from explorer.live import eta, text, vocabulary
from explorer.live.labels import label, one_target
from explorer.live.state import (
    LiveState,
    Metrics,
    Note,
    Progress,
    RepView,
    Result,
    RunView,
    RunWord,
)
from sweeps.events.types import (
    Agreement,
    AnyEvent,
    Constructed,
    Log,
    PhaseBegan,
    RepDone,
    RepStarted,
    RunEnded,
    RunStarted,
    Sample,
    SweepEnded,
    SweepStarted,
    Tokens,
    WorkerError,
)
from sweeps.measure.proposals import replay, rule_of
from sweeps.plan.model import Plan, Run
from sweeps.supervise.progress import wanted_reps
from sweeps.supervise.state import Verdict

MAX_RATES: Final = 200
MAX_NOTES: Final = 200
RATE_US: Final = 200_000
"""A value of the sparkline covers at least so much decoding: single bursts would only show noise."""

_plan_decoder: Final = msgspec.json.Decoder(Plan)


class _Call:
    """The `generate()` that runs: the only thing that grows with every event."""

    def __init__(self, stream: text.TextStream) -> None:
        self.stream = stream
        self.sizes: list[int] = []
        self.first_us = 0
        self.last_us = 0
        self.rate_us = 0
        self.rate_tokens = 0
        self.pieces: list[text.Piece] = []

    def copy(self) -> _Call:
        twin = _Call(self.stream.copy())
        twin.sizes, twin.pieces = list(self.sizes), list(self.pieces)
        twin.first_us, twin.last_us = self.first_us, self.last_us
        twin.rate_us, twin.rate_tokens = self.rate_us, self.rate_tokens
        return twin


class Fold:
    """Mutable, owned by one thread. `apply` each event of a journal in order; `state` whenever asked.

    Args:
        spelling: gives the token spelling of a model folder.
    """

    def __init__(self, spelling: Callable[[Path], vocabulary.TokenBytes] = vocabulary.load) -> None:
        self._spelling = spelling
        self._plan: Plan | None = None
        self._runs: dict[str, RunView] = {}
        self._units: dict[str, set[tuple[str, int]]] = {}
        self._current: str | None = None
        self._call: _Call | None = None
        self._notes: deque[Note] = deque(maxlen=MAX_NOTES)
        self._host = ""
        self._facts: tuple[tuple[str, str], ...] = ()
        self._sweep = ""
        self.ended: str | None = None
        """How the last supervisor said that it left; None while it has not."""
        self.began = 0.0
        self.last = 0.0
        self.idle_s = 0.0
        """Time in which nobody worked on it: from a supervisor's last event to the next one's first."""

    # -- events ---------------------------------------------------------------------------------------

    def apply(self, event: AnyEvent) -> None:
        """Take one event in. Events of runs that no plan names are passed over."""
        before, self.last = self.last, max(self.last, event.t)
        if isinstance(event, SweepStarted):
            self.idle_s += self.last - before if before else 0.0
            self._sweep_started(event)
        elif isinstance(event, SweepEnded):
            self.ended = event.status
            self._close_running("cancelled")
        elif isinstance(event, Log):
            self._note(event.t, event.message, event.run)
        elif event.run in self._runs:
            self._of_run(event, self._runs[event.run])

    def _sweep_started(self, event: SweepStarted) -> None:
        self._close_running("cut off")
        again = self.began > 0
        self.began = self.began or event.t
        self._sweep, self._host = event.sweep, event.host
        self._facts = tuple(event.facts.items())
        self.ended = None
        try:
            plan = _plan_decoder.decode(event.plan)
        except msgspec.MsgspecError:
            self._note(event.t, "the plan in the journal cannot be read: runs stay unnamed")
            return
        self._plan = plan
        before, self._runs = self._runs, {}
        shared = one_target(plan.runs)
        for run in plan.runs:
            todo = wanted_reps(plan, run) * len(plan.prompts)
            known = before.get(run.id)
            word: RunWord = "refused" if run.refused else "queued"
            finding = next((f for f in run.findings if f.level == "refused"), None)
            fresh = RunView(
                run=run,
                label=label(run.config, run.emulated),
                short=label(run.config, run.emulated, target=not shared),
                word=word,
                todo=todo,
                failure=finding.code if finding else "",
                reason=finding.message if finding else "",
            )
            self._runs[run.id] = _taken_up(known, run, todo) if known else fresh
        if again:
            self._note(event.t, f"taken up again by process {event.pid}")

    def _of_run(self, event: AnyEvent, view: RunView) -> None:
        if isinstance(event, Tokens):
            self._tokens(event, view)
        elif isinstance(event, Sample):
            peak = max(view.peak_rss_mb or 0.0, event.rss_mb)
            self._set(
                replace(view, rss_mb=event.rss_mb, peak_rss_mb=peak, cpu=event.cpu, other_cpu=event.other_cpu)
            )
        elif isinstance(event, PhaseBegan):
            self._set(replace(view, phase=event.phase, phase_began=event.t))
        elif isinstance(event, RepStarted):
            self._call = _Call(text.TextStream(self._spelling(Path(view.run.target_dir))))
            rep = RepView(event.prompt, event.rep, event.warmup, began=event.t, beside=event.beside)
            self._set(replace(view, rep=rep, phase="first_token", phase_began=event.t))
        elif isinstance(event, RepDone):
            self._rep_done(event, view)
        elif isinstance(event, Agreement):
            self._count(view, event.prompt, 0)
        elif isinstance(event, Constructed):
            devices = tuple(event.devices.items())
            self._set(replace(view, construct_s=event.construct_s, devices=devices))
        elif isinstance(event, RunStarted):
            self._run_started(event, view)
        elif isinstance(event, WorkerError):
            self._set(replace(view, reason=event.error))
        elif isinstance(event, RunEnded):
            self._run_ended(event, view)

    def _run_started(self, event: RunStarted, view: RunView) -> None:
        self._current, self._call = event.run, None
        self._set(
            replace(
                view,
                word="running",
                attempt=event.attempt,
                phase="import",
                phase_began=event.t,
                process_began=event.t,
                process_done=view.done,
                construct_s=None,
                rss_mb=None,
                cpu=None,
                rep=None,
                rates=(),
            )
        )

    def _run_ended(self, event: RunEnded, view: RunView) -> None:
        spent = max(0.0, event.t - view.process_began) if view.word == "running" else 0.0
        word = event.status
        failed = event.status == "failed"
        ended = replace(
            view,
            seconds=view.seconds + spent,
            failure=event.failure or view.failure,
            reason=event.reason or view.reason,
            exit_name=event.exit_name or view.exit_name,
            tail=tuple(event.tail) or view.tail,
            peak_rss_mb=event.peak_rss_mb or view.peak_rss_mb,
            phase=event.phase if failed else view.phase,
            word=word,
        )
        if word == "ok" and ended.done < ended.todo:
            # A prompt of it failed before and stays failed, or a later pass does the rest.
            ended = replace(ended, word="failed" if ended.failure else "waiting")
        elif word == "ok":
            ended = replace(ended, failure="", reason="")
        self._set(ended)
        self._call = None

    def _rep_done(self, event: RepDone, view: RunView) -> None:
        rep = view.rep
        same = rep is not None and (rep.prompt, rep.rep, rep.warmup) == (
            event.prompt,
            event.rep,
            event.warmup,
        )
        pieces = tuple(self._call.pieces) if self._call and same else ()
        if sum(map(len, (piece.text for piece in pieces))) == 0 and event.token_ids:
            token_bytes = self._spelling(Path(view.run.target_dir))
            pieces = text.of_bursts(token_bytes, event.token_ids, event.burst_sizes)
        times = event.burst_us
        metrics = self._metrics(
            view.run,
            event.burst_sizes,
            times[0] if times else None,
            times[-1] if times else None,
            speculates=not event.beside,
        )
        began = rep.began if rep is not None and same else event.t
        done = RepView(
            event.prompt,
            event.rep,
            event.warmup,
            metrics,
            pieces,
            done=True,
            began=began,
            beside=event.beside,
        )
        self._set(replace(view, rep=done))
        if not event.warmup:
            self._count(self._runs[event.run], event.prompt, event.rep)

    def _tokens(self, event: Tokens, view: RunView) -> None:
        rep, call = view.rep, self._call
        if rep is None or call is None:
            return
        rates = view.rates
        for at, ids in zip(event.us, event.ids, strict=False):
            if call.sizes:
                call.rate_tokens += len(ids)
                span = at - call.rate_us
                if span >= RATE_US and not rep.beside:
                    rates = (*rates[1 - MAX_RATES :], call.rate_tokens * 1e6 / span)
                    call.rate_us, call.rate_tokens = at, 0
            else:
                call.first_us = call.rate_us = at
            call.pieces += call.stream.burst(ids)
            call.sizes.append(len(ids))
            call.last_us = at
        metrics = self._metrics(view.run, call.sizes, call.first_us, call.last_us, speculates=not rep.beside)
        phase = {} if view.phase == "decode" else {"phase": "decode", "phase_began": event.t}
        self._set(replace(view, rep=replace(rep, metrics=metrics), rates=rates, **phase))

    # -- helpers --------------------------------------------------------------------------------------

    def _metrics(
        self, run: Run, sizes: list[int], first_us: int | None, last_us: int | None, *, speculates: bool
    ) -> Metrics:
        """`speculates`: the call is the run's own, not of what stands beside it."""
        if not sizes or first_us is None or last_us is None:
            return Metrics()
        tokens = sum(sizes)
        after_first = tokens - sizes[0]
        tpot = (last_us - first_us) / 1000 / after_first if after_first and last_us > first_us else None
        config = run.config
        speculates = speculates and config.kind in ("speculative", "prompt-lookup")
        proposals = None
        nat = config.num_assistant_tokens
        if speculates and nat and config.assistant_confidence_threshold is None and self._plan:
            budget = self._plan.protocol.max_new_tokens
            proposals = sum(replay(rule_of(run.path, config.kind), nat, budget, sizes))
        return Metrics(
            tokens=tokens,
            rounds=len(sizes) - 1,
            accepted=after_first - (len(sizes) - 1) if speculates else 0,
            proposals=proposals,
            ttft_ms=first_us / 1000,
            tpot_ms=tpot,
        )

    def _count(self, view: RunView, prompt: str, rep: int) -> None:
        units = self._units.setdefault(view.id, set())
        units.add((prompt, rep))
        self._set(replace(view, done=len(units)))

    def _set(self, view: RunView) -> None:
        self._runs[view.id] = view

    def _note(self, t: float, message: str, run: str = "") -> None:
        self._notes.append(Note(t, message, run))

    def _close_running(self, word: RunWord) -> None:
        for view in list(self._runs.values()):
            if view.word == "running":
                self._set(replace(view, word=word))

    def copy(self) -> Fold:
        """An independent fold at the same place of the journal."""
        twin = Fold(self._spelling)
        twin.__dict__.update(self.__dict__)
        twin._runs = dict(self._runs)
        twin._units = {run: set(units) for run, units in self._units.items()}
        twin._notes = self._notes.copy()
        twin._call = self._call.copy() if self._call else None
        return twin

    # -- view -----------------------------------------------------------------------------------------

    def state(
        self,
        verdict: Verdict,
        now: float,
        results: tuple[Result, ...] = (),
        broken: int = 0,
        folder: str = "",
    ) -> LiveState:
        """Everything as it stands. `now` is Unix seconds: elapsed times and ETAs are counted from it."""
        views = tuple(self._shown(view, verdict) for view in self._runs.values())
        budget = self._plan.protocol.max_new_tokens if self._plan else 0
        current = next((view for view in views if view.id == self._current), None)
        rep = current.rep if current else None
        paces = eta.Paces(views, now)
        return LiveState(
            sweep=folder or self._sweep,
            verdict=verdict,
            now=now,
            began=self.began,
            idle_s=self.idle_s,
            last=self.last,
            runs=views,
            current=self._current,
            rep_progress=eta.rep_progress(rep.metrics, budget) if rep else Progress(0, budget),
            run_progress=eta.run_progress(current, paces, now) if current else Progress(),
            sweep_progress=eta.sweep_progress(views, paces, now),
            runs_over=sum(view.over for view in views),
            results=results,
            notes=tuple(self._notes),
            host=self._host,
            facts=self._facts,
            budget=budget,
            broken=broken,
        )

    def _shown(self, view: RunView, verdict: Verdict) -> RunView:
        if verdict.word == "crashed" and view.word == "running":
            reason = view.reason or f"the supervisor died: {verdict.evidence}"
            view = replace(view, word="cut off", reason=reason)
        if view.id == self._current and self._call and view.rep and not view.rep.done:
            view = replace(view, rep=replace(view.rep, pieces=tuple(self._call.pieces)))
        return view


def _taken_up(known: RunView, run: Run, todo: int) -> RunView:
    """A run of an earlier supervisor under a new one: what was not finished is to be done again."""
    word: RunWord = "queued" if known.word in ("cut off", "cancelled", "waiting") else known.word
    return replace(known, run=run, todo=todo, word="ok" if word == "queued" and known.done >= todo else word)
