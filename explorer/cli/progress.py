"""Headless progress: one live line on a terminal, plain lines elsewhere. Fed by journal events, live or
read back, so `run` and `watch` show the same."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from statistics import median
from typing import TextIO

from sweeps.events.types import (
    Agreement,
    AnyEvent,
    Constructed,
    Log,
    PhaseBegan,
    RepDone,
    RunEnded,
    RunStarted,
    SweepEnded,
    SweepStarted,
    Tokens,
)
from sweeps.plan.model import Plan, Run
from sweeps.plan.show import describe
from sweeps.supervise.progress import Progress, wanted_reps

MARKS = {"ok": "ok", "failed": "FAILED", "refused": "refused", "skipped": "skipped", "cancelled": "stopped"}


class ProgressLine:
    """Keeps the counts and writes to `out` (standard error)."""

    def __init__(self, plan: Plan, out: TextIO | None = None, *, live: bool | None = None) -> None:
        self._plan = plan
        self._runs = {run.id: run for run in plan.runs}
        self._out = out or sys.stderr
        self._live = self._out.isatty() if live is None else live
        self._progress = Progress()
        self._seconds: dict[str, list[float]] = {}
        self._run: Run | None = None
        self._began = 0.0
        self._phase = ""
        self._rate: float | None = None
        self._last_draw = 0.0
        self._width = 0

    def restore(self, progress: Progress) -> None:
        """Start from what an earlier supervisor had finished."""
        self._progress = progress

    def event(self, event: AnyEvent) -> None:
        """Take an event in and show it. A terminal that went away never disturbs the caller."""
        with contextlib.suppress(OSError, ValueError):
            self._event(event)

    def _event(self, event: AnyEvent) -> None:
        self._progress.apply(event)
        match event:
            case SweepStarted():
                total = sum(self._wanted(run) for run in self._plan.runs)
                self._say(f"{event.sweep}: {len(self._plan.runs)} runs, {total} reps, process {event.pid}")
            case RunStarted():
                self._run, self._began, self._rate = self._runs.get(event.run), event.t, None
                if self._run is not None and not self._live:
                    self._say(f"{self._counts()} {describe(self._run)}: started")
            case PhaseBegan():
                self._phase = f"{event.phase} {event.prompt}".strip()
            case Constructed():
                self._phase = f"constructed in {event.construct_s:.1f} s"
            case Tokens() if len(event.us) > 1 and event.us[-1] > event.us[0]:
                count = sum(len(ids) for ids in event.ids[1:])
                self._rate = count / ((event.us[-1] - event.us[0]) / 1e6)
            case RepDone() | Agreement():
                pass
            case RunEnded():
                self._ended(event)
            case Log():
                self._say(f"note: {event.message}")
            case SweepEnded():
                self._clear()
                return
        self._draw()

    def _ended(self, event: RunEnded) -> None:
        run = self._runs.get(event.run)
        took = event.t - self._began if self._began and event.attempt else 0.0
        if run is not None and event.status == "ok" and event.todo:
            self._seconds.setdefault(_like(run), []).append(took / event.todo)
        name = describe(run) if run is not None else event.run
        line = f"{self._counts()} {name}: {MARKS[event.status]}"
        if took and event.status == "ok":
            line += f", {event.done} reps in {took:.1f} s"
        if event.status == "failed":
            line += f" ({event.failure}, {event.done} of {event.todo} reps kept): {event.reason}"
        elif event.reason:
            line += f": {event.reason}"
        self._say(line)
        self._run = None

    def _wanted(self, run: Run) -> int:
        return 0 if run.refused else wanted_reps(self._plan, run) * len(self._plan.prompts)

    def _done(self, run: Run) -> int:
        wanted = wanted_reps(self._plan, run)
        return sum(
            min(wanted, len(self._progress.reps[run.id, prompt.name])) for prompt in self._plan.prompts
        )

    def _counts(self) -> str:
        done = sum(self._done(run) for run in self._plan.runs)
        total = sum(self._wanted(run) for run in self._plan.runs)
        return f"[{done}/{total}]"

    def eta_s(self) -> float | None:
        """Seconds left by the medians of like runs (of all runs for a kind not seen yet); None: unknown."""
        if not self._seconds:
            return None
        medians = {like: median(values) for like, values in self._seconds.items()}
        fallback = median(medians.values())
        left = 0.0
        for run in self._plan.runs:
            failed = any(key[0] == run.id for key in self._progress.failed)
            if run.id in self._progress.closed or failed:
                continue
            rest = max(self._wanted(run) - self._done(run), 0)
            left += rest * medians.get(_like(run), fallback)
        return left

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._live or now - self._last_draw < 0.2:
            return
        self._last_draw = now
        eta = self.eta_s()
        parts = [self._counts(), describe(self._run) if self._run else "", self._phase]
        parts.append(f"{self._rate:.0f} tok/s" if self._rate else "-- tok/s")
        parts.append(f"ETA {clock(eta)}")
        width = shutil.get_terminal_size().columns - 1
        line = "  ".join(part for part in parts if part)[:width]
        self._out.write("\r" + line.ljust(self._width))
        self._out.flush()
        self._width = len(line)

    def _clear(self) -> None:
        if self._live and self._width:
            self._out.write("\r" + " " * self._width + "\r")
            self._out.flush()
            self._width = 0

    def _say(self, text: str) -> None:
        self._clear()
        self._out.write(text + "\n")
        self._out.flush()


def clock(seconds: float | None) -> str:
    """`1:02:03`, `2:03`, or `--` while unknown."""
    if seconds is None:
        return "--"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _like(run: Run) -> str:
    config = run.config
    return "/".join([config.kind, config.target, config.target_device, run.path])
