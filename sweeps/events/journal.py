"""Reading a journal: incremental, bounded, and patient with what a crash or a newer version left in it.

A journal is read by any number of watchers while one supervisor appends to it, so that its last line may
be half written; that line is left for the next call. A broken line further up (a crash in mid-write) and
an event type that this version does not know are passed over and counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from sweeps.events.types import AnyEvent

MAX_BYTES: Final = 4 << 20
"""Bytes that one call reads unless told otherwise: about 20,000 events."""

MAX_LINE: Final = 64 << 20
"""A line longer than this is no event; it is dropped rather than held in memory."""

_decoder: Final = msgspec.json.Decoder(AnyEvent)


class _Typed(msgspec.Struct):
    type: str


_type_only: Final = msgspec.json.Decoder(_Typed)
_known: Final = frozenset(str(event.__struct_config__.tag) for event in AnyEvent.__args__)


class Piece(NamedTuple):
    """What one call made of a piece of a journal."""

    events: list[AnyEvent]
    offset: int
    """Where the next call goes on: just after the last complete line that was read."""
    broken: int = 0
    """Lines that hold no event."""
    unknown: int = 0
    """Events of a type that a newer version introduced."""


def read(path: Path, offset: int = 0, max_bytes: int = MAX_BYTES) -> tuple[list[AnyEvent], int]:
    """Events that stand in complete lines from byte `offset` on, and the offset for the next call.

    Reads about `max_bytes` (at least one whole line); the caller is at the end when the offset no longer
    moves. A file that does not exist yet has no events.

    Raises:
        OSError: the file exists but cannot be read.
    """
    piece = read_piece(path, offset, max_bytes)
    return piece.events, piece.offset


def read_piece(path: Path, offset: int = 0, max_bytes: int = MAX_BYTES) -> Piece:
    """As `read`, with the counts of what was passed over."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(max_bytes)
            while b"\n" not in data and len(data) <= MAX_LINE:
                more = file.read(max_bytes)
                if not more:
                    break
                data += more
    except FileNotFoundError:
        return Piece([], offset)
    end = data.rfind(b"\n") + 1
    if not end:
        # A line without end: either still being written, or no journal at all.
        too_long = len(data) > MAX_LINE
        return Piece([], offset + len(data), broken=1) if too_long else Piece([], offset)
    events, broken, unknown = decode(data[:end])
    return Piece(events, offset + end, broken, unknown)


def decode(data: bytes) -> tuple[list[AnyEvent], int, int]:
    """Events of complete lines, how many lines were broken, how many events were of unknown type."""
    events: list[AnyEvent] = []
    broken = unknown = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            events.append(_decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if _is_of_unknown_type(line):
                unknown += 1
            else:
                broken += 1
    return events, broken, unknown


def _is_of_unknown_type(line: bytes) -> bool:
    try:
        return _type_only.decode(line).type not in _known
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False


class JournalReader:
    """Follows one journal: each `poll` returns the events that were appended since the last one."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.broken = 0
        self.unknown = 0

    def poll(self, max_bytes: int = MAX_BYTES) -> list[AnyEvent]:
        """The next events, empty when there is nothing new (yet)."""
        piece = read_piece(self.path, self.offset, max_bytes)
        self.offset = piece.offset
        self.broken += piece.broken
        self.unknown += piece.unknown
        return piece.events

    def drain(self) -> list[AnyEvent]:
        """All that stands in the file now, however much."""
        events: list[AnyEvent] = []
        while True:
            before = self.offset
            events += self.poll()
            if self.offset == before:
                return events
