"""A terminal may be gone at any moment: writing to a lost one neither blocks the app nor keeps it open."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Final, cast

if sys.platform == "win32":
    from textual.drivers.windows_driver import WindowsDriver as PlatformDriver
else:
    from textual.drivers.linux_driver import LinuxDriver as PlatformDriver

if TYPE_CHECKING:
    from explorer.app import SpecdecApp

LOOK_S: Final = 1.0
"""How often the terminal is looked at: an idle app writes nothing that could fail."""
HANG_UP: Final = 1
"""Number of SIGHUP, which Windows has no name for."""


class Outlet(io.TextIOBase):
    """What the driver writes to. After the first failure everything is dropped, and `lost` was called once.

    Textual's writer thread ends at the first failed write; its queue then fills, and the app blocks for ever
    on a full one: on a text that nobody will read.
    """

    def __init__(self, file: IO[str], lost: Callable[[], None]) -> None:
        super().__init__()
        self._file, self._lost = file, lost
        self.gone = False

    def write(self, text: str, /) -> int:
        """Write, or drop the text when the terminal is gone; its length either way."""
        self._guarded(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush, unless the terminal is gone."""
        self._guarded(self._file.flush)

    def fileno(self) -> int:
        """Of the terminal itself."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it is (still) a terminal."""
        return not self.gone and self._file.isatty()

    def _guarded(self, write: Callable[[], object]) -> None:
        if self.gone:
            return
        try:
            write()
        except (OSError, ValueError):  # EIO of a closed terminal; ValueError of a closed file.
            self.gone = True
            self._lost()


class Driver(PlatformDriver):
    """The platform's, except that a lost terminal ends the app in order, whether or not a signal says so."""

    def __init__(self, app: SpecdecApp, **options: Any) -> None:
        super().__init__(app, **options)
        self._specdec = app
        self._shown = False
        self._outlet = Outlet(cast("IO[str]", self._file), self._hung_up)
        self._file = cast("Any", self._outlet)
        if sys.platform != "win32":  # A closed console window ends its processes there.
            self._loop.call_later(LOOK_S, self._look)

    def start_application_mode(self) -> None:
        """Take the terminal."""
        self._shown = True
        super().start_application_mode()  # type: ignore[no-untyped-call, unused-ignore]  # POSIX: not annotated.

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        self._shown = False
        super().stop_application_mode()

    def resume_application_mode(self) -> None:
        """Take the terminal again.

        SIGCONT leads here, and a hang-up sends one behind its SIGHUP: without having been suspended, too.
        Starting a second writer and reader beside the first ones would leave these behind.
        """
        if self._shown:
            self._loop.call_soon_threadsafe(self._take_again)
        else:
            super().resume_application_mode()

    def _take_again(self) -> None:
        """After a plain stop and continue a shell has set the terminal's modes: set ours again."""
        if self._shown and self._outlet.isatty():
            self.suspend_application_mode()
            super().resume_application_mode()
            self._app.refresh(layout=True)

    def _look(self) -> None:
        if os.isatty(sys.__stdin__.fileno() if sys.__stdin__ else 0):
            self._loop.call_later(LOOK_S, self._look)
        else:
            self._hung_up()

    def _hung_up(self) -> None:
        from explorer.manners import leave

        self._loop.call_soon_threadsafe(leave, self._specdec, HANG_UP)
