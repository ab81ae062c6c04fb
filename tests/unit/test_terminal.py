"""A terminal that is lost while it is written to."""

from __future__ import annotations

import io

import pytest

from explorer.terminal import Outlet


class Line(io.StringIO):
    """Fails from the `fails`-th write on, as a closed pty does."""

    def __init__(self, fails: int, error: Exception) -> None:
        super().__init__()
        self.left, self.error = fails, error

    def write(self, text: str, /) -> int:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return super().write(text)

    def flush(self) -> None:
        if self.left < 0:
            raise self.error

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ValueError("closed file")])
def test_the_first_failed_write_is_told_once_and_the_rest_is_dropped(error: Exception) -> None:
    told: list[int] = []
    line = Line(2, error)
    outlet = Outlet(line, lambda: told.append(1))
    assert outlet.isatty()
    assert [outlet.write(text) for text in ("one", "two", "three", "four!")] == [3, 3, 5, 5]
    outlet.flush()
    assert told == [1]
    assert line.getvalue() == "onetwo"
    assert not outlet.isatty()


def test_a_flush_that_fails_is_a_lost_terminal_too() -> None:
    told: list[int] = []
    line = Line(0, OSError(5, "Input/output error"))
    line.left = -1
    outlet = Outlet(line, lambda: told.append(1))
    outlet.flush()
    outlet.flush()
    assert told == [1]
