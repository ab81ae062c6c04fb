"""The sweep file that is being edited: where it came from, whether it differs from the disk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from explorer.screens.define.files import is_preset
from sweeps import atomic, paths
from sweeps.spec.load import read_text


@dataclass(frozen=True)
class Document:
    """A file as it was read or written last. `path` is None for a text that was never saved."""

    path: Path | None
    saved: str
    """The text on disk, with LF line ends."""
    crlf: bool = False
    """The file had CR LF line ends; they are written back."""
    stamp: int = 0
    """Time of change of the file when it was read or written, ns."""

    @property
    def preset(self) -> bool:
        """It ships with the program and is never written."""
        return self.path is not None and is_preset(self.path)

    @property
    def folder(self) -> Path:
        """Where relative paths of the text start."""
        return self.path.parent if self.path is not None else paths.user_sweeps()

    @property
    def name(self) -> str:
        """For the header."""
        if self.path is None:
            return "not saved yet"
        return f"{self.path.stem} (preset)" if self.preset else self.path.name

    def changed_on_disk(self) -> bool:
        """Whether somebody else wrote the file since."""
        return self.path is not None and _stamp(self.path) not in (0, self.stamp)


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def read(path: Path) -> Document:
    """A file's document. Raises SpecError when it cannot be read."""
    text = read_text(path)
    return Document(path, text.replace("\r\n", "\n"), "\r\n" in text, _stamp(path))


def write(document: Document, path: Path, text: str) -> Document:
    """Write the text in one step and return the new document. Raises OSError."""
    atomic.write_text(path, text.replace("\n", "\r\n") if document.crlf else text)
    return replace(document, path=path, saved=text, stamp=_stamp(path))
