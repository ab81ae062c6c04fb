"""A program in a real pseudo-terminal, and what its screen shows: pty on POSIX, ConPTY (pywinpty) on Windows.

Everything waits on what the screen shows; nothing sleeps for a fixed time.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol

import pyte

ROOT: Final = Path(__file__).resolve().parents[2]
APP: Final = (sys.executable, "-m", "explorer")
KEYS: Final = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "space": " ",
    "ctrl+e": "\x05",
    "ctrl+l": "\x0c",
    "ctrl+p": "\x10",
    "ctrl+u": "\x15",
}
"""What a terminal sends for the keys that are no character."""


class _Line(Protocol):
    """The other end of the program's terminal."""

    def read(self, timeout: float) -> bytes | None:
        """What came within `timeout` seconds; None when the program's end is closed."""

    def write(self, data: bytes) -> None: ...

    def poll(self) -> int | None:
        """Exit code, negative for a signal; None while the program runs."""

    def hang_up(self) -> None:
        """Close the terminal as a lost connection does."""

    def kill(self) -> None: ...

    @property
    def pid(self) -> int: ...


if sys.platform != "win32":

    class _Pseudo:
        """POSIX: the program leads a session of its own whose controlling terminal is the pty."""

        def __init__(
            self,
            command: Sequence[str],
            environment: dict[str, str],
            columns: int,
            lines: int,
            controlling: bool,
        ) -> None:
            import fcntl
            import pty
            import struct
            import termios

            self._master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            self._child = subprocess.Popen(
                command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
                # A hang-up is told to the session whose controlling terminal is lost: make it this one.
                preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if controlling else None,
            )  # fmt: skip
            os.close(slave)
            self._open = True

        @property
        def pid(self) -> int:
            return self._child.pid

        def read(self, timeout: float) -> bytes | None:
            import select

            if not self._open:
                return None
            if not select.select([self._master], [], [], timeout)[0]:
                return b""
            try:
                return os.read(self._master, 1 << 16) or None
            except OSError:  # EIO: nobody has the other end any more.
                return None

        def write(self, data: bytes) -> None:
            os.write(self._master, data)

        def poll(self) -> int | None:
            return self._child.poll()

        def hang_up(self) -> None:
            if self._open:
                self._open = False
                os.close(self._master)

        def kill(self) -> None:
            if self._child.poll() is None:
                self._child.kill()
            self._child.wait(10)

else:

    class _Pseudo:
        """Windows: reads block there, so a thread does them."""

        def __init__(
            self,
            command: Sequence[str],
            environment: dict[str, str],
            columns: int,
            lines: int,
            controlling: bool,  # POSIX only: no signal tells of a closed console here.
        ) -> None:
            import queue
            import threading

            import winpty

            self._child: Any = winpty.PtyProcess.spawn(
                list(command), env=environment, dimensions=(lines, columns)
            )
            self._came: queue.Queue[bytes | None] = queue.Queue()
            threading.Thread(target=self._pump, daemon=True).start()

        def _pump(self) -> None:
            with contextlib.suppress(EOFError, OSError):
                while True:
                    self._came.put(self._child.read(1 << 16).encode())
            self._came.put(None)

        @property
        def pid(self) -> int:
            return int(self._child.pid)

        def read(self, timeout: float) -> bytes | None:
            import queue

            try:
                return self._came.get(timeout=timeout)
            except queue.Empty:
                return b""

        def write(self, data: bytes) -> None:
            self._child.write(data.decode())

        def poll(self) -> int | None:
            return None if self._child.isalive() else int(self._child.exitstatus or 0)

        def hang_up(self) -> None:
            self._child.close(force=True)

        def kill(self) -> None:
            self._child.close(force=True)


def why_not() -> str:
    """Why there are no pseudo-terminals here; empty when there are."""
    if sys.platform == "win32":
        try:
            import winpty

            winpty.PtyProcess.spawn([sys.executable, "-c", ""]).wait()
        except (ImportError, OSError, RuntimeError) as error:
            return f"no pseudo-terminal on this Windows: pywinpty does not work ({error})"
    return ""


class Terminal:
    """The app, or another `command`, in a terminal of `columns` x `lines`; use it in a `with`.

    `controlling`: a closed terminal is told to the program by SIGHUP.
    """

    def __init__(
        self,
        *arguments: str,
        command: Sequence[str] = APP,
        columns: int = 120,
        lines: int = 40,
        controlling: bool = True,
    ) -> None:
        environment = dict(os.environ) | {
            "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONUTF8": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        }  # fmt: skip
        for name in ("NO_COLOR", "COLUMNS", "LINES"):  # These would win over the terminal's own size.
            environment.pop(name, None)
        self._display = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._display)
        self.raw = bytearray()
        """Every byte that came."""
        self.heard = 0.0
        """When the newest of them came, by `time.perf_counter`."""
        self._line: _Line = _Pseudo([*command, *arguments], environment, columns, lines, controlling)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.hang_up()
        self._line.kill()

    @property
    def pid(self) -> int:
        """Process id of the program."""
        return self._line.pid

    @property
    def lines(self) -> list[str]:
        """The screen, row by row, without trailing blanks."""
        return [line.rstrip() for line in self._display.display]

    @property
    def cursor(self) -> tuple[int, int]:
        """(column, row) of the cursor, from 0: it stands in the text field that has the focus."""
        return self._display.cursor.x, self._display.cursor.y

    @property
    def reversed(self) -> str:
        """The characters drawn in reverse: where a list's cursor stands."""
        cells = (row[x] for _, row in sorted(self._display.buffer.items()) for x in sorted(row))
        return "".join(cell.data for cell in cells if cell.reverse)

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)

    def pump(self, timeout: float = 0.0) -> bool:
        """Take in what the program writes, waiting up to `timeout` seconds for it; False once it is gone."""
        data = self._line.read(timeout)
        while data:
            self.heard = time.perf_counter()
            self.raw += data
            self._stream.feed(data)
            data = self._line.read(0)
        return data is not None

    def wait(self, wanted: str | Callable[[str], object], timeout: float = 20.0, gone: bool = False) -> str:
        """Read until the screen holds a text, or until a function of the screen's text is true.

        Args:
            gone: Wait until it is not so any more.

        Returns:
            The screen's text.

        Raises:
            AssertionError: Not within `timeout` seconds, or the program ended before; shows the screen.
        """
        found = wanted if callable(wanted) else lambda text: wanted in text
        deadline = time.monotonic() + timeout
        alive = True
        while bool(found(self.text)) == gone:
            if not alive or time.monotonic() > deadline:
                what = wanted if isinstance(wanted, str) else getattr(wanted, "__doc__", None) or wanted
                how = f"within {timeout} s" if alive else f"before the program ended ({self._line.poll()})"
                raise AssertionError(f"{'still there' if gone else 'not there'} {how}: {what!r}\n{self.text}")
            alive = self.pump(0.05)
        return self.text

    def press(self, *keys: str) -> None:
        """Send keys by name (`KEYS`) or as the character itself."""
        for key in keys:
            self._line.write(KEYS.get(key, key).encode())

    def type(self, text: str) -> None:
        """Send a text as typed."""
        self._line.write(text.encode())

    def hang_up(self) -> None:
        """Close the terminal under the program."""
        self._line.hang_up()

    def exit_code(self, timeout: float = 15.0) -> int:
        """Read on until the program has ended; its exit code, negative for a signal."""
        deadline = time.monotonic() + timeout
        while (code := self._line.poll()) is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"the program did not end within {timeout} s\n{self.text}")
            if not self.pump(0.05):
                time.sleep(0.02)
        while self._line.read(0):  # What was still on the way.
            pass
        return code
