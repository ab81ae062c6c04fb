"""The journal's only writer: whole lines, in order, onto the end of the file."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType

import msgspec

from sweeps.events.types import Event


class JournalWriter:
    """Appends events. A half-written last line of a writer that died is closed off first."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        self._encoder = msgspec.json.Encoder()
        if self._file.tell() and not _ends_with_newline(path):
            self._file.write(b"\n")

    def event(self, event: Event) -> Event:
        """Append an event, stamped with the current time unless it has one; returns it as written."""
        stamped = event if event.t else msgspec.structs.replace(event, t=time.time())
        self.lines(self._encoder.encode(stamped) + b"\n")
        return stamped

    def lines(self, data: bytes) -> None:
        """Append whole lines as they stand (a worker's events, already encoded)."""
        self._file.write(data)
        self._file.flush()

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
