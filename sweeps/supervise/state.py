"""Does anybody work on this sweep? Answered from evidence, which is named."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final, Literal, NamedTuple

from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.owner import HEARTBEAT_S, Owner, read_owner

SweepWord = Literal["running", "finished", "stopped", "crashed", "unknown"]

STALE_S: Final = 5 * HEARTBEAT_S
"""A heartbeat older than this is worth a word; its age alone never calls a living process dead."""

REMOTE_DEAD_S: Final = 60.0
"""Another machine's process cannot be looked up: after this silence it counts as gone."""

_ENDS: Final[dict[str, SweepWord]] = {"done": "finished", "stopped": "stopped", "interrupted": "stopped"}


class Verdict(NamedTuple):
    """How a sweep stands, and what says so."""

    word: SweepWord
    evidence: str
    pid: int | None = None

    @property
    def live(self) -> bool:
        """More events may come."""
        return self.word == "running"


def judge(ended: str | None, owner: Owner | None, alive: bool | None, now: float) -> Verdict:
    """The verdict from the evidence.

    Args:
        ended: status of the journal's SweepEnded when no supervisor started after it, else None.
        owner: what `supervisor.json` says; None without one.
        alive: whether that very process (pid and start time) runs; None: another machine's, unknown here.
        now: Unix seconds.
    """
    if ended is not None:
        return Verdict(_ENDS.get(ended, "stopped"), f"the journal ends with: {ended}")
    if owner is None:
        return Verdict("unknown", "no supervisor.json: nobody has taken this sweep up")
    pid, age = owner.pid, max(0.0, now - owner.heartbeat)
    if alive is False:
        return Verdict("crashed", f"process {pid} is gone and the journal has no end", pid)
    if alive is None:
        if age > REMOTE_DEAD_S:
            return Verdict("crashed", f"no heartbeat from {owner.host} for {_span(age)}", pid)
        return Verdict("running", f"process {pid} on {owner.host}, heartbeat fresh", pid)
    if age > STALE_S:
        return Verdict("running", f"process {pid} lives, but no heartbeat for {_span(age)}", pid)
    return Verdict("running", f"process {pid} lives, heartbeat fresh", pid)


def look(folder: SweepFolder, ended: str | None, now: float) -> Verdict:
    """Gather the evidence of a folder whose journal was read to its end, and judge it."""
    if ended is not None:
        return judge(ended, None, None, now)
    owner = read_owner(folder.supervisor)
    return judge(None, owner, owner.alive() if owner else None, now)


def standing(folder: SweepFolder) -> Verdict:
    """The same from the journal's last line alone."""
    return look(folder, _end(folder.journal), time.time())


def last_event_is_end(journal: Path) -> bool:
    """Whether the journal's last whole line ends the sweep."""
    return _end(journal) is not None


def _end(journal: Path) -> str | None:
    """Status of the SweepEnded that the journal's last whole line is; None where it is another event."""
    end = _last_line(journal)
    if b'"type":"sweep_ended"' not in end:
        return None
    return end.split(b'"status":"')[-1].split(b'"')[0].decode("ascii", "replace")


def _last_line(path: Path, window: int = 4096) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - window, 0))
            data = file.read()
    except OSError:
        return b""
    whole = data[: data.rfind(b"\n")]
    return whole[whole.rfind(b"\n") + 1 :]


def _span(seconds: float) -> str:
    """In steps that do not make a screen change every second."""
    if seconds < 60:
        return f"{seconds // 10 * 10:.0f} s"
    return f"{seconds // 60:.0f} min" if seconds < 7200 else f"{seconds // 3600:.0f} h"
