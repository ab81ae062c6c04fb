"""The end of a log file, as far as it fits: the file keeps the rest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from explorer.widgets.line_pane import ScrollPane, line

TAIL_BYTES: Final = 64 * 1024
TAIL_LINES: Final = 500


def read_tail(path: Path, limit: int = TAIL_BYTES) -> list[str]:
    """The last lines of a text file, at most `limit` bytes of it; empty when there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - limit))
            data = file.read(limit)
    except OSError:
        return []
    lines = data.decode("utf-8", "replace").splitlines()
    return (lines[1:] if size > limit else lines)[-TAIL_LINES:]


class LogPane(ScrollPane):
    """Follows one file; stays where it is once scrolled up."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._path: Path | None = None
        self._stamp: tuple[float, int] | None = None

    def follow(self, path: Path | None, nothing: str = "nothing was written") -> None:
        """Show the end of `path`; reads it only when it has changed."""
        if path != self._path:
            self._path, self._stamp, self.top = path, None, 0
        try:
            stat = path.stat() if path else None
        except OSError:
            stat = None
        stamp = (stat.st_mtime, stat.st_size) if stat else (0.0, -1)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        at_end = self.top + self.size.height >= len(self.lines)
        lines = read_tail(path) if path else []
        self.show_lines([line(f" {text}") for text in lines] or [line((f" {nothing}", "dim"))])
        if at_end:
            self.scroll_lines(len(self.lines))
