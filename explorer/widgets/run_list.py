"""Runs, one a row, with a cursor: any number of them, for only the rows in sight are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from explorer.actions import Acting, Action, bindings
from explorer.widgets.line_pane import Line, LinePane, Span


class RunList(Acting, LinePane, can_focus=True):
    """A list of `count` rows. `row(index, selected)` makes one of them when it comes in sight."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("list.up", "Previous run", "up,k", do="list_up"),
        Action("list.down", "Next run", "down,j", do="list_down"),
        Action("list.page-up", "A page up", "pageup", do="list_page_up"),
        Action("list.page-down", "A page down", "pagedown", do="list_page_down"),
        Action("list.first", "First run", "ctrl+home", do="list_first"),
        Action("list.last", "Last run", "ctrl+end", do="list_last"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    class Moved(Message):
        """A person moved the cursor."""

        def __init__(self, index: int) -> None:
            self.index = index
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._count = 0
        self._row: Callable[[int, bool], Line] = lambda index, selected: ()
        self.cursor = 0
        self._first = 0

    def show_rows(self, count: int, row: Callable[[int, bool], Line], cursor: int | None = None) -> None:
        """Show `count` rows; `cursor` moves the cursor without a message."""
        self._count, self._row = count, row
        if cursor is not None:
            self.cursor = cursor
        self._paint()

    def on_resize(self) -> None:
        self._paint()

    def _paint(self) -> None:
        height = self.size.height
        self.cursor = max(0, min(self.cursor, self._count - 1))
        # The cursor stays two rows away from the edges, so that one sees what comes next.
        edge = min(2, max(0, (height - 1) // 2))
        first = min(self._first, self.cursor - edge)
        first = max(first, self.cursor - height + 1 + edge)
        self._first = max(0, min(first, self._count - height))
        window = range(self._first, min(self._count, self._first + height))
        self.show_lines(self._content(index) for index in window)

    def _content(self, index: int) -> Line:
        selected = index == self.cursor
        content = self._row(index, selected)
        if not selected:
            return content
        text = "".join(span.text for span in content)
        return (Span(text.ljust(self.size.width), "cursor" if self.has_focus else "strong"),)

    @property
    def visible_rows(self) -> Sequence[int]:
        """Indices of the rows in sight."""
        return range(self._first, min(self._count, self._first + self.size.height))

    def on_focus(self) -> None:
        self._paint()

    def on_blur(self) -> None:
        self._paint()

    def move(self, step: int) -> None:
        """Move the cursor, as a person does."""
        cursor = max(0, min(self.cursor + step, self._count - 1))
        if cursor != self.cursor:
            self.cursor = cursor
            self._paint()
            self.post_message(self.Moved(cursor))

    def action_list_up(self) -> None:
        self.move(-1)

    def action_list_down(self) -> None:
        self.move(1)

    def action_list_page_up(self) -> None:
        self.move(1 - max(2, self.size.height))

    def action_list_page_down(self) -> None:
        self.move(max(2, self.size.height) - 1)

    def action_list_first(self) -> None:
        self.move(-self._count)

    def action_list_last(self) -> None:
        self.move(self._count)

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y - self.content_offset.y
        if 0 <= index < self._count:
            self.move(index - self.cursor)

    def scroll_lines(self, step: int) -> None:
        """The wheel moves the cursor."""
        self.move(step)
