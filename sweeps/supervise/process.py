"""A worker's process tree: started apart from the terminal, sampled, and ended whole."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, NamedTuple

from sweeps.supervise.conditions import conditions

_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])


def python_command(module: str, *arguments: str) -> list[str]:
    """Command line that runs one of our modules with this interpreter, UTF-8 whatever the console."""
    return [sys.executable, "-X", "utf8", "-m", module, *arguments]


def child_environment() -> dict[str, str]:
    """The environment plus the place of our packages, so that a checkout works from any folder."""
    environment = dict(os.environ)
    known = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = _PACKAGE_PARENT + (os.pathsep + known if known else "")
    return environment


def apart_from_terminal() -> dict[str, Any]:
    """`Popen` arguments that keep a terminal's Ctrl-C and hang-up from a child."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    else:
        return {"start_new_session": True}


class Usage(NamedTuple):
    """Resources of the tree and of the rest of the machine since the last sample."""

    rss_mb: float
    cpu: float
    other_cpu: float
    freq_mhz: float | None
    throttles: int
    on_battery: bool


class WorkerProcess:
    """One `python -m sweeps.worker JOB`."""

    def __init__(self, job: Path, log: IO[bytes]) -> None:
        import psutil

        self._psutil = psutil
        # The pipe on stdin is how the worker learns that we died: the system closes it then.
        self._popen = subprocess.Popen(
            python_command("sweeps.worker", str(job)),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=child_environment(),
            **apart_from_terminal(),
        )
        self.pid = self._popen.pid
        self._process = psutil.Process(self.pid)
        self._own = psutil.Process()
        self._at = time.monotonic()
        self._throttles = conditions().throttles
        self._tree_s = 0.0
        self._busy_s, self._own_s = self._machine_busy(), self._cpu_s(self._own)

    def poll(self) -> int | None:
        """Exit status, None while it runs."""
        return self._popen.poll()

    def sample(self) -> Usage | None:
        """Memory and CPU of the tree; None when it is gone."""
        psutil = self._psutil
        rss, tree_s = 0, 0.0
        try:
            for process in [self._process, *self._process.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    rss += process.memory_info().rss
                    tree_s += self._cpu_s(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None
        now, busy_s, own_s = time.monotonic(), self._machine_busy(), self._cpu_s(self._own)
        passed = max(now - self._at, 1e-3)
        cpu = max(tree_s - self._tree_s, 0.0) / passed
        other = (busy_s - self._busy_s - (tree_s - self._tree_s) - (own_s - self._own_s)) / passed
        self._at, self._tree_s, self._busy_s, self._own_s = now, tree_s, busy_s, own_s
        found = conditions()
        throttles, self._throttles = found.throttles - self._throttles, found.throttles
        return Usage(rss / 2**20, cpu, max(other, 0.0), found.freq_mhz, max(throttles, 0), found.on_battery)

    def end(self, patience_s: float = 1.0) -> int:
        """End the whole tree: first by closing its stdin, then by force. Returns the exit status."""
        psutil = self._psutil
        tree = []
        with contextlib.suppress(psutil.NoSuchProcess):
            tree = self._process.children(recursive=True)
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(patience_s)
        for process in [*tree, self._process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        return self._popen.wait()

    def close(self) -> None:
        """Free the pipe of a process that has ended."""
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    def _cpu_s(self, process: Any) -> float:
        times = process.cpu_times()
        return float(times.user + times.system)

    def _machine_busy(self) -> float:
        times = self._psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        return float(sum(times) - idle - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0))


def oom_kills() -> int:
    """Processes that the Linux kernel has killed for memory since boot; 0 elsewhere."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
