"""Signals that ask a supervisor to stop, on both systems."""

from __future__ import annotations

import signal
import sys
from types import FrameType


def stop_on_signals(*, hang_up: bool) -> None:
    """Make the polite signals end like Ctrl-C: the child ended, everything recorded.

    `hang_up`: whether losing the terminal stops the sweep too; otherwise it goes on without one.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    if sys.platform == "win32":
        signal.signal(signal.SIGBREAK, stop)
    else:
        signal.signal(signal.SIGHUP, stop if hang_up else signal.SIG_IGN)
