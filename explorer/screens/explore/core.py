"""Loading, filtering and drawing the current view: what every key of the Explore screen stands on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl
from textual import events, on, work
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from explorer import manners
from explorer.analysis import cells, columns
from explorer.analysis.apply import Shown, apply
from explorer.analysis.complete import complete, values_of
from explorer.analysis.history import History
from explorer.analysis.view import LEVELS, Level, ViewError, ViewState, from_json, to_json
from explorer.screens.base import PlaceScreen
from explorer.screens.explore import loading
from explorer.screens.explore.filterline import FilterInput, FilterLine
from explorer.screens.explore.infoline import InfoLine, describe_cell
from explorer.screens.explore.messages import Loaded, LoadFailed
from explorer.widgets.frame_table import FrameTable
from sweeps.store.query import FilterError

SLOW_ROWS = 20_000
"""From so many rows on, a filter waits for a pause in typing."""


class ExploreCore(PlaceScreen):
    """The tables, the stack of views, and the filter line.

    Args:
        data: Folder of results; None: the default one.
    """

    PLACE: ClassVar[str] = "explore"
    AUTO_FOCUS = "#table"
    DEFAULT_CSS = """
    ExploreCore #trail { height: auto; max-height: 2; padding: 0 1; display: none; background: $surface; }
    """

    def __init__(self, data: str | None = None) -> None:
        super().__init__()
        self.data = data
        self.frames: dict[Level, pl.DataFrame] = {}
        self.history = History()
        self.marks: dict[Level, frozenset[int]] = {}
        self.shown: Shown | None = None
        self.level_views: dict[Level, ViewState] = {}
        self._kept_views: dict[str, ViewState] | None = None
        self._typing: Timer | None = None
        self._before_typing = ViewState()

    # Building and loading

    def compose_place(self) -> Iterable[Widget]:
        """Filter, table, one line about the cell."""
        yield FilterLine(self._complete)
        yield Static(id="trail", markup=False)
        yield FrameTable(id="table", name="The table")
        yield InfoLine()

    def on_mount(self) -> None:
        """Restore the session's views, and read the tables."""
        self.table.cells = cells.ASCII if self.shell.ascii_only else cells.UNICODE
        self._restore()
        self.filter_line.put(self.view.filter)
        self.status = "reading the results"
        self.load(self.view.level)

    def on_screen_resume(self) -> None:
        """Another place may have made new rows."""
        if self.shown is not None:
            self.load(self.view.level)

    @work(thread=True, exclusive=True, group="explore-load", exit_on_error=False)
    def load(self, level: Level) -> None:
        """Read a level beside the app's loop; `Loaded` or `LoadFailed` comes back."""
        worker = get_current_worker()
        try:
            frame = loading.load(level, self.data)
            failed = ""
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            failed = (str(error).splitlines() or [type(error).__name__])[0]
        if worker.is_cancelled:
            return
        self.post_message(LoadFailed(level, failed) if failed else Loaded(level, frame))

    @on(Loaded)
    def _loaded(self, message: Loaded) -> None:
        level, frame = message.level, message.frame
        old = self.frames.get(level)
        if old is not None and old.equals(frame):
            if self.shown is None or self.shown.view.level != self.view.level:
                self.render_view()
            return
        if old is not None:
            marked = loading.identities(old, self.marks.get(level, ()))
            self.marks[level] = loading.positions(frame, marked)
        self.frames[level] = frame
        if level == "runs":
            own = manners.has_results(self.data)
            key = self.shell.show_key(self.shell.keymap.get("app.demo", "D"))
            self.banner = "" if own else manners.NO_RESULTS.format(key=key)
        if level == self.view.level:
            self.render_view()

    @on(LoadFailed)
    def _load_failed(self, message: LoadFailed) -> None:
        self.banner = f"The {message.level} could not be read: {message.reason}"
        self.frames.setdefault(message.level, loading.nothing(message.level))
        self.render_view()

    def _restore(self) -> None:
        """The views of the last session; what is malformed is left out."""
        for level in LEVELS:
            try:
                view = from_json(self.kept.get("views", {}).get(level, {}))
            except (ViewError, AttributeError):
                continue
            if view.level == level:
                self.level_views[level] = view
        left_at = self.kept.get("level", "runs")
        for level, view in self.level_views.items():
            if level == left_at:
                self.history = History()
                self.history.amend(view)

    def keep(self) -> None:
        """Remember the current view of each level."""
        self.level_views[self.view.level] = self.view
        self.kept["level"] = self.view.level
        self.kept["views"] = {level: to_json(view) for level, view in self.level_views.items()}

    # What is shown

    @property
    def table(self) -> FrameTable:
        """The table."""
        return self.query_one(FrameTable)

    @property
    def filter_line(self) -> FilterLine:
        """The filter line."""
        return self.query_one(FilterLine)

    @property
    def view(self) -> ViewState:
        """The current view."""
        return self.history.view

    @property
    def column(self) -> str:
        """The column under the cursor."""
        return self.table.cursor_column

    def go_to(self, view: ViewState) -> None:
        """Show a view on top of the stack; one that cannot be shown says why and changes nothing."""
        fault = self.fault(view)
        if fault:
            self.notify(fault, severity="warning")
            return
        self.history.note(self.table.cursor_row, self.column)
        if self.history.push(view):
            same = self.shown is not None and (self.shown.view.kind, self.shown.view.level) == (
                view.kind,
                view.level,
            )
            self.filter_line.put(view.filter)
            self.render_view(keep=same)

    def fault(self, view: ViewState) -> str:
        """Why a view cannot be shown, or nothing."""
        frame = self.frames.get(view.level)
        if frame is None:  # Not read yet: it is computed when it arrives.
            return ""
        try:
            apply(frame, view)
        except (ViewError, FilterError) as error:
            return str(error)
        return ""

    def render_view(self, keep: bool = True) -> bool:
        """Compute and draw the current view; False, and the last good one stays, when its filter is wrong."""
        view = self.view
        frame = self.frames.get(view.level)
        if frame is None:
            self.status = f"reading the {view.level}"
            self.load(view.level)
            return False
        fault: ViewError | FilterError | None = None
        try:
            shown = apply(frame, view)
        except (ViewError, FilterError) as error:
            fault = error
            self._tell_fault(error)
            if self.shown is not None and self.shown.view.level == view.level:
                return False
            # There is no last good one: all rows stand under the fault.
            shown = apply(frame, ViewState(view.level))
        else:
            self.filter_line.show_fault("")
        self.shown = shown
        glyphs = self.table.cells
        sorts = {sort.column: glyphs.down if sort.descending else glyphs.up for sort in view.sorts}
        plain = shown.view.kind == "table"
        self.table.marked = self.marks.get(view.level, frozenset()) if plain else frozenset()
        self.table.show(
            shown.frame,
            rows=shown.rows,
            specs=shown.specs,
            hidden=shown.hidden,
            order=shown.order,
            frozen=view.keys,
            decisive=columns.DECISIVE[view.level] if plain else (),
            sorts=sorts,
            tones=columns.tones if plain else None,
            keep=keep,
        )
        self.show_status()
        self.refresh_bindings()
        return fault is None

    def _tell_fault(self, error: ViewError | FilterError) -> None:
        if isinstance(error, FilterError):
            self.filter_line.show_fault(str(error), error.position)
        else:
            self.notify(str(error), severity="warning")

    def show_status(self) -> None:
        """`3 of 9 rows in 2, 2 marked: runs by draft_device`, and the trail when there is one."""
        if self.shown is None:
            return
        shown = self.shown
        words = f"{shown.source_rows:,} of {shown.total:,} rows"
        if shown.view.kind != "table":
            words += f" in {shown.height:,}"
        marked = len(self.marks.get(shown.view.level, ()))
        if marked:
            words += f", {marked:,} marked"
        self.status = f"{words}: {shown.view.title}"
        trail = self.query_one("#trail", Static)
        trail.display = bool(shown.view.trail)
        trail.update(f"within {shown.view.trail}")

    @on(FrameTable.Moved)
    def _moved(self) -> None:
        self.query_one(InfoLine).text = describe_cell(self.table, self.shown)
        self.refresh_bindings()

    # Filtering

    def _complete(self, text: str) -> str | None:
        frame = self.frames.get(self.view.level)
        if frame is None:
            return None
        first = columns.FIRST[self.view.level]
        names = list(dict.fromkeys([*(name for name in first if name in frame.columns), *frame.columns]))
        return complete(text, names, lambda column: values_of(frame, column))

    @on(FilterLine.Changed)
    def _typed(self, message: FilterLine.Changed) -> None:
        if self._typing is not None:
            self._typing.stop()
        frame = self.frames.get(self.view.level)
        if frame is not None and frame.height > SLOW_ROWS:
            self._typing = self.set_timer(0.2, lambda: self._preview(message.text))
        else:
            self._preview(message.text)

    def _preview(self, text: str) -> None:
        self.history.amend(replace(self.view, filter=text))
        column = self._begun_column(text)
        if column:
            hint = f"{column} is a column: go on with =, <, >, IN, LIKE or IS NULL"
            self.filter_line.show_fault(hint, len(text))
        else:
            self.render_view()

    def _begun_column(self, text: str) -> str:
        """The column whose name is being typed first, unless some row holds that word.

        A lone word searches the texts: without this the table would be empty while a condition is begun.
        """
        frame = self.frames.get(self.view.level)
        word = text.strip()
        if frame is None or len(word) < 2 or not word.isidentifier():
            return ""
        column = next((name for name in frame.columns if name.startswith(word.lower())), "")
        if not column or self.fault(self.view) or apply(frame, self.view).source_rows:
            return ""
        return column

    @on(FilterInput.Done)
    def _filter_done(self, message: FilterInput.Done) -> None:
        message.stop()
        if message.keep and self.fault(replace(self._before_typing, filter=self.filter_line.input.value)):
            self.notify("The filter is not understood yet: mend it, or esc drops it.", severity="warning")
            return
        self._commit_filter(message.keep)
        self.table.focus()

    @on(events.DescendantFocus, "#filter")
    def _filter_entered(self) -> None:
        self._before_typing = self.view

    @on(events.DescendantBlur, "#filter")
    def _filter_left(self) -> None:
        if self.filter_line.input.value != self._before_typing.filter:
            self._commit_filter(True)

    def _commit_filter(self, keep: bool) -> None:
        """What was typed becomes one step of the stack; wrong text falls back to the last good one."""
        if self._typing is not None:
            self._typing.stop()
        typed, before = self.filter_line.input.value, self._before_typing
        wanted = replace(before, filter=typed) if keep else before
        if keep and self.fault(wanted):
            self.notify("The filter is not understood: the last good one stays.", severity="warning")
            wanted = replace(before, filter=self.shown.view.filter if self.shown else before.filter)
        changed = self.view != wanted or typed != wanted.filter
        self.history.amend(before)
        self.history.push(wanted)
        self._before_typing = wanted
        if changed:
            self.filter_line.put(wanted.filter)
            self.render_view()

    def action_filter(self) -> None:
        self.filter_line.input.focus()

    def leave_field(self) -> None:
        """From the filter back to the table."""
        self.table.focus()

    def show_rows(self, where: str) -> None:
        """Show the run rows that a filter lets through (asked for by another place)."""
        self.go_to(ViewState(filter=where))

    # For the cost model

    def what_if_rows(self) -> Sequence[dict[str, Any]]:
        """Marked run rows, else the one under the cursor."""
        if self.shown is None or self.view.level != "runs":
            return ()
        return tuple(self.chosen_rows().to_dicts())

    def chosen_rows(self) -> pl.DataFrame:
        """Marked rows of this level; without marks, of a table the one under the cursor."""
        frame = self.frames.get(self.view.level, pl.DataFrame())
        marked = self.marks.get(self.view.level, frozenset())
        if marked:
            return frame[sorted(marked)]
        if self.shown is None or self.view.kind != "table" or not self.shown.height:
            return frame.head(0)
        return frame[[self.table.model.row_id(self.table.cursor_row)]]
