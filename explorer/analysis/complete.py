"""Completion of a filter as it is typed: column names, and values after a comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from explorer.analysis.conditions import quoted

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
_VALUE: Final = re.compile(
    r"""(?:"(?P<q>[^"]+)"|\b(?P<c>\w+))\s*(?:=|!=|<>|\bIN\s*\((?:[^()]*,)?)\s*'(?P<v>[^']*)$""", re.I
)
KEYWORDS: Final = ("AND", "OR", "NOT", "IS NULL", "IS NOT NULL", "IN (", "LIKE '", "BETWEEN")
MOST_VALUES: Final = 200

Values = Callable[[str], Sequence[str]]


def complete(text: str, columns: Sequence[str], values: Values) -> str | None:
    """The text with its last word completed, or None.

    Args:
        text: The filter up to the cursor.
        columns: Column names, the likelier first.
        values: Column -> its values as texts.
    """
    inside = _VALUE.search(text)
    if inside is not None:
        column, start = inside["q"] or inside["c"], inside["v"]
        name = next((known for known in columns if known.lower() == column.lower()), None)
        found = _first(values(name) if name else (), start)
        return None if found is None else text + found[len(start) :].replace("'", "''") + "'"
    if text.count("'") % 2:
        return None
    word = _WORD.search(text)
    if word is None:
        return None
    start = word.group()
    name = _first(columns, start)
    if name is not None and quoted(name) == name:
        return text + name[len(start) :]
    keyword = _first(KEYWORDS, start)
    return (
        None if keyword is None else text[: word.start()] + (keyword if start.isupper() else keyword.lower())
    )


def values_of(frame: pl.DataFrame, column: str) -> list[str]:
    """The most frequent values of a text column, at most `MOST_VALUES`."""
    if column not in frame.columns or frame.schema[column] not in (pl.String, pl.Categorical, pl.Enum):
        return []
    series = frame[column].head(100_000).drop_nulls().cast(pl.String)
    return series.value_counts(sort=True)[column].head(MOST_VALUES).to_list()


def _first(choices: Sequence[str], start: str) -> str | None:
    """The first choice that goes on from `start`."""
    small = start.lower()
    return next((c for c in choices if c.lower().startswith(small) and len(c) > len(start)), None)
