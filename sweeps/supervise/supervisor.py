"""Walks through a plan: what is missing is measured, each run in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import msgspec

from sweeps.events.types import AnyEvent, Event, Log, RunEnded, SweepEnded, SweepStarted
from sweeps.events.writer import JournalWriter
from sweeps.plan.model import Plan, Run
from sweeps.supervise import owner as ownership
from sweeps.supervise.attempt import Attempt, Cause
from sweeps.supervise.control import Requests
from sweeps.supervise.facts import host_name, machine_facts
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.jobs import make_job
from sweeps.supervise.leftovers import end_orphans, recover
from sweeps.supervise.probe import device_answers
from sweeps.supervise.progress import Progress, passes, read_progress
from sweeps.worker.job import Todo

DRIFT_AFTER_S = 60.0
"""A baseline that is younger at the end of the sweep needs no second look."""

Verdict = Literal["done", "stopped", "interrupted"]


class Result(NamedTuple):
    """How a sweep ended."""

    verdict: Verdict
    failed: int
    """Runs (or prompts of runs) that failed or were refused."""


class Supervisor:
    """Runs one sweep in this process. Use under `MachineLock`."""

    def __init__(
        self,
        folder: SweepFolder,
        plan: Plan,
        *,
        only: frozenset[str] | None = None,
        retry_failed: bool = False,
        on_event: Callable[[AnyEvent], None] = lambda event: None,
        after_run: Callable[[SweepFolder], None] = lambda folder: None,
        answers: Callable[[str], bool] = device_answers,
    ) -> None:
        self._folder, self._plan, self._only = folder, plan, only
        self._retry_failed = retry_failed
        self._listener, self._after_run, self._answers = on_event, after_run, answers
        self._requests = Requests(folder.control)
        self._owner = ownership.myself(folder.path)
        self._next_beat = 0.0
        self._dead_devices: set[str] = set()
        self._ended_at: dict[str, float] = {}
        """When each run of this session ended, monotonic seconds."""
        self.progress = Progress()

    def run(self) -> Result:
        """Measure what is missing. KeyboardInterrupt ends the running child and is part of the result."""
        folder = self._folder
        folder.spool.mkdir(parents=True, exist_ok=True)
        self._requests.clear()
        end_orphans(folder)
        recover(folder)
        self.progress = read_progress(folder.journal)
        if self._retry_failed:
            self.progress.forget_failures()
        with JournalWriter(folder.journal) as self._writer:
            verdict: Verdict = "interrupted"
            try:
                self._beat()
                self._started()
                verdict = self._walk()
            except KeyboardInterrupt:
                verdict = "interrupted"
            finally:
                self._emit(SweepEnded(status=verdict))
                self._writer.sync()
                self._after_run(folder)
        return Result(verdict, len(self.progress.failed) + self._refused())

    def _started(self) -> None:
        text = self._folder.sweep_file
        self._emit(
            SweepStarted(
                sweep=self._plan.sweep,
                pid=self._owner.pid,
                toml=text.read_text(encoding="utf-8") if text.exists() else "",
                plan=msgspec.Raw(msgspec.json.encode(self._plan)),
                host=host_name(),
                facts=machine_facts(),
            )
        )

    def _walk(self) -> Verdict:
        for run, reps in self._order():
            if self._requests.stop() or self._requests.stop_after_run():
                return "stopped"
            if self._only is not None and run.id not in self._only:
                continue
            if run.refused:
                self._refuse(run)
                continue
            cause = self._run(run, reps)
            if cause == "stop":
                return "stopped"
        return "stopped" if self._drifted() == "stop" else "done"

    def _drifted(self) -> Cause | None:
        """Baselines of a grouped sweep once more, one rep on the first prompt: their rows were measured long
        before the last ones. Interleaved passes need no such thing."""
        wanted = {run.baseline for run in self._plan.runs}
        for run in self._plan.runs if not self._plan.protocol.in_passes else ():
            ended = self._ended_at.get(run.id)
            if run.id not in wanted or ended is None or time.monotonic() - ended < DRIFT_AFTER_S:
                continue
            prompt = next((p for p in self._plan.prompts if self.progress.texts.get((run.id, p.name))), None)
            if prompt is None or run.id in self.progress.drifts:
                continue
            todo = Todo(prompt.name, prompt.text, self._plan.protocol.warmup, [0])
            cause = self._attempt(run, [todo], drift=True)[1]
            if cause == "stop":
                return cause
        return None

    def _order(self) -> Iterator[tuple[Run, range | None]]:
        """Runs with the reps of one pass: all at once, or one a pass against drift."""
        if not self._plan.protocol.in_passes:
            yield from ((run, None) for run in self._plan.runs)
            return
        for number in range(self._plan.protocol.reps):
            for run in self._plan.runs:
                if number < passes(self._plan, run):
                    yield run, range(number, number + 1)

    def _run(self, run: Run, reps: range | None) -> Cause | None:
        """Fresh processes until nothing of the run is missing or can be had."""
        worked = False
        cause: Cause | None = None
        while todo := self.progress.missing(self._plan, run, reps):
            if self._requests.skip(run.id):
                self._skip(run, "asked for")
                break
            dead = self._dead_devices & devices_of(run)
            if dead:
                self._skip(run, f"device {', '.join(sorted(dead))} does not answer after a device loss")
                break
            if worked or self._plan.protocol.cooldown_s:
                self._wait(self._plan.protocol.cooldown_s)
            ended, cause = self._attempt(run, todo, reps)
            self._ended_at[run.id] = time.monotonic()
            worked = True
            if cause in ("stop", "skip"):
                self._requests.take_skip(run.id)
                break
            if ended.failure == "device_lost":
                self._after_device_loss(run)
        if worked:
            self._after_run(self._folder)
        elif run.config.kind == "agreement" and run.id not in self.progress.closed:
            self._without_text(run)
        return cause

    def _without_text(self, run: Run) -> None:
        """An agreement run scores its baseline's text: where that failed there is nothing to score."""
        texts, reps = self.progress.texts, self.progress.reps
        waiting = [p.name for p in self._plan.prompts if not reps[run.id, p.name]]
        if waiting and not any(texts.get((run.baseline or "", name)) for name in waiting):
            self._skip(run, "its baseline has no text to score")

    def _attempt(
        self, run: Run, todo: list[Todo], reps: range | None = None, *, drift: bool = False
    ) -> tuple[RunEnded, Cause]:
        number = self.progress.attempts[run.id] + 1
        job = make_job(self._plan, run, number, todo, self._folder.spool, drift=drift)
        limits = self._plan.protocol.limits_s
        attempt = Attempt(self._folder, job, limits, self._writer, self._requests, self._heard, self._beat)
        ended, cause = attempt.run()
        if ended.status == "ok" and not drift and self.progress.missing(self._plan, run, reps) == todo:
            # Nothing came of an orderly end: never start the same thing again and again.
            raise RuntimeError(f"run {run.id} ended in order without measuring anything")
        return ended, cause

    def _after_device_loss(self, run: Run) -> None:
        for device in sorted(devices_of(run)):
            if not self._answers(device):
                self._dead_devices.add(device)
                self._emit(Log(run=run.id, message=f"{device} does not answer: its other runs are skipped"))

    def _refuse(self, run: Run) -> None:
        if run.id in self.progress.closed:
            return
        finding = next(f for f in run.findings if f.level == "refused")
        self._emit(
            RunEnded(
                run=run.id, attempt=0, status="refused", failure=finding.code,
                reason=finding.text,
            )
        )  # fmt: skip

    def _skip(self, run: Run, reason: str) -> None:
        self._requests.take_skip(run.id)
        self._emit(RunEnded(run=run.id, attempt=0, status="skipped", reason=reason))

    def _refused(self) -> int:
        return sum(run.refused for run in self._plan.runs if self._only is None or run.id in self._only)

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._requests.stop():
            self._beat()
            time.sleep(min(0.2, seconds))

    def _beat(self) -> None:
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + ownership.HEARTBEAT_S
            ownership.beat(self._folder.supervisor, self._owner)

    def _heard(self, event: AnyEvent) -> None:
        self.progress.apply(event)
        self._listener(event)

    def _emit(self, event: Event) -> None:
        self._heard(self._writer.event(event))  # type: ignore[arg-type]


def devices_of(run: Run) -> set[str]:
    """The devices that a run depends on: `HETERO:GPU.0,NPU` is one of its own and needs both members."""
    names: set[str] = set()
    for device in (run.config.target_device, run.config.draft_device):
        if device is not None:
            names |= {device, *filter(None, device.partition(":")[2].split(","))}
    return names
