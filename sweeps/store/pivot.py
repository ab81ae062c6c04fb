"""Cross tables: a value by rows and columns, with the number of values behind each cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from sweeps.store.query import FilterError, known_columns

AGGREGATES: Final[dict[str, Callable[[pl.Expr], pl.Expr]]] = {
    "mean": lambda x: x.mean(),
    "gmean": lambda x: x.cast(pl.Float64).log().mean().exp(),
    "median": lambda x: x.median(),
    "min": lambda x: x.min(),
    "max": lambda x: x.max(),
    "sum": lambda x: x.sum(),
    "sd": lambda x: x.std(),
    "count": lambda x: x.count(),
    "first": lambda x: x.drop_nulls().first(),
}
"""Name -> aggregate over the values that are there. `gmean` suits ratios; `sd` is the sample's."""

_LABEL, _VALUE, _CELL, _COUNT = "__label", "__value", "__cell", "__count"

_NUMBERS_ONLY: Final = frozenset({"mean", "gmean", "median", "sum", "sd"})


@dataclass(frozen=True)
class Pivot:
    """A cross table. `values` and `counts` have the row columns first, then one column a label of `labels`;
    a cell without any row is null in both, one whose rows have no value is null with count 0."""

    rows: tuple[str, ...]
    labels: tuple[str, ...]
    values: pl.DataFrame
    counts: pl.DataFrame

    def flat(self) -> pl.DataFrame:
        """One frame for files: after each value column `X` a column `X n`."""
        pairs = [column for label in self.labels for column in (label, f"{label} n")]
        counted = self.counts.select(pl.col(label).alias(f"{label} n") for label in self.labels)
        return pl.concat([self.values, counted], how="horizontal").select([*self.rows, *pairs])


def parse_pivot(text: str) -> dict[str, list[str]]:
    """`rows=a,b,cols=c,values=d,agg=mean` -> its parts; each part goes on to the next `name=`.

    Raises:
        FilterError: a part is missing, unknown or given twice.
    """
    parts: dict[str, list[str]] = {}
    for match in re.finditer(r"\s*(\w+)\s*=\s*(.*?)\s*(?:,(?=\s*\w+\s*=)|$)", text):
        name = match[1]
        if name not in ("rows", "cols", "values", "agg"):
            raise FilterError(f"pivot: {name} is none of rows, cols, values, agg", match.start(1))
        if name in parts:
            raise FilterError(f"pivot: {name} is given twice", match.start(1))
        parts[name] = [part.strip() for part in match[2].split(",") if part.strip()]
    for name in ("rows", "values"):
        if not parts.get(name):
            raise FilterError(
                f"pivot: {name}=COLUMN is missing, as in rows=draft,cols=draft_device,values=speedup"
            )
    return parts


def pivot(frame: pl.DataFrame, rows: list[str], cols: list[str], value: str, agg: str = "mean") -> Pivot:
    """Aggregate `value` over the rows of `frame` that share the same `rows` and `cols`.

    Rows and labels come in order of first appearance, numbers in their own order. A label is the text of
    the column's value, ` / ` between several; without `cols` there is one, named after value and aggregate.

    Raises:
        FilterError: a column does not exist, or the aggregate is unknown or makes no sense for the column.
    """
    known_columns([*rows, *cols, value], frame)
    if agg not in AGGREGATES:
        raise FilterError(f"pivot: agg={agg} is none of {', '.join(AGGREGATES)}")
    numeric = frame.schema[value].is_numeric() or frame.schema[value] == pl.Boolean
    if agg in _NUMBERS_ONLY and not numeric:
        raise FilterError(f"pivot: {value} is text, agg={agg} needs numbers (count and first do not)")
    cols = [name for name in cols if name not in rows]
    label = (
        pl.concat_str([_text(name) for name in cols], separator=" / ") if cols else pl.lit(f"{agg} {value}")
    )
    # The value's own name may be an axis as well, so that it is aggregated under another one.
    cells = (
        frame.with_columns(label.alias(_LABEL), pl.col(value).alias(_VALUE))
        .group_by([*rows, *cols, _LABEL], maintain_order=True)
        .agg(
            AGGREGATES[agg](pl.col(_VALUE)).alias(_CELL), pl.col(_VALUE).count().cast(pl.Int64).alias(_COUNT)
        )
    )
    names = _in_order(cells, cols)[_LABEL].unique(maintain_order=True).to_list()
    labels = {name: f"= {name}" if name in rows else name for name in names}
    cells = _in_order(cells, rows)
    values, counts = (_spread(cells, rows, labels, what) for what in (_CELL, _COUNT))
    return Pivot(tuple(rows), tuple(labels.values()), values, counts)


def _in_order(cells: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """Sorted by the axes: numbers by their size, texts by where they came first."""
    keys: list[pl.Series] = []
    for name in axes:
        column = cells[name]
        if not column.dtype.is_numeric():
            first = {value: place for place, value in enumerate(column.unique(maintain_order=True).to_list())}
            column = pl.Series([first[value] for value in column.to_list()], dtype=pl.Int64)
        keys.append(column.alias(f"__key{len(keys)}"))
    if not keys:
        return cells
    names = [key.name for key in keys]
    return cells.with_columns(keys).sort(names, maintain_order=True, nulls_last=True).drop(names)


def _spread(cells: pl.DataFrame, rows: list[str], labels: Mapping[str, str], what: str) -> pl.DataFrame:
    """One column a label; `labels` maps the label to the column's name."""
    wide = [
        pl.col(what).filter(pl.col(_LABEL) == label).first().alias(name) for label, name in labels.items()
    ]
    return cells.group_by(rows, maintain_order=True).agg(wide)


def _text(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).fill_null("none")
