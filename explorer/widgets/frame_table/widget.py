"""The widget: draws the visible lines of a `TableModel`, moves a cell cursor over it, says what was chosen.

Bytes decide how it feels over SSH. A line is written as few styled runs as it has styles (mostly one), a move
of the cursor repaints the two lines concerned, scrolling leaves the header alone, nothing reacts to hovering,
and instead of a horizontal scrollbar (a styled run for each of its cells) the header says that there is more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from explorer.actions import Acting, Action, bindings
from explorer.analysis.cells import UNICODE, CellGlyphs, ColumnSpec
from explorer.widgets.frame_table.drawing import GUTTER, SHADES, View, header_line, row_line
from explorer.widgets.frame_table.model import TableModel, Tones


class FrameTable(Acting, ScrollView, can_focus=True):
    """A table over a Polars frame of any size and any types.

    Call `show` with a frame; read `cursor_row`, `cursor_column` and `model`.
    """

    DEFAULT_CSS = """
    FrameTable {
        height: 1fr;
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    FrameTable > .frame-table--header { text-style: bold; color: $foreground; background: $panel; }
    FrameTable > .frame-table--row { background: $surface-lighten-1; }
    FrameTable > .frame-table--cursor { text-style: reverse; }
    FrameTable > .frame-table--marked { text-style: bold; color: $text-accent; }
    FrameTable > .frame-table--bad { color: $text-error; }
    FrameTable > .frame-table--warn { color: $text-warning; }
    FrameTable > .frame-table--dim { color: $text-muted; }
    FrameTable > .frame-table--shade-0 { color: $foreground 60%; }
    FrameTable > .frame-table--shade-1 { color: $foreground 80%; }
    FrameTable > .frame-table--shade-2 { color: $foreground; }
    FrameTable > .frame-table--shade-3 { color: $text-primary; }
    FrameTable > .frame-table--shade-4 { color: $text-primary; text-style: bold; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "frame-table--header",
        "frame-table--row",
        "frame-table--cursor",
        "frame-table--marked",
        "frame-table--bad",
        "frame-table--warn",
        "frame-table--dim",
        *(f"frame-table--shade-{level}" for level in range(SHADES)),
    }

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("table.up", "Row up", "up,k", do="move(-1, 0)"),
        Action("table.down", "Row down", "down,j", do="move(1, 0)"),
        Action("table.left", "Column left", "left,h", do="move(0, -1)"),
        Action("table.right", "Column right", "right,l", do="move(0, 1)"),
        Action("table.page-up", "Page up", "pageup", do="page(-1)"),
        Action("table.page-down", "Page down", "pagedown", do="page(1)"),
        Action("table.first-column", "First column", "home", do="edge_column(-1)"),
        Action("table.last-column", "Last column", "end", do="edge_column(1)"),
        Action("table.first-row", "First row", "ctrl+home", do="edge_row(-1)"),
        Action("table.last-row", "Last row", "ctrl+end", do="edge_row(1)"),
        Action("table.choose", "Open what the cell stands for", "enter"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    cells: reactive[CellGlyphs] = reactive(UNICODE, init=False, repaint=False)
    """Characters that cells are drawn with; set before `show`."""

    @dataclass
    class Moved(Message):
        """The cursor stands on another cell."""

        table: FrameTable
        row: int
        column: str

        @property
        def control(self) -> FrameTable:
            """The table."""
            return self.table

        def can_replace(self, message: Message) -> bool:
            """Only the newest place counts."""
            return isinstance(message, FrameTable.Moved)

    @dataclass
    class Chosen(Message):
        """Enter, or a second click, on a cell."""

        table: FrameTable
        row: int
        column: str

        @property
        def control(self) -> FrameTable:
            """The table."""
            return self.table

    @dataclass
    class HeaderClicked(Message):
        """A click on a column's title."""

        table: FrameTable
        column: str

        @property
        def control(self) -> FrameTable:
            """The table."""
            return self.table

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.model = TableModel(pl.DataFrame())
        self.marked: AbstractSet[int] = frozenset()
        self._row = 0
        self._column = 0
        self._styles_of: dict[str, Style] = {}

    # What is shown

    def show(
        self,
        frame: pl.DataFrame,
        *,
        rows: pl.Series | None = None,
        specs: Mapping[str, ColumnSpec] | None = None,
        hidden: Sequence[str] = (),
        order: Sequence[str] = (),
        frozen: Sequence[str] = (),
        decisive: Sequence[str] = (),
        sorts: Mapping[str, str] | None = None,
        tones: Tones | None = None,
        keep: bool = True,
    ) -> None:
        """Show a frame; see `TableModel` for the arguments.

        Args:
            keep: Keep the cursor on its column, and on its row where the row's identity (place in the same
                frame) is still shown.
        """
        same_frame = frame is self.model.frame
        column = self.cursor_column
        row_id = self.model.row_id(self._row) if keep and same_frame and self.model.height else None
        self.model = TableModel(frame, rows, specs, hidden, order, frozen, decisive, sorts, tones, self.cells)
        at = self.model.index_of(column) if keep and column else None
        self._column = (
            min(self._column, max(0, len(self.model.columns) - 1)) if at is None and keep else at or 0
        )
        position = self.model.position_of(row_id) if row_id is not None else None
        self._row = position or 0
        self._fit()
        self._scroll_to_cursor()
        self.refresh()
        self._tell()

    def set_marked(self, row_ids: AbstractSet[int]) -> None:
        """Mark rows by their place in the frame."""
        self.marked = frozenset(row_ids)
        self.refresh(self._body)

    @property
    def cursor_row(self) -> int:
        """Row of the cursor, counted from the first shown row."""
        return self._row

    @property
    def cursor_column(self) -> str:
        """Name of the cursor's column; empty when there is none."""
        columns = self.model.columns
        return columns[self._column].name if self._column < len(columns) else ""

    @property
    def cursor_value(self) -> Any:
        """Value under the cursor."""
        if not self.model.height or not self.cursor_column:
            return None
        return self.model.value(self._row, self.cursor_column)

    @property
    def cursor_text(self) -> str:
        """Text under the cursor, uncut."""
        if not self.model.height or not self.model.columns:
            return ""
        return self.model.full_text(self._row, self.model.columns[self._column])

    # Moving

    def move_to(self, row: int | None = None, column: str | int | None = None) -> None:
        """Put the cursor on a cell and bring it into view."""
        last_row, last_column = max(0, self.model.height - 1), max(0, len(self.model.columns) - 1)
        if isinstance(column, str):
            column = self.model.index_of(column)
        new_row = self._row if row is None else min(max(0, row), last_row)
        new_column = self._column if column is None else min(max(0, column), last_column)
        if (new_row, new_column) == (self._row, self._column):
            return
        old_row = self._row
        self._row, self._column = new_row, new_column
        if not self._scroll_to_cursor():
            self._refresh_row(old_row)
            self._refresh_row(new_row)
        self._tell()

    def action_move(self, rows: int, columns: int) -> None:
        """Move the cursor by cells."""
        self.move_to(self._row + rows, self._column + columns)

    def action_page(self, pages: int) -> None:
        """Move view and cursor by a page; the cursor keeps its place on the screen."""
        page = max(1, self._page)
        target = min(max(0, self._row + pages * page), max(0, self.model.height - 1))
        if target == self._row:
            return
        old, self._row = self._row, target
        before = self.scroll_offset.y
        self.scroll_to(y=before + pages * page, animate=False, force=True)
        if self.scroll_offset.y == before:
            self._refresh_row(old)
            self._refresh_row(target)
        self._scroll_to_cursor()
        self._tell()

    def action_edge_row(self, direction: int) -> None:
        """First or last row."""
        self.move_to(0 if direction < 0 else self.model.height - 1)

    def action_edge_column(self, direction: int) -> None:
        """First or last column."""
        if direction < 0:
            self.scroll_to(x=0, animate=False, force=True)
        self.move_to(column=0 if direction < 0 else len(self.model.columns) - 1)

    def action_choose(self) -> None:
        """Say that the cell under the cursor was chosen."""
        if self.model.height and self.cursor_column:
            self.post_message(self.Chosen(self, self._row, self.cursor_column))

    # Events

    def on_resize(self) -> None:
        """Lay the columns out for the new width."""
        self._fit()
        self._scroll_to_cursor()
        self.refresh()

    def on_focus(self) -> None:
        """Only the cursor's line looks different with the focus."""
        self._refresh_row(self._row)

    def on_blur(self) -> None:
        """Only the cursor's line looks different with the focus."""
        self._refresh_row(self._row)

    def on_click(self, event: events.Click) -> None:
        """Cursor to the cell; again on the same cell: choose it; on a title: say so."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        column = self._column_at(offset.x)
        if column is None:
            return
        if offset.y == 0:
            self.post_message(self.HeaderClicked(self, self.model.columns[column].name))
            return
        row = self.scroll_offset.y + offset.y - 1
        if row >= self.model.height:
            return
        if (row, column) == (self._row, self._column):
            self.action_choose()
        else:
            self.move_to(row, column)

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.scroll_relative(y=3, animate=False)
        event.stop()
        event.prevent_default()

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.scroll_relative(y=-3, animate=False)
        event.stop()
        event.prevent_default()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Repaint the body only: the title line does not move."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        if round(old_value) != round(new_value):
            self.refresh(self._body)

    def watch_cells(self) -> None:
        """Other characters: measure and draw again."""
        old = self.model
        specs = {column.name: column.spec for column in old.columns}
        hidden = [name for name in old.frame.columns if name not in specs]
        frozen = [column.name for column in old.columns[: old.frozen_count]]
        self.show(old.frame, rows=old.rows, specs=specs, hidden=hidden, order=list(specs), frozen=frozen)

    def notify_style_update(self) -> None:
        """Forget the styles of the old theme."""
        self._styles_of.clear()
        super().notify_style_update()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One line of the visible part: the titles, or a row."""
        model = self.model
        width = self.scrollable_content_region.width
        view = View(self.scroll_offset.x, width, self.scroll_offset.x < self.max_scroll_x)
        if y == 0:
            return header_line(model, view, self._style)
        row = self.scroll_offset.y + y - 1
        if row >= model.height:
            return Strip.blank(width, self.rich_style)
        cursor = self.cursor_column if row == self._row else None
        marked = bool(self.marked) and model.row_id(row) in self.marked
        return row_line(model, view, self._style, row, cursor, self.has_focus, marked)

    def _style(self, *names: str) -> Style:
        """The widget's style with those of the named component classes over it."""
        key = " ".join(names)
        style = self._styles_of.get(key)
        if style is None:
            style = self.rich_style
            for name in names:
                if name:
                    style += self.get_component_rich_style(f"frame-table--{name}", partial=True)
            self._styles_of[key] = style
        return style

    # Geometry

    @property
    def _page(self) -> int:
        return self.scrollable_content_region.height - 1

    @property
    def _body(self) -> Region:
        return Region(0, 1, self.size.width, max(0, self.size.height - 1))

    def _fit(self) -> None:
        available = self.scrollable_content_region.width - GUTTER
        self.model.fit_to(max(0, available))
        self.virtual_size = Size(self.model.width + GUTTER, self.model.height + 1)

    def _refresh_row(self, row: int) -> None:
        y = row - self.scroll_offset.y + 1
        if 1 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def _scroll_to_cursor(self) -> bool:
        """Bring the cursor's cell into view; True when that moved anything."""
        size = self.scrollable_content_region.size
        if not size or not self.model.columns:
            return False
        x, y = self.scroll_offset
        rows = max(1, size.height - 1)
        top = min(max(y, self._row - rows + 1), self._row)
        left = x
        if self._column >= self.model.frozen_count:
            column = self.model.columns[self._column]
            room = size.width - GUTTER - self.model.frozen_width
            start = column.start - self.model.frozen_width
            left = min(max(x, start + column.width - room), start)
        if (left, top) == (x, y):
            return False
        self.scroll_to(left, top, animate=False, force=True)
        return self.scroll_offset != (x, y)

    def _column_at(self, x: int) -> int | None:
        at = x - GUTTER
        if at >= self.model.frozen_width:
            at += self.scroll_offset.x
        return next((number for number, column in enumerate(self.model.columns) if at <= column.end), None)

    def _tell(self) -> None:
        self.post_message(self.Moved(self, self._row, self.cursor_column))
