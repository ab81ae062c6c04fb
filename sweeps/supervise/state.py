"""How a sweep stands, from evidence: its journal's last line, its owner's process, its heartbeat."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal, NamedTuple

from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.owner import HEARTBEAT_S, read_owner

State = Literal["running", "finished", "stopped", "crashed", "unknown"]


class Standing(NamedTuple):
    """A state and the evidence for it."""

    state: State
    evidence: str


def standing(folder: SweepFolder) -> Standing:
    """Running, finished, stopped or crashed, and how that is known."""
    end = _last_line(folder.journal)
    owner = read_owner(folder.supervisor)
    if b'"type":"sweep_ended"' in end:
        status = end.split(b'"status":"')[-1].split(b'"')[0].decode("ascii", "replace")
        return Standing("finished" if status == "done" else "stopped", f"journal ends with {status!r}")
    if owner is None:
        return Standing("unknown", "no supervisor has left its name here")
    age = time.time() - owner.heartbeat
    alive = owner.alive()
    if alive is False:
        return Standing("crashed", f"process {owner.pid} is gone without having ended the sweep")
    if alive is None and age > 15 * HEARTBEAT_S:
        return Standing("crashed", f"no heartbeat from {owner.host} for {age:.0f} s")
    who = f"process {owner.pid}" + (f" on {owner.host}" if alive is None else "")
    return Standing("running", f"{who} lives, heartbeat {age:.0f} s ago")


def last_event_is_end(journal: Path) -> bool:
    """Whether the journal's last whole line ends the sweep."""
    return b'"type":"sweep_ended"' in _last_line(journal)


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
