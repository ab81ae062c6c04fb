"""Summaries, the way from a cell to the rows behind it, and marks."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from textual import on

from explorer.analysis.apply import conditions_of, value_of
from explorer.analysis.conditions import NoConditionError, both, equal
from explorer.analysis.select import select_rows
from explorer.analysis.view import HOWS, Aggregate, Level, ViewState
from explorer.screens.explore import loading
from explorer.screens.explore.arranging import Arranging
from explorer.screens.explore.dialogs import Pick
from explorer.widgets.frame_table import FrameTable

FINER: Final[dict[Level, Level]] = {"runs": "reps", "reps": "rounds"}
"""Enter on a row of a level opens its rows of the finer one."""


class Drilling(Arranging):
    """Keys that go from rows to summaries and back."""

    def action_frequency(self) -> None:
        self.go_to(self.view.derived("freq", by=self.column))

    def action_pivot(self) -> None:
        keys = tuple(key for key in self.view.keys if key != self.column)
        self.go_to(self.view.derived("pivot", keys=keys, across=self.column))

    def action_describe(self) -> None:
        self.go_to(self.view.derived("describe"))

    def action_aggregate(self) -> None:
        """Ask which; of a summary it is added to the summary itself."""
        column = self.column
        if self.view.kind != "table":
            self.notify("Choose the aggregate in the table (z goes back), then summarise again.")
            return
        chosen = [f"{'* ' if Aggregate(column, how) in self.view.aggregates else '  '}{how}" for how in HOWS]

        def take(how: str | None) -> None:
            found = next((each for each in HOWS if each == how), None)
            if found is not None:
                self.go_to(self.view.toggling_aggregate(Aggregate(column, found)))
                names = ", ".join(each.name for each in self.view.aggregates) or "none"
                self.notify(f"Aggregates: {names}. Pivots show {value_of(self.view).name}.")

        choices = list(zip(HOWS, chosen, strict=True))
        self.app.push_screen(Pick(f"Aggregate of {column}", choices), take)

    def action_equal(self) -> None:
        """Only the rows that hold this cell's value; of a summary, the rows behind it."""
        self._open(equal_only=True)

    def action_open(self) -> None:
        self._open(equal_only=False)

    @on(FrameTable.Chosen)
    def _chosen(self) -> None:
        if not self.why_not("explore.open"):
            self._open(equal_only=False)

    def _open(self, equal_only: bool) -> None:
        shown = self.shown
        if shown is None or not self.table.model.height:
            return
        at = self.table.model.row_id(self.table.cursor_row)
        if self.view.kind == "describe":
            self.go_to(self.view.derived("freq", by=str(shown.frame["column"][at])))
            return
        try:
            if self.view.kind == "table" and not equal_only:
                self._open_finer(at)
            else:
                condition = shown.condition(at, self.column)
                view = self.view if self.view.kind == "table" else self.view.inside(condition)
                within = view.within if condition in view.within else (*view.within, condition)
                self.go_to(replace(view, within=within))
        except NoConditionError as error:
            self.notify(f"{self.column}: {error}.", severity="warning")

    def _open_finer(self, at: int) -> None:
        """The reps of a run, the rounds of a rep."""
        finer = FINER.get(self.view.level)
        frame = self.frames[self.view.level]
        if finer is None:
            self.action_cell()
            return
        names = [name for name in loading.IDENTITY if name in frame.columns]
        self.level_views[self.view.level] = self.view
        condition = both(*(equal(frame[name], at) for name in names))
        self.go_to(ViewState(finer, within=(condition,)))

    def action_cell(self) -> None:
        """Shown by the screen's outputs."""

    # Marks

    def action_mark(self) -> None:
        """Mark or unmark the row; of a summary, all rows behind it."""
        shown, level = self.shown, self.view.level
        if shown is None or not self.table.model.height:
            return
        marked = self.marks.get(level, frozenset())
        at = self.table.model.row_id(self.table.cursor_row)
        if self.view.kind == "table":
            self.marks[level] = marked ^ {at}
            self.table.set_marked(self.marks[level])
            self.table.action_move(1, 0)
        else:
            behind = self._behind(at)
            self.marks[level] = marked - behind if behind <= marked else marked | behind
            self.notify(f"{len(behind):,} rows behind this cell, {len(self.marks[level]):,} marked in all.")
        self.show_status()
        self.refresh_bindings()

    def _behind(self, at: int) -> frozenset[int]:
        assert self.shown is not None
        try:
            view = self.view.inside(self.shown.condition(at, self.column))
        except NoConditionError:
            return frozenset()
        frame = self.frames[view.level]
        rows = select_rows(frame, conditions_of(frame, view), [])
        return frozenset(range(frame.height) if rows is None else rows.to_list())

    def action_unmark(self) -> None:
        self.marks[self.view.level] = frozenset()
        self.table.set_marked(frozenset())
        self.show_status()
        self.refresh_bindings()

    def action_only_marked(self) -> None:
        """The marked rows as a view of their own, by their identities."""
        frame = self.frames[self.view.level]
        wanted = loading.identities(frame, self.marks.get(self.view.level, ()))
        each = [both(*(equal(wanted[name], row) for name in wanted.columns)) for row in range(wanted.height)]
        self.go_to(ViewState(self.view.level, within=(" OR ".join(f"({one})" for one in each),)))
