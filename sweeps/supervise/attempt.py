"""One worker process from start to end: relays its events, keeps its limits, obeys requests."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from sweeps.events.types import (
    Agreement,
    AnyEvent,
    Log,
    LoopTimes,
    Phase,
    PhaseBegan,
    RepDone,
    RepStarted,
    RunEnded,
    RunStarted,
    Sample,
    Tokens,
    VerifyWidths,
    WorkerError,
)
from sweeps.events.writer import JournalWriter
from sweeps.spec.model import Limits
from sweeps.supervise.control import Requests
from sweeps.supervise.exits import exit_name
from sweeps.supervise.failures import classify
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.process import WorkerProcess, oom_kills
from sweeps.worker.job import Job

POLL_S = 0.05
SAMPLE_S = 1.0
TAIL_LINES = 20

Cause = Literal["exited", "timeout", "stop", "skip"]


class Spool:
    """Reads a worker's event file, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._decoder = msgspec.json.Decoder(AnyEvent)
        self.broken = 0
        """Lines that were no event: a bug of ours, said aloud when the run ends."""

    def take(self) -> tuple[bytes, list[AnyEvent]]:
        """New whole lines as they stand, and decoded. A line that is no event is left out."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return b"", []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        lines, events = [], []
        for line in whole.splitlines(keepends=True):
            try:
                events.append(self._decoder.decode(line))
                lines.append(line)
            except msgspec.DecodeError:
                self.broken += 1
        return b"".join(lines), events


class Attempt:
    """Supervises one worker."""

    def __init__(
        self,
        folder: SweepFolder,
        job: Job,
        limits: Limits,
        writer: JournalWriter,
        requests: Requests,
        on_event: Callable[[AnyEvent], None],
        beat: Callable[[], None],
    ) -> None:
        self._folder, self._job, self._limits = folder, job, limits
        self._writer, self._requests, self._on_event, self._beat = writer, requests, on_event, beat
        self._phase: Phase = "import"
        self._prompt = ""
        self._error = ""
        self._done = 0
        self._peak_mb = 0.0
        self._spool = Spool(Path(job.events))

    def run(self) -> tuple[RunEnded, Cause]:
        """Start the worker and stay with it to its end, which is recorded and returned."""
        job = self._job
        todo = sum(len(item.reps) for item in job.todo)
        job_file = Path(job.events).with_suffix(".job.json")
        job_file.parent.mkdir(parents=True, exist_ok=True)
        job_file.write_bytes(msgspec.json.encode(job))
        log_path = self._folder.stderr(job.run)
        log_path.parent.mkdir(parents=True, exist_ok=True)
        kills = oom_kills()
        with log_path.open("ab") as log:
            start = log.tell()
            worker = WorkerProcess(job_file, log)
            try:
                self._emit(RunStarted(run=job.run, attempt=job.attempt, pid=worker.pid, todo=todo))
                cause = self._follow(worker)
                code = worker.poll()
                if code is None:
                    code = worker.end()
            except BaseException:
                worker.end()
                self._relay()
                self._emit(self._ended("cancelled", "", "interrupted", None, [], todo))
                raise
            finally:
                worker.close()
        self._relay()
        if self._spool.broken:
            self._emit(
                Log(run=job.run, message=f"{self._spool.broken} events of the worker were not understood")
            )
        tail = _tail(log_path, start)
        ended = self._judge(code, cause, tail, todo, oom_kills() > kills)
        self._emit(ended)
        self._writer.sync()
        for path in (job_file, Path(job.events)):
            with contextlib.suppress(OSError):
                path.unlink()
        return ended, cause

    def _follow(self, worker: WorkerProcess) -> Cause:
        last_event = time.monotonic()
        last_sample = last_event - SAMPLE_S / 2
        while True:
            if self._relay():
                last_event = time.monotonic()
            if worker.poll() is not None:
                return "exited"
            now = time.monotonic()
            if now - last_event > self._limit():
                return "timeout"
            if self._requests.stop():
                return "stop"
            if self._requests.skip(self._job.run):
                return "skip"
            if now - last_sample > SAMPLE_S:
                last_sample = now
                self._take_sample(worker)
                self._beat()
            time.sleep(POLL_S)

    def _limit(self) -> float:
        limits = self._limits
        return {
            "import": limits.import_,
            "read": limits.import_,
            "construct": limits.construct,
            "first_token": limits.first_token,
            "decode": limits.stall,
            "idle": limits.stall,
        }[self._phase]

    def _relay(self) -> bool:
        lines, events = self._spool.take()
        if not events:
            return False
        self._writer.lines(lines)
        for event in events:
            if isinstance(event, PhaseBegan):
                self._phase, self._prompt = event.phase, event.prompt
            elif isinstance(event, RepStarted):
                self._phase, self._prompt = "first_token", event.prompt
            elif isinstance(event, Tokens):
                self._phase = "decode"
            elif isinstance(event, RepDone):
                self._done += not event.warmup
                self._phase = "idle"
            elif isinstance(event, Agreement):
                self._done += 1
            elif isinstance(event, VerifyWidths | LoopTimes) and event.rep:
                # A pass that only times is done for all of its prompts at once.
                self._done += sum(event.rep in todo.reps for todo in self._job.todo)
            elif isinstance(event, WorkerError):
                self._phase, self._prompt, self._error = event.phase, event.prompt, event.error
            self._on_event(event)
        return True

    def _take_sample(self, worker: WorkerProcess) -> None:
        usage = worker.sample()
        if usage is None:
            return
        self._peak_mb = max(self._peak_mb, usage.rss_mb)
        self._emit(
            Sample(
                run=self._job.run,
                rss_mb=round(usage.rss_mb, 1),
                cpu=round(usage.cpu, 2),
                other_cpu=round(usage.other_cpu, 2),
                freq_mhz=usage.freq_mhz,
                throttles=usage.throttles,
                on_battery=usage.on_battery,
            )
        )

    def _judge(self, code: int, cause: Cause, tail: list[str], todo: int, by_kernel: bool) -> RunEnded:
        if cause in ("stop", "skip"):
            status: Literal["cancelled", "skipped"] = "cancelled" if cause == "stop" else "skipped"
            return self._ended(status, "", "asked for", code, tail, todo)
        if cause == "exited" and self._done == todo:
            # A crash after the last rep was sent costs nothing that was measured.
            note = f"ended with {exit_name(code) or code} after its last rep" if code else ""
            return self._ended("ok", "", note, code, tail if code else [], todo)
        failure = classify(
            code,
            self._phase,
            "\n".join(tail),
            error=self._error,
            timed_out=cause == "timeout",
            killed_by_kernel=by_kernel,
        )
        return self._ended("failed", failure.name, failure.reason, code, tail, todo)

    def _ended(
        self,
        status: Literal["ok", "failed", "skipped", "cancelled"],
        failure: str,
        reason: str,
        code: int | None,
        tail: list[str],
        todo: int,
    ) -> RunEnded:
        return RunEnded(
            run=self._job.run,
            attempt=self._job.attempt,
            status=status,
            failure=failure,
            reason=reason,
            exit_code=code,
            exit_name=exit_name(code) if code else "",
            phase=self._phase,
            prompt=self._prompt if status == "failed" else "",
            tail=tail,
            done=self._done,
            todo=todo,
            peak_rss_mb=round(self._peak_mb, 1),
        )

    def _emit(self, event: AnyEvent) -> None:
        stamped = self._writer.event(event)
        self._on_event(stamped)  # type: ignore[arg-type]


def _tail(path: Path, start: int, limit: int = 64 * 1024) -> list[str]:
    """The last lines that a process wrote from `start` on."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(start, file.tell() - limit))
        text = file.read().decode("utf-8", "replace")
    return [line.rstrip() for line in text.splitlines() if line.strip()][-TAIL_LINES:]
