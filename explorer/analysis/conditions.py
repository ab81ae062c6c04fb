"""SQL conditions that pick the rows behind a cell: what drilling down adds to a view, for people to read."""

from __future__ import annotations

import math
from typing import Any

import polars as pl


class NoConditionError(ValueError):
    """There is no condition for this value; the message says why."""


def quoted(column: str) -> str:
    """A column's name as SQL wants it: bare where that is safe."""
    if column.isascii() and column.isidentifier() and column == column.lower() and column not in _WORDS:
        return column
    return '"' + column.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A scalar as SQL text.

    Raises:
        NoConditionError: no scalar, or a number that equals nothing.
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NoConditionError("such a number equals nothing")
        return repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise NoConditionError(f"a value of type {type(value).__name__} cannot be compared in a filter")


def equal(series: pl.Series, row: int) -> str:
    """`column = value` for the value that stands at `row`.

    Raises:
        NoConditionError: the column's type cannot be compared.
    """
    value = series[row]
    column = quoted(series.name)
    if value is None:
        return f"{column} IS NULL"
    dtype = series.dtype
    if dtype in (pl.Categorical, pl.Enum):
        return f"{column} = {literal(str(value))}"
    if dtype in (pl.Datetime, pl.Date, pl.Time) or dtype == pl.Decimal:
        text = series.slice(row, 1).cast(pl.String)[0]
        return f"CAST({column} AS VARCHAR) = {literal(text)}"
    return f"{column} = {literal(value)}"


def between(column: str, low: float, high: float) -> str:
    """`low <= column < high`."""
    return f"{quoted(column)} >= {literal(low)} AND {quoted(column)} < {literal(high)}"


def both(*conditions: str) -> str:
    """All conditions at once."""
    return " AND ".join(condition for condition in conditions if condition)


_WORDS = frozenset(
    """
    all and any as asc between by case cast cross date desc distinct else end except exists false from
    full group having in inner intersect interval is join left like limit natural not null offset on or
    order outer right round select set table then time timestamp true union using values when where with
    """.split()  # noqa: SIM905
)
"""Words that SQL reads as something else than a column."""
