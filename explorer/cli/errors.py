"""The one exception that commands raise for what the user can put right, how it points at a place, and what
is said of a journal that cannot be read whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sweeps.store.query import FilterError


class Problem(Exception):
    """One clear line (what, where, what would be right) and an exit code."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def pointed(option: str, text: str, error: FilterError) -> str:
    """The message, and the text from the offending place on."""
    if error.position is None:
        return f"{option}: {error}"
    rest = text[error.position :].split("\n")[0]
    place = f"at {rest[:30]!r}" if rest else "at the end"
    return f"{option}: {error} ({place}, character {error.position + 1})"


def say_damage(damage: Mapping[str, int]) -> None:
    """On stderr, so that a table stays one: sweep folder -> lines of its journal that cannot be read."""
    for folder, lines in damage.items():
        what = "1 line" if lines == 1 else f"{lines} lines"
        click.echo(
            f"{folder}: {what} of journal.jsonl cannot be read; what stood there is not in the table",
            err=True,
        )
