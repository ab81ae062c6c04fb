"""Any moment of a journal: checkpoints while it is read, and a short way from one of them to the moment."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from explorer.live.fold import Fold
from sweeps.events.journal import read_piece
from sweeps.events.types import AnyEvent, RunStarted

CHUNK = 256 * 1024
"""Bytes between checkpoints: about 1,500 events, a hundredth of a second to fold."""


class Checkpoint(NamedTuple):
    """A fold, and where in the journal it stands."""

    events: int
    """Events before it."""
    offset: int
    fold: Fold


class Timeline:
    """What is known of the journal read so far. Moments are counted in events, 0 to `events`."""

    def __init__(self, path: Path, fold: Fold) -> None:
        self._path = path
        self._checkpoints = [Checkpoint(0, 0, fold.copy())]
        self.events = 0
        self.runs: list[int] = []
        """Moments at which a run started."""

    def add(self, events: list[AnyEvent], offset: int, fold: Fold) -> None:
        """Note that `fold` has taken these events in and that the journal goes on at `offset`."""
        for place, event in enumerate(events, self.events + 1):
            if isinstance(event, RunStarted):
                self.runs.append(place)
        self.events += len(events)
        if offset - self._checkpoints[-1].offset >= CHUNK:
            self._checkpoints.append(Checkpoint(self.events, offset, fold.copy()))

    def at(self, moment: int) -> Fold:
        """The fold after the first `moment` events (clamped to what was read)."""
        moment = max(0, min(moment, self.events))
        place = bisect_right(self._checkpoints, moment, key=lambda checkpoint: checkpoint.events) - 1
        checkpoint = self._checkpoints[place]
        fold, left, offset = checkpoint.fold.copy(), moment - checkpoint.events, checkpoint.offset
        while left > 0:
            piece = read_piece(self._path, offset, CHUNK)
            if piece.offset == offset:
                break
            for event in piece.events[:left]:
                fold.apply(event)
            left -= len(piece.events)
            offset = piece.offset
        return fold

    def next_run(self, moment: int, step: int) -> int:
        """The start of the next (`step` 1) or previous (-1) run; the ends of the journal beyond them."""
        if step > 0:
            return next((start for start in self.runs if start > moment), self.events)
        return next((start for start in reversed(self.runs) if start < moment), 0)
