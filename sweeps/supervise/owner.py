"""Who supervises: one process a machine at a time, and evidence of it that outlives a crash."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Any

import filelock
import msgspec

from sweeps import atomic, paths

HEARTBEAT_S = 2.0


class Owner(msgspec.Struct, frozen=True):
    """A supervising process: a pid alone may have been given to another process since."""

    pid: int
    process_started: float
    """Start of the process, Unix seconds."""
    host: str
    folder: str
    heartbeat: float = 0.0
    """When it last said that it lives, Unix seconds."""

    def alive(self) -> bool | None:
        """Whether that very process runs; None when it is another machine's."""
        if self.host != socket.gethostname():
            return None
        import psutil

        try:
            process = psutil.Process(self.pid)
            # Ended, but its parent (the app that started it) has not asked for its exit status yet.
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            started = float(process.create_time())
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True
        return abs(started - self.process_started) < 2.0


def myself(folder: Path) -> Owner:
    """This process as the owner of a sweep's folder."""
    import psutil

    return Owner(
        pid=os.getpid(),
        process_started=float(psutil.Process().create_time()),
        host=socket.gethostname(),
        folder=str(folder),
        heartbeat=time.time(),
    )


def read_owner(path: Path) -> Owner | None:
    """The owner that a file names; None without a (whole) file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Owner)
    except (OSError, msgspec.DecodeError):
        return None


def beat(path: Path, owner: Owner) -> None:
    """Write `supervisor.json` anew with the current time."""
    fresh = msgspec.structs.replace(owner, heartbeat=time.time())
    with contextlib.suppress(PermissionError):
        # On Windows a reader may hold the file: the next beat comes in two seconds.
        atomic.write_bytes(path, msgspec.json.encode(fresh), durable=False)


class Busy(Exception):
    """Another supervisor measures on this machine."""

    def __init__(self, owner: Owner | None) -> None:
        self.owner = owner
        who = f"process {owner.pid} runs {owner.folder}" if owner else "another process holds the lock"
        super().__init__(f"this machine is measuring already: {who}")


class MachineLock:
    """The lock that keeps two sweeps from disturbing each other. The system frees it when its owner
    dies, however it dies; the file beside it says who holds it."""

    def __init__(self, folder: Path) -> None:
        state = paths.state()
        state.mkdir(parents=True, exist_ok=True)
        self._lock = filelock.FileLock(state / "supervisor.lock")
        self._note = state / "supervisor-owner.json"
        self._folder = folder

    def __enter__(self) -> MachineLock:
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            raise Busy(read_owner(self._note)) from None
        atomic.write_bytes(self._note, msgspec.json.encode(myself(self._folder)), durable=False)
        return self

    def __exit__(self, *_: Any) -> None:
        with contextlib.suppress(OSError):
            self._note.unlink()
        self._lock.release()
