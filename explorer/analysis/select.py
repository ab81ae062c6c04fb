"""Which rows of a frame are shown, and in which order: positions, never a copy of the frame.

A million rows of thirty columns take long to gather; the table looks at a few hundred of them at a time, so a
filter or a sort computes positions only.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def select_rows(
    frame: pl.DataFrame, conditions: Sequence[pl.Expr], sorts: Sequence[tuple[str, bool]]
) -> pl.Series | None:
    """Positions of the rows that meet all conditions, sorted; None means all of them as they stand.

    Args:
        frame: The rows.
        conditions: Boolean expressions; null counts as false.
        sorts: (column, descending), the most important first. Nulls come last either way, equal rows keep
            their order.

    Raises:
        polars.exceptions.PolarsError: a condition does not fit the frame.
    """
    if not conditions and not sorts:
        return None
    rows: pl.Series | None = None
    if conditions:
        # A condition without a column (`1 = 1`, `max(speedup) > 2`) is one value: it holds for every row.
        every = pl.all_horizontal(*conditions) & pl.repeat(True, pl.len())
        rows = frame.lazy().select(pl.arg_where(every)).collect().to_series()
    if not sorts:
        return rows
    keys = frame.select(sortable(frame[name]).alias(f"{place}") for place, (name, _) in enumerate(sorts))
    if rows is not None:
        keys = keys[rows]
    by = [pl.col(str(place)) for place in range(len(sorts))]
    descending = [down for _, down in sorts]
    order = keys.select(
        pl.arg_sort_by(by, descending=descending, nulls_last=[True] * len(by), maintain_order=True)
    ).to_series()
    return order if rows is None else rows.gather(order)


def sortable(series: pl.Series) -> pl.Series:
    """A series in an order that people expect, whatever its type: nested values by their text."""
    if isinstance(series.dtype, pl.List | pl.Array):
        return series.list.len() if isinstance(series.dtype, pl.List) else series.arr.to_list().list.len()
    if isinstance(series.dtype, pl.Struct):
        return series.struct.json_encode()
    if series.dtype == pl.Categorical:
        return series.cast(pl.String)
    return series
