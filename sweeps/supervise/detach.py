"""A supervisor that outlives the terminal: a session of its own, output to a file."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO, Any

from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.owner import read_owner
from sweeps.supervise.process import child_environment, python_command

START_S = 20.0


class NotStarted(Exception):
    """The detached supervisor ended at once; its last words are the message."""


def start_detached(
    folder: SweepFolder, *, only: Sequence[str] | None = None, retry_failed: bool = False
) -> int:
    """Start `python -m sweeps.supervise` on a prepared folder and wait until it says that it lives.

    Returns its pid. Raises NotStarted when it ends before that (another sweep is running, say).
    """
    arguments = [str(folder.path)]
    if only is not None:
        arguments += ["--only", *only]
    if retry_failed:
        arguments.append("--retry-failed")
    with folder.log.open("ab") as log:
        start = log.tell()
        child = _spawn(python_command("sweeps.supervise", *arguments), log)
    deadline = time.monotonic() + START_S
    began = time.time()
    while time.monotonic() < deadline:
        owner = read_owner(folder.supervisor)
        if owner is not None and owner.heartbeat >= began - 1.0 and owner.alive():
            return int(child.pid)
        if child.poll() is not None:
            break
        time.sleep(0.05)
    if child.poll() in (None, 0):
        return int(child.pid)
    with folder.log.open("rb") as log:
        log.seek(start)
        said = log.read().decode("utf-8", "replace").strip().splitlines()
    raise NotStarted(said[-1] if said else f"the supervisor ended with exit status {child.poll()}")


def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    def start(**apart: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=child_environment(),
            close_fds=True,
            **apart,
        )

    if sys.platform == "win32":
        alone = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
        try:
            # A terminal may keep its children in a job that ends with it: leave that too.
            return start(creationflags=alone | subprocess.CREATE_BREAKAWAY_FROM_JOB)
        except PermissionError:
            return start(creationflags=alone)
    else:
        return start(start_new_session=True)
