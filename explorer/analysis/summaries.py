"""Frequency tables, pivots and descriptions of rows. Each result carries the condition behind every row, so
that drilling down needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from explorer.analysis.cells import ColumnSpec
from explorer.analysis.conditions import NoConditionError, between, both, equal, not_finite
from explorer.analysis.view import Aggregate, How, ViewError
from sweeps.store.pivot import AGGREGATES

WHERE: Final = "__where__"
"""Column with the SQL condition of the rows behind a row."""
NOISY: Final = "__noisy__"
"""Column that says whether noisy rows are among those behind a row."""
HEAD: Final = "__head__"
"""Column that says in which column of a pivot a row goes."""
MANY: Final = 12
"""From so many distinct numbers on, frequency tables and pivots count in bins."""
MOST_COLUMNS: Final = 60
ALL: Final = "all"


@dataclass(frozen=True)
class Summary:
    """A derived table."""

    frame: pl.DataFrame
    specs: dict[str, ColumnSpec] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    columns_where: dict[str, str] = field(default_factory=dict)
    """Column -> the condition that it adds to its row's."""


def aggregate(column: str, how: How) -> pl.Expr:
    """The expression of an aggregate."""
    return AGGREGATES[how](pl.col(column))


def check(frame: pl.DataFrame, aggregates: Sequence[Aggregate]) -> list[Aggregate]:
    """The aggregates that this frame can compute.

    Raises:
        ViewError: one does not fit its column's type.
    """
    found = [each for each in aggregates if each.column in frame.columns]
    for each in found:
        dtype = frame.schema[each.column]
        if each.how != "count" and not (dtype.is_numeric() or dtype == pl.Boolean):
            raise ViewError(f"no {each.how} of {each.column}: it holds no numbers")
    return found


def frequency(frame: pl.DataFrame, column: str, aggregates: Sequence[Aggregate] = ()) -> Summary:
    """How often each value, or each bin of values, occurs.

    Columns: the value, `n`, `percent`, `bar`, one for each aggregate. Words and few numbers are ordered by
    count, bins and numbers by value.

    Raises:
        ViewError: the column cannot be counted.
    """
    wanted = check(frame, aggregates)
    series = frame[column]
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise ViewError(f"values of {column} cannot be counted: {series.dtype}")
    made = [aggregate(each.column, each.how).alias(each.name) for each in wanted]
    made += [pl.col(each.column).count().alias(f"{each.name} n") for each in wanted]
    noise = [_noisy(frame)]
    if series.dtype.is_float():
        # What is not finite is no value to be counted: it goes with the missing ones.
        finite = pl.when(pl.col(column).is_finite()).then(pl.col(column))
        frame = frame.with_columns(finite)
    if series.dtype.is_float() and frame[column].n_unique() > MANY:
        counted = _binned(frame, column, [*made, *noise], not_finite(series))
    else:
        counted = frame.group_by(column, maintain_order=True).agg(pl.len().alias("n"), *made, *noise)
        conditions = [
            not_finite(series) if value is None else _condition(counted[column], row)
            for row, value in enumerate(counted[column].to_list())
        ]
        counted = counted.with_columns(pl.Series(WHERE, conditions, dtype=pl.String))
        by = [column] if series.dtype.is_numeric() else ["n", column]
        counted = counted.sort(by, descending=[name == "n" for name in by], nulls_last=True)
    share = pl.col("n") / max(1, frame.height)
    counted = counted.with_columns(
        (share * 100).alias("percent"), (pl.col("n") / pl.col("n").max()).alias("bar")
    )
    shown = [column, "n", "percent", "bar", *(each.name for each in wanted)]
    specs = {
        column: ColumnSpec(column, max_width=40, flexible=True),
        "percent": ColumnSpec("percent", title="%", decimals=1),
        "bar": ColumnSpec("bar", title="share", kind="bar", min_width=20, max_width=20),
        **{
            each.name: ColumnSpec(each.name, noisy=NOISY, kind="heat", count=f"{each.name} n")
            for each in wanted
        },
    }
    hidden = (NOISY, WHERE, *(f"{each.name} n" for each in wanted))
    return Summary(counted.select(*shown, *hidden), specs, hidden)


def _noisy(frame: pl.DataFrame) -> pl.Expr:
    if "noisy" in frame.columns:
        return pl.col("noisy").cast(pl.Boolean).any().alias(NOISY)
    return pl.lit(False).alias(NOISY)


def bin_width(low: float, high: float, about: int = 10) -> float:
    """A width of 1, 2 or 5 times a power of ten that cuts `low..high` into about `about` bins."""
    raw = (high - low) / about
    if not raw > 0 or not math.isfinite(raw):
        return 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= raw)


def bin_edges(low: float, high: float) -> tuple[list[float], int]:
    """Round edges around `low..high`, and the digits after the point that they need."""
    width = bin_width(low, high)
    digits = max(0, -math.floor(math.log10(width)))
    first, last = math.floor(low / width) - 1, math.floor(high / width) + 2
    edges = [round(number * width, digits) for number in range(first, last + 1)]
    while len(edges) > 2 and edges[1] <= low:
        edges.pop(0)
    while len(edges) > 2 and edges[-2] > high:
        edges.pop()
    return edges, digits


def _binned(frame: pl.DataFrame, column: str, made: Sequence[pl.Expr], missing: str) -> pl.DataFrame:
    """Counts in bins of one width; `missing` is the condition of the rows without a value."""
    place, edges, digits = _bins(frame[column])
    counted = frame.group_by(place.alias("__bin__")).agg(pl.len().alias("n"), *made)
    counted = counted.sort("__bin__", nulls_last=True)
    told = [_bin(column, number, edges, digits, missing) for number in counted["__bin__"].to_list()]
    return counted.with_columns(
        pl.Series(column, [label for label, _ in told], dtype=pl.String),
        pl.Series(WHERE, [condition for _, condition in told]),
    )


def _bins(series: pl.Series) -> tuple[pl.Expr, list[float], int]:
    """The number of each value's bin as an expression, the bins' edges, and the digits that these need."""
    known = series.drop_nulls()
    lowest, highest = known.min(), known.max()
    assert isinstance(lowest, float | int)
    assert isinstance(highest, float | int)
    edges, digits = bin_edges(float(lowest), float(highest))
    # Bins are told by comparing with their edges, as the conditions that lead back to the rows do.
    place = pl.sum_horizontal((pl.col(series.name) >= edge).cast(pl.Int64) for edge in edges)
    return pl.when(pl.col(series.name).is_not_null()).then(place - 1), edges, digits


def _bin(
    column: str, number: int | None, edges: Sequence[float], digits: int, missing: str
) -> tuple[str | None, str]:
    """Label and condition of a bin; without a number those of the rows without a value."""
    if number is None:
        return None, missing
    low, high = edges[number], edges[number + 1]
    return f"{low:.{digits}f} to {high:.{digits}f}", between(column, low, high)


def pivot(
    frame: pl.DataFrame, rows: Sequence[str], across: str, value: Aggregate, total: bool = True
) -> Summary:
    """`value` for each combination of `rows` (down) and value of `across` (columns), with n and shade.

    Args:
        frame: The rows.
        rows: One or more columns.
        across: The column whose values become columns.
        value: What a cell holds; its n is the number of values that are not null.
        total: Add a column over all values of `across`.

    Raises:
        ViewError: it cannot be computed, or has too many columns to be read.
    """
    check(frame, [value])
    missing = [name for name in (*rows, across, value.column) if name not in frame.columns]
    if missing or not rows:
        raise ViewError(f"no column {missing[0]}" if missing else "a pivot needs a key column for its rows")
    if across in rows:
        raise ViewError(f"{across} is a key column: it cannot be the columns too")
    frame, heads, told = _heads(frame, across)
    if len(heads) > MOST_COLUMNS:
        raise ViewError(
            f"{across} has {len(heads)} values: a pivot shows at most {MOST_COLUMNS}, filter first"
        )
    made = [
        aggregate(value.column, value.how).alias("v"),
        pl.col(value.column).count().alias("n"),
        _noisy(frame),
    ]
    groups = frame.group_by([*rows, HEAD], maintain_order=True).agg(made)
    lines = groups.select(rows).unique(maintain_order=True).sort(rows, nulls_last=True)
    specs = {name: ColumnSpec(name, max_width=30, flexible=True, middle=True) for name in rows}
    hidden: list[str] = [WHERE]
    where: dict[str, str] = {}
    parts: list[tuple[str, str, pl.DataFrame, str]] = []
    for place, (label, condition) in enumerate(told):
        name = f"{across}={label}" if label is not None else f"{across} missing"
        part = groups.filter(pl.col(HEAD).eq_missing(heads[place]))
        parts.append((name, "missing" if label is None else label, part, condition))
    if total and len(heads) > 1:
        parts.append((ALL, ALL, frame.group_by(rows).agg(made), ""))
    table = lines
    for name, title, part, condition in parts:
        names = {"v": name, "n": f"{name} n", NOISY: f"{name} noisy"}
        table = table.join(part.select(*rows, *names).rename(names), on=rows, how="left", nulls_equal=True)
        where[name] = condition
        hidden += [f"{name} n", f"{name} shade", f"{name} noisy"]
        specs[name] = ColumnSpec(
            name, title=title, kind="heat", count=f"{name} n", shade=f"{name} shade", noisy=f"{name} noisy",
            about=f"{value.name} where {condition}" if condition else f"{value.name} of all",
        )  # fmt: skip
    table = _shaded(table, [name for name, *_ in parts])
    conditions = [both(*(_condition(table[name], row) for name in rows)) for row in range(table.height)]
    return Summary(
        table.with_columns(pl.Series(WHERE, conditions, dtype=pl.String)), specs, tuple(hidden), where
    )


def _heads(frame: pl.DataFrame, across: str) -> tuple[pl.DataFrame, pl.Series, list[tuple[str | None, str]]]:
    """The rows with a column `HEAD` that says in which column of the pivot each goes, its values in order,
    and label and condition of each. Many numbers with fractions go into bins."""
    series = frame[across]
    if series.dtype.is_float():
        finite = frame.with_columns(pl.when(pl.col(across).is_finite()).then(pl.col(across)))
        if finite[across].n_unique() > MANY:
            place, edges, digits = _bins(finite[across])
            frame = frame.with_columns(finite.select(place.alias(HEAD)))
            heads = frame[HEAD].unique().sort(nulls_last=True)
            missing = not_finite(series)
            return frame, heads, [_bin(across, number, edges, digits, missing) for number in heads.to_list()]
    frame = frame.with_columns(pl.col(across).alias(HEAD))
    heads = series.unique().sort(nulls_last=True)
    labels = [None if head is None else str(head) for head in heads.to_list()]
    return frame, heads, [(label, _condition(heads, place)) for place, label in enumerate(labels)]


def _shaded(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Add 0..1 for every value column, over the finite values of all of them."""
    if not names:
        return table
    values = pl.concat([table[name].cast(pl.Float64).alias("v") for name in names])
    values = values.filter(values.is_finite())
    low, high = values.min(), values.max()
    if not isinstance(low, float) or not isinstance(high, float) or high == low:
        return table.with_columns(pl.lit(None, dtype=pl.Float64).alias(f"{name} shade") for name in names)
    return table.with_columns(
        ((pl.col(name).cast(pl.Float64) - low) / (high - low)).alias(f"{name} shade") for name in names
    )


def describe(frame: pl.DataFrame) -> Summary:
    """One row for each column: type, counts, and where its values lie."""
    rows = []
    for series in frame:
        numeric = series.dtype.is_numeric() or series.dtype == pl.Boolean
        plain = not series.dtype.is_nested() and series.dtype not in (pl.Null, pl.Object, pl.Binary)
        known = series.fill_nan(None).drop_nulls() if series.dtype.is_float() else series.drop_nulls()
        numbers = known.cast(pl.Float64) if numeric else pl.Series([], dtype=pl.Float64)
        rows.append(
            {
                "column": series.name,
                "type": str(series.dtype),
                "n": len(known),
                "missing": len(series) - len(known),
                "distinct": known.n_unique() if plain else None,
                "mean": numbers.mean(),
                "sd": numbers.std(),
                "min": numbers.min(),
                "median": numbers.median(),
                "max": numbers.max(),
                "most frequent": _mode(known) if plain and not numeric and len(known) else None,
            }
        )
    numbers_of = ("mean", "sd", "min", "median", "max")
    floats = dict.fromkeys(numbers_of, pl.Float64)
    table = pl.DataFrame(rows, schema_overrides={**floats, "distinct": pl.Int64, "most frequent": pl.String})
    specs = {name: ColumnSpec(name, kind="general") for name in numbers_of}
    return Summary(table, {**specs, "most frequent": ColumnSpec("most frequent", max_width=40)})


def _mode(known: pl.Series) -> str:
    top = known.value_counts(sort=True).row(0)
    return f"{str(top[0])[:60]} ({top[1]})"


def _condition(series: pl.Series, row: int) -> str:
    """The condition, or one that nothing can be drilled down by."""
    try:
        return equal(series, row)
    except NoConditionError:
        return ""
