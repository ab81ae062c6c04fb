"""The thread that reads a journal for a screen: bounded reads, one update at most four times a second.

It never waits for its reader. The screen asks through plain attributes and events, so that a terminal that
takes no more bytes stops the screen but neither the reading nor, least of all, the sweep.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from explorer.live import results, vocabulary
from explorer.live.fold import Fold
from explorer.live.replay import CHUNK, Timeline
from explorer.live.state import LiveState, Result
from sweeps.events.journal import JournalReader
from sweeps.events.types import RunEnded
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.state import Verdict, look

POST_S: Final = 0.25
"""Shortest time between two updates."""

TICK_S: Final = 1.0
"""Longest time between two updates of a live sweep: elapsed times go on."""

POLL_S: Final = 0.04
POLL_IDLE_S: Final = 0.5
LOOK_S: Final = 2.0
READ_S: Final = 0.05
"""Time that one turn spends reading before it looks at what is asked of it."""


class Update(msgspec.Struct, frozen=True):
    """What the tailer hands out."""

    state: LiveState
    moment: int = 0
    """In events; where the scrubber stands."""
    events: int = 0
    """Events read so far: the scrubber's length."""
    replay: bool = False
    """The state is a past one."""
    fault: str = ""
    """Why the store could not derive the rows of the finished runs."""
    rows: tuple[dict[str, Any], ...] = ()
    """The store's rows of the finished runs, all columns."""
    reading: float | None = None
    """Part of the journal that is read, while catching up with it."""


class Tailer(threading.Thread):
    """Follows one results folder until `stop`.

    Args:
        folder: the results folder; its journal need not exist yet.
        post: takes an `Update`; called from this thread and must not block.
        load: gives the store's rows of finished runs; None: the store itself.
        spelling: gives the token spelling of a model folder.
    """

    def __init__(
        self,
        folder: Path,
        post: Callable[[Update], object],
        load: results.Load | None = None,
        spelling: Callable[[Path], vocabulary.TokenBytes] = vocabulary.load,
    ) -> None:
        super().__init__(name="watch-tailer", daemon=True)
        self._folder = SweepFolder(folder)
        self._post = post
        self._fold = Fold(spelling)
        self._timeline = Timeline(self._folder.journal, self._fold)
        self._reader = JournalReader(self._folder.journal)
        self._loader = results.ResultsLoader(folder, self._results_came, load)
        self._wake = threading.Event()
        self._stopping = False
        self._wanted: deque[tuple[str, float]] = deque()
        self._moment: int | None = None
        self._verdict = Verdict("unknown", "nothing read yet")
        self._looked = self._posted = 0.0
        self._results_key: tuple[object, ...] = ()
        self._results_made: tuple[Result, ...] = ()
        self._dirty = True
        self._behind = True

    # -- asked for by the screen ----------------------------------------------------------------------

    def stop(self) -> None:
        """End soon; does not wait."""
        self._stopping = True
        self._loader.stop()
        self._wake.set()

    def seek(self, how: str, value: float) -> None:
        """Show a past moment: `part` (of the whole, 0..1), `step` (in hundredths of the whole), `event`
        (in events), `run` (to the next or previous run), or `now` again."""
        self._wanted.append((how, value))
        self._wake.set()

    # -- the thread -----------------------------------------------------------------------------------

    def run(self) -> None:
        """Read, judge, post, wait."""
        while not self._stopping:
            self._read()
            self._look()
            self._seek()
            now = time.monotonic()
            due = self._dirty or (
                self._verdict.live and self._moment is None and now - self._posted >= TICK_S
            )
            if due and now - self._posted >= POST_S:
                self._posted, self._dirty = now, False
                self._post(self._update())
            if not self._behind:
                self._wake.wait(POLL_S if self._verdict.live or self._dirty else POLL_IDLE_S)
                self._wake.clear()

    def _read(self) -> None:
        until = time.monotonic() + READ_S
        while not self._stopping:
            before = self._reader.offset
            try:
                events = self._reader.poll(CHUNK)
            except OSError as error:
                self._verdict = Verdict("unknown", f"the journal cannot be read: {error}")
                events = []
            for event in events:
                self._fold.apply(event)
            self._behind = self._reader.offset != before
            if not self._behind:
                return
            self._dirty = True
            self._timeline.add(events, self._reader.offset, self._fold)
            if any(isinstance(event, RunEnded) for event in events):
                self._loader.request()
            if time.monotonic() > until:
                return

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_S and (self._verdict.live == (self._fold.ended is None)):
            return
        if self._behind and self._fold.ended is None:  # The end may stand in what is not read yet.
            return
        self._looked = now
        verdict = look(self._folder, self._fold.ended, time.time())
        if verdict.word == "crashed":
            # It may have written its end and left since the last read; a dead process writes no more.
            self._read()
            if self._behind:
                self._looked = 0.0
                return
            verdict = look(self._folder, self._fold.ended, time.time())
        if verdict != self._verdict:
            self._verdict, self._dirty = verdict, True

    def _seek(self) -> None:
        if not self._wanted:
            return
        while self._wanted:
            self._move(*self._wanted.popleft())
        self._dirty = True
        # A key is answered sooner than an event: still at most a few updates a second.
        self._posted = min(self._posted, time.monotonic() - POST_S / 2)

    def _move(self, how: str, value: float) -> None:
        total = self._timeline.events
        here = total if self._moment is None else self._moment
        if how == "part":
            here = round(value * total)
        elif how == "step":
            here += round(value * max(1.0, total / 100))
        elif how == "event":
            here += round(value)
        elif how == "run":
            here = self._timeline.next_run(here, 1 if value > 0 else -1)
        self._moment = None if how == "now" or here >= total else max(0, here)

    def _results_came(self) -> None:
        self._dirty = True
        self._wake.set()

    def _update(self) -> Update:
        replay = self._moment is not None
        moment = self._timeline.events if self._moment is None else self._moment
        fold = self._timeline.at(moment) if replay else self._fold
        verdict = self._verdict
        now = fold.last if replay or not verdict.live else time.time()
        state = fold.state(
            verdict, now, broken=self._reader.broken + self._reader.unknown, folder=self._folder.name
        )
        return Update(
            msgspec.structs.replace(state, results=self._results(state, replay)),
            moment=moment,
            events=self._timeline.events,
            replay=replay,
            rows=self._loader.rows,
            fault=self._loader.fault,
            reading=self._part_read() if self._behind else None,
        )

    def _results(self, state: LiveState, replay: bool) -> tuple[Result, ...]:
        """Rows of what is finished (in a replay: was); the same tuple as long as nothing has changed."""
        loads, rows = self._loader.loads, self._loader.rows
        over = frozenset(view.id for view in state.runs if view.over) if replay else None
        key = (loads, len(state.runs), over)
        if key != self._results_key:
            runs = {view.id: view.run for view in state.runs}
            self._results_key = key
            self._results_made = tuple(
                results.result(row, runs[str(row["run"])])
                for row in rows
                if row["run"] in runs
                and row["status"] not in ("queued", "running")
                and (over is None or row["run"] in over)
            )
        return self._results_made

    def _part_read(self) -> float | None:
        try:
            size = self._folder.journal.stat().st_size
        except OSError:
            return None
        part = self._reader.offset / size if size else 1.0
        return part if part < 0.99 else None
