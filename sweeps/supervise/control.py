"""Requests from any terminal, as files in the sweep's control folder."""

from __future__ import annotations

import contextlib
from pathlib import Path

STOP = "stop"
STOP_AFTER_RUN = "stop-after-run"
_SKIP = "skip-"


def request(control: Path, name: str) -> None:
    """Leave a request; asking twice is the same as asking once."""
    control.mkdir(parents=True, exist_ok=True)
    (control / name).touch()


def request_skip(control: Path, run: str) -> None:
    """Ask that a run be skipped, or ended if it is the running one."""
    request(control, _SKIP + run)


class Requests:
    """The supervisor's side: what is asked for now."""

    def __init__(self, control: Path) -> None:
        self._control = control

    def clear(self) -> None:
        """Forget what was asked of a former supervisor."""
        for name in self._names():
            self._drop(name)

    def stop(self) -> bool:
        return (self._control / STOP).exists()

    def stop_after_run(self) -> bool:
        return (self._control / STOP_AFTER_RUN).exists()

    def skip(self, run: str) -> bool:
        return (self._control / (_SKIP + run)).exists()

    def take_skip(self, run: str) -> None:
        self._drop(_SKIP + run)

    def _names(self) -> list[str]:
        return [path.name for path in self._control.iterdir()] if self._control.is_dir() else []

    def _drop(self, name: str) -> None:
        with contextlib.suppress(OSError):
            (self._control / name).unlink()
