"""SQL conditions that pick the rows behind a cell: what drilling down adds to a view, for people to read."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import polars as pl


class NoConditionError(ValueError):
    """There is no condition for this value; the message says why."""


@lru_cache(1024)
def quoted(column: str) -> str:
    """A column's name as SQL wants it: bare where SQL reads it as that column."""
    if column.isascii() and column.isidentifier():
        try:
            if pl.sql_expr(f"{column} IS NULL").meta.root_names() == [column]:
                return column
        except pl.exceptions.PolarsError:  # A word of SQL's own.
            pass
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


def not_finite(series: pl.Series) -> str:
    """Missing values; of numbers also those that are not finite, if there are any."""
    column = quoted(series.name)
    missing = f"{column} IS NULL"
    if not series.dtype.is_float() or series.is_finite().all():
        return missing
    # What is infinite or not a number differs from zero when it is taken from itself.
    return f"({missing} OR {column} - {column} <> 0)"


def between(column: str, low: float, high: float) -> str:
    """`low <= column < high`."""
    return f"{quoted(column)} >= {literal(low)} AND {quoted(column)} < {literal(high)}"


def both(*conditions: str) -> str:
    """All conditions at once."""
    return " AND ".join(condition for condition in conditions if condition)
