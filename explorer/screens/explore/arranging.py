"""Sorting, hiding, moving and freezing columns; levels; back and forth. Each key makes a new view."""

from __future__ import annotations

from dataclasses import replace

from textual import on

from explorer.analysis.export import visible_columns
from explorer.analysis.view import LEVELS, Sort, ViewState
from explorer.screens.explore.core import ExploreCore
from explorer.widgets.frame_table import FrameTable


class Arranging(ExploreCore):
    """Keys that change how the same rows are shown."""

    @on(FrameTable.HeaderClicked)
    def _header(self, message: FrameTable.HeaderClicked) -> None:
        self.table.move_to(column=message.column)
        self.action_sort_down()

    def action_sort_up(self) -> None:
        self.go_to(self.view.sorted_by(self.column, False))

    def action_sort_down(self) -> None:
        self.go_to(self.view.sorted_by(self.column, True))

    def action_sort_also(self) -> None:
        """Up, then down, then not at all."""
        view, column = self.view, self.column
        if Sort(column, True) in view.sorts:
            self.go_to(view.sorted_by(column, True, also=True))
        else:
            self.go_to(view.sorted_by(column, Sort(column) in view.sorts, also=True))

    def action_hide(self) -> None:
        if self.shown is not None:
            defaults = self.shown.hidden if self.view.kind == "table" else ()
            self.go_to(self.view.hiding(self.column, defaults))

    def action_show_all(self) -> None:
        """Everything; when nothing is hidden, what the level shows by default."""
        self.go_to(replace(self.view, hidden=None if self.view.hidden == () else ()))

    def action_move_left(self) -> None:
        self._move(-1)

    def action_move_right(self) -> None:
        self._move(1)

    def _move(self, step: int) -> None:
        if self.shown is None:
            return
        names = visible_columns(self.shown)
        if self.column not in names:
            return
        at = names.index(self.column)
        to = min(max(0, at + step), len(names) - 1)
        names.insert(to, names.pop(at))
        keys = tuple(name for name in names if name in self.view.keys)
        self.go_to(replace(self.view, order=tuple(names), keys=keys))

    def action_key(self) -> None:
        if self.view.kind == "pivot":
            self.notify("A pivot's key columns are its rows: go back (z) to choose others.")
            return
        self.go_to(self.view.toggling_key(self.column))

    def action_level(self) -> None:
        self._to_level(1)

    def action_level_back(self) -> None:
        self._to_level(-1)

    def _to_level(self, step: int) -> None:
        """The next level as it was left; the first time the filter goes along, if it can."""
        level = LEVELS[(LEVELS.index(self.view.level) + step) % len(LEVELS)]
        self.level_views[self.view.level] = self.view
        view = self.level_views.get(level)
        if view is None:
            view = ViewState(level, filter=self.view.filter, within=self.view.within)
            if level not in self.frames or self.fault(view):
                view = ViewState(level)
        self.go_to(view)

    def action_undo(self) -> None:
        self._step(self.history.undo)

    def action_redo(self) -> None:
        self._step(self.history.redo)

    def _step(self, step: object) -> None:
        assert callable(step)
        self.history.note(self.table.cursor_row, self.column)
        if step():
            self.filter_line.put(self.view.filter)
            entry = self.history.current
            if self.render_view(keep=False):
                self.table.move_to(entry.row, entry.column or None)

    def action_reset(self) -> None:
        """All rows in the first order; one step, so that undo brings the view back."""
        self.go_to(ViewState(self.view.level))

    def action_reload(self) -> None:
        self.load(self.view.level)
