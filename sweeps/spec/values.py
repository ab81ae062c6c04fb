"""Checks of single values: each takes a value of the file and says what is wrong with it, or None."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from sweeps.spec.devices import device_problem
from sweeps.spec.errors import nearest, one_line, shown, suggestion, type_name

Check = Callable[[object], str | None]

LARGEST: Final = 2**31 - 1
"""Largest count or time that a sweep file may hold: what the library's 32-bit options take."""

_RESERVED: Final = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))]
)
_FORBIDDEN: Final = '<>:"/\\|?*'
_LONGEST_NAME: Final = 80


def wrong_type(value: object, wanted: str) -> str:
    """`expected a whole number, got a text ("3")`."""
    what = type_name(value)
    detail = shown(value)
    return f"expected {wanted}, got {what}" + ("" if detail == what else f" ({detail})")


def whole(least: int, most: int = LARGEST) -> Check:
    """A whole number between two ends."""

    def check(value: object) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return wrong_type(value, f"a whole number, {least} or more")
        if value < least:
            return f"{shown(value)} is too small; {least} or more"
        return f"{shown(value)} is too large; at most {most}" if value > most else None

    return check


def number(low: float, high: float = LARGEST, *, open_low: bool = False, open_high: bool = False) -> Check:
    """A finite number between two ends (each end excluded when `open_*` is set)."""
    low_word, high_word = "above" if open_low else "at least", "below" if open_high else "at most"
    wanted = f"{low_word} {low:g} and {high_word} {high:.10g}"

    def check(value: object) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return wrong_type(value, f"a number {wanted}")
        if math.isnan(value):
            return f"nan is no number; a number {wanted}"
        too_low = value <= low if open_low else value < low
        too_high = value >= high if open_high else value > high
        return f"{shown(value)} is out of range; a number {wanted}" if too_low or too_high else None

    return check


def truth(value: object) -> str | None:
    """true or false."""
    return None if isinstance(value, bool) else wrong_type(value, "true or false")


def choice(*words: str) -> Check:
    """One of a few words, in their exact spelling."""
    listed = " or ".join(f'"{word}"' for word in words)

    def check(value: object) -> str | None:
        if not isinstance(value, str):
            return wrong_type(value, listed)
        if value in words:
            return None
        close = nearest(value, words)
        return f"{shown(value)} is unknown; " + (f'did you mean "{close}"?' if close else f"say {listed}")

    return check


def text(value: object) -> str | None:
    """Any text."""
    return None if isinstance(value, str) else wrong_type(value, "a text in quotes")


def filled(value: object) -> str | None:
    """A text that is not blank."""
    if not isinstance(value, str):
        return wrong_type(value, "a text in quotes")
    return None if value.strip() else "is empty; a text is needed"


def device(value: object) -> str | None:
    """The name of a device."""
    return device_problem(value) if isinstance(value, str) else wrong_type(value, 'a device such as "GPU"')


def member(known: list[str] | None, table: str) -> Check:
    """A name that `[table]` defines (any text when the table itself is broken)."""

    def check(value: object) -> str | None:
        if not isinstance(value, str):
            return wrong_type(value, f"a name of [{table}]")
        if known is None or value in known:
            return None
        return f"{shown(value)} is not in [{table}]; {suggestion(value, known)}"

    return check


def label(value: str) -> str | None:
    """What is wrong with the name of a model or a prompt: it stands in tables and on command lines."""
    if not value.strip() or value != value.strip():
        return f"{shown(value)} is no name; a name has no blanks around it and is not empty"
    if not value.isprintable():
        return f"{shown(value)} holds a character that cannot be shown; choose a plain name"
    too_long = len(value) > _LONGEST_NAME
    return f"{shown(value)} is too long; at most {_LONGEST_NAME} characters" if too_long else None


def folder_name(value: object) -> str | None:
    """What keeps a name from being a folder's name on Linux and Windows alike."""
    if not isinstance(value, str):
        return wrong_type(value, "a text in quotes")
    problem = label(value)
    if problem:
        return problem
    bad = next((c for c in value if c in _FORBIDDEN), None)
    if bad:
        return f"{shown(value)} names a folder and cannot hold {bad}; letters, digits, - and _ are safe"
    if value.endswith(".") or value.startswith("."):
        return f"{shown(value)} names a folder and cannot begin or end with a dot"
    if value.split(".")[0].strip().upper() in _RESERVED:
        return f"{shown(value)} is reserved on Windows; choose another name"
    return None


def scalar(value: object) -> str | None:
    """A property's value: a text, a whole number of 64 bits, a finite number, or true/false."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return None if -(2**63) <= value < 2**63 else f"{shown(value)}; a property takes at most 64 bits"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{one_line(repr(value))} is no property's value"
    return None if isinstance(value, str) else wrong_type(value, "a text, a number, or true/false")
