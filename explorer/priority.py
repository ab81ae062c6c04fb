"""The app steps back behind the sweep that it watches, and what it starts does not inherit that.

A pipeline that computes on every core waits for its slowest thread: each turn that the app takes on one core
is lost on all of them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

NICE: Final = 5
"""Linux: the share of a busy core that is left to a thread of this niceness is about a quarter. With a
tenth (10) keys are answered late where all cores are busy."""

_BELOW_NORMAL: Final = -1
_starting: Final = threading.Lock()
_launcher: ThreadPoolExecutor | None = None


def step_back() -> None:
    """Lower the priority of the calling thread and, on Linux, of the threads that it starts from now on."""
    global _launcher
    if sys.platform == "win32":
        import ctypes

        # A thread's priority, unlike a process's, is not handed down to children.
        kernel = ctypes.windll.kernel32
        kernel.SetThreadPriority(kernel.GetCurrentThread(), _BELOW_NORMAL)
    elif sys.platform == "linux":
        # Niceness belongs to threads and goes down to children, and nobody may raise it again: one thread
        # keeps what we came with.
        with _starting:
            if _launcher is None:
                _launcher = ThreadPoolExecutor(1, thread_name_prefix="launcher")
                _launcher.submit(int).result()
        os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), NICE))


def in_front(start: Callable[[], T]) -> T:
    """The result of `start`, called where child processes get the priority that the app came with."""
    return _launcher.submit(start).result() if _launcher is not None else start()
