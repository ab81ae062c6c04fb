"""`apply(frame, view)`: the table that a view shows of a frame. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from explorer.analysis import columns, summaries
from explorer.analysis.cells import ColumnSpec
from explorer.analysis.conditions import NoConditionError, both, equal
from explorer.analysis.select import select_rows
from explorer.analysis.view import Aggregate, ViewError, ViewState
from sweeps.store.query import MEASURES, compile_filter


@dataclass(frozen=True)
class Shown:
    """What the table widget needs, and where each cell came from."""

    view: ViewState
    frame: pl.DataFrame
    rows: pl.Series | None
    """Positions in `frame`, in order; None: all."""
    specs: dict[str, ColumnSpec] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    total: int = 0
    """Rows before any filter."""
    source_rows: int = 0
    """Rows that the filter left; of a table, those that it shows."""
    columns_where: dict[str, str] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Rows shown."""
        return self.frame.height if self.rows is None else len(self.rows)

    def condition(self, row: int, column: str) -> str:
        """The SQL condition for the rows behind a cell.

        Args:
            row: Position in `frame`.
            column: Name of the cell's column.

        Raises:
            NoConditionError: there is none; says why.
        """
        if self.view.kind == "describe":
            raise NoConditionError("a row here stands for a column of all rows")
        if summaries.WHERE not in self.frame.columns:
            return equal(self.frame[column], row)
        where = self.frame[summaries.WHERE][row]
        if not where:
            raise NoConditionError("the rows behind this one cannot be told by a condition")
        return both(where, self.columns_where.get(column, ""))


def apply(frame: pl.DataFrame, view: ViewState) -> Shown:
    """Compute a view.

    Args:
        frame: All rows of the view's level.
        view: The view.

    Raises:
        ViewError: the view cannot be computed on these rows; one line.
        sweeps.store.query.FilterError: the filter text is wrong; says where.
    """
    conditions = conditions_of(frame, view)
    sorts = [(sort.column, sort.descending) for sort in view.sorts]
    if view.kind == "table":
        try:
            rows = select_rows(frame, conditions, ranking(frame, sorts))
        except pl.exceptions.PolarsError as error:
            raise ViewError(_first_line(error)) from error
        height = frame.height if rows is None else len(rows)
        hidden = columns.default_hidden(frame, view.level) if view.hidden is None else view.hidden
        order = (*view.order, *columns.FIRST[view.level])
        specs = columns.specs(view.level, frame)
        return Shown(view, frame, rows, specs, hidden, order, frame.height, height)
    try:
        source = frame.filter(*conditions) if conditions else frame
        summary = _summary(source, view)
    except pl.exceptions.PolarsError as error:
        raise ViewError(_first_line(error)) from error
    table = summary.frame
    rows = select_rows(table, [], [sort for sort in sorts if sort[0] in table.columns])
    hidden = (*summary.hidden, *(view.hidden or ()))
    specs = _like_the_level(summary.specs, view, frame)
    where = summary.columns_where
    return Shown(view, table, rows, specs, hidden, view.order, frame.height, source.height, where)


def _like_the_level(
    specs: dict[str, ColumnSpec], view: ViewState, frame: pl.DataFrame
) -> dict[str, ColumnSpec]:
    """Titles and digits of a summary's columns as the level itself shows them."""
    known = columns.specs(view.level, frame)
    value = known.get(value_of(view).column)
    found = {}
    for name, spec in specs.items():
        if name in known and view.kind != "describe":
            spec = replace(spec, title=known[name].title, unit=known[name].unit, about=known[name].about)
        elif view.kind == "pivot" and value is not None:
            spec = replace(spec, decimals=value.decimals)
        found[name] = spec
    return found


def ranking(frame: pl.DataFrame, sorts: Sequence[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """The sorts that the frame allows; a ranking by a measure puts noisy rows after all others."""
    known = [sort for sort in sorts if sort[0] in frame.columns]
    if "noisy" in frame.columns and any(name in MEASURES for name, _ in known):
        return [("noisy", False), *known]
    return known


def conditions_of(frame: pl.DataFrame, view: ViewState) -> list[pl.Expr]:
    """The filter and the drilled-down conditions as expressions."""
    found = []
    if view.filter.strip():
        found.append(compile_filter(view.filter, frame.schema))
    for condition in view.within:
        try:
            found.append(pl.sql_expr(condition))
        except pl.exceptions.PolarsError as error:
            raise ViewError(f"{condition}: {_first_line(error)}") from error
    return found


def value_of(view: ViewState) -> Aggregate:
    """What the cells of a pivot hold."""
    return view.aggregates[0] if view.aggregates else Aggregate(columns.VALUE[view.level])


def _summary(source: pl.DataFrame, view: ViewState) -> summaries.Summary:
    if view.kind == "describe":
        return summaries.describe(source)
    if view.kind == "freq":
        if view.by not in source.columns:
            raise ViewError(f"there is no column {view.by} in {view.level}")
        return summaries.frequency(source, view.by, view.aggregates)
    return summaries.pivot(source, view.keys, view.across, value_of(view))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
