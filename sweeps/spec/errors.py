"""What is wrong with a sweep file, as one line: where, what, and what would be right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

import msgspec

PlacePath = tuple[str | int, ...]
"""Keys and indexes from the document's root: `("grid", 0, "draft_device", 2)`."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60


class SpecIssue(msgspec.Struct, frozen=True):
    """One fault of a sweep file. `line` and `column` count from 1 and are None when unknown."""

    message: str
    place: str = ""
    line: int | None = None
    column: int | None = None


class SpecError(ValueError):
    """A sweep that cannot be used. `str()` is one line: `file:line: place: what; what would be right`.

    `issues` holds every fault that was found, the first one included.
    """

    def __init__(
        self,
        message: str,
        place: str = "",
        line: int | None = None,
        column: int | None = None,
        file: str = "",
    ) -> None:
        # All arguments go to the base class, so that the exception survives pickling.
        super().__init__(message, place, line, column, file)
        self.message = one_line(message)
        self.place = one_line(place)
        self.line = line
        self.column = column
        self.file = one_line(file)
        self.issues: tuple[SpecIssue, ...] = (SpecIssue(self.message, self.place, line, column),)

    @classmethod
    def of(cls, issues: Sequence[SpecIssue], file: str = "") -> SpecError:
        """The error for a non-empty list of issues: the first one speaks."""
        first = issues[0]
        error = cls(first.message, first.place, first.line, first.column, file)
        error.issues = tuple(issues)
        return error

    def __str__(self) -> str:
        where = ":".join(part for part in (self.file, str(self.line or "")) if part)
        if not self.file and self.line:
            where = f"line {self.line}"
        return ": ".join(part for part in (where, self.place, self.message) if part)


def one_line(text: str) -> str:
    """`text` with everything that could break the line or the terminal escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(value: object) -> str:
    """A value of the file as a reader would recognise it: short, on one line."""
    if isinstance(value, str):
        text = one_line(value)
        return f'"{text[:_SHOWN]}…"' if len(text) > _SHOWN else f'"{text}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a number beyond 64 bits"
    if isinstance(value, int | float):
        return repr(value)
    return type_name(value)


def type_name(value: object) -> str:
    """The TOML type of a value in plain words."""
    names: tuple[tuple[type, str], ...] = (
        (str, "a text"),
        (bool, "true or false"),
        (int, "a whole number"),
        (float, "a number"),
        (list, "a list"),
        (dict, "a table"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "a date or time")


def place_text(path: PlacePath) -> str:
    """`("grid", 0, "draft_device", 2)` as `grid[0].draft_device[2]`; odd keys stand in quotes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if _BARE_KEY.fullmatch(part) else shown(part)
            text += f".{key}" if text else key
    return text


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is most likely a slip of, or None."""
    by_folded = {item.casefold(): item for item in known}
    found = difflib.get_close_matches(word[:100].casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def suggestion(word: str, known: Sequence[str]) -> str:
    """What to say about an unknown word: the nearest known one, else the known ones."""
    close = nearest(word, known)
    if close is not None:
        return f"did you mean {close}?"
    listed = ", ".join(one_line(item[:_SHOWN]) for item in known[:12])
    return f"known: {listed}" if known else "none is defined"
