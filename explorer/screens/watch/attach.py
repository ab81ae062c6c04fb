"""Which sweep to watch, and the thread that reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual.message import Message

from explorer.live.tailer import Tailer, Update
from sweeps import paths
from sweeps.supervise.folder import SweepFolder, find_folders


class Updated(Message):
    """The reader's newest view; an older one that is still waiting is dropped."""

    def __init__(self, update: Update, folder: Path) -> None:
        self.update, self.folder = update, folder
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Updated)


def folders(data: str | None) -> list[SweepFolder]:
    """All sweeps, newest first."""
    return find_folders(paths.results(data))


def find(data: str | None, sweep: str | None) -> Path | None:
    """The results folder of a sweep named by path, folder or sweep name (its newest); without a name the
    newest of all. None when there is none."""
    if sweep:
        given = Path(sweep).expanduser()
        if given.is_dir():
            return given.absolute()
    found = find_folders(paths.results(data), sweep or None)
    return found[0].path if found else None


def attach(folder: Path, post: Callable[[Message], object]) -> Tailer:
    """Start reading a folder; `post` gets an `Updated` at most four times a second."""
    tailer = Tailer(folder, lambda update: post(Updated(update, folder)))
    tailer.start()
    return tailer
