"""A list of lines with a cursor: draws the rows in sight, and repaints two when the cursor moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from explorer.actions import Acting, Action, bindings

Line = tuple[Text, bool]
"""(what to draw, whether the cursor may stand on it)."""


class LineList(Acting, ScrollView, can_focus=True):
    """Shows lines; a subclass or owner acts on `Moved` and `Chosen`."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("lines.up", "Previous line", "up,k", do="line_up"),
        Action("lines.down", "Next line", "down,j", do="line_down"),
        Action("lines.page-up", "Page up", "pageup", do="line_page_up"),
        Action("lines.page-down", "Page down", "pagedown", do="line_page_down"),
        Action("lines.home", "First line", "home", do="line_home"),
        Action("lines.end", "Last line", "end", do="line_end"),
        Action("lines.choose", "Open this line", "enter"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-list--cursor", "line-list--here"}
    DEFAULT_CSS = """
    LineList { background: $background; color: $foreground; overflow-x: hidden; }
    LineList > .line-list--cursor { text-style: reverse; }
    LineList > .line-list--here { background: $boost; text-style: bold; }
    """
    cursor: reactive[int] = reactive(0, repaint=False)

    class Moved(Message):
        """The cursor stands on another line."""

        def __init__(self, sender: LineList, index: int) -> None:
            self.sender = sender
            self.index = index
            super().__init__()

        @property
        def control(self) -> LineList:
            return self.sender

    class Chosen(Moved):
        """Enter, or a click on the line with the cursor."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []

    def show(self, lines: Sequence[Line], cursor: int | None = None) -> None:
        """Replace all lines; the cursor stays at its number if it can."""
        self._lines = list(lines)
        self.virtual_size = Size(0, len(self._lines))
        wanted = self.cursor if cursor is None else cursor
        self.cursor = self._free(min(max(wanted, 0), max(len(self._lines) - 1, 0)), 1)
        self.refresh()

    @property
    def lines(self) -> Sequence[Line]:
        return self._lines

    def _free(self, index: int, step: int) -> int:
        """The line at or after `index` (in the direction of `step`, else the other) that takes the cursor."""
        for direction in (step, -step):
            at = index
            while 0 <= at < len(self._lines):
                if self._lines[at][1]:
                    return at
                at += direction
        return index

    def redraw(self, index: int) -> None:
        """Repaint one line."""
        self.refresh(Region(0, index - int(self.scroll_y), self.size.width, 1))

    def watch_cursor(self, old: int, new: int) -> None:
        self.redraw(old)
        self.redraw(new)
        self.scroll_to_region(Region(0, new, 1, 1), animate=False, spacing=None)
        self.post_message(self.Moved(self, new))

    def on_focus(self) -> None:
        self.redraw(self.cursor)

    def on_blur(self) -> None:
        self.redraw(self.cursor)

    def render_line(self, y: int) -> Strip:
        index = y + int(self.scroll_y)
        width = self.size.width
        if not 0 <= index < len(self._lines):
            return Strip.blank(width, self.rich_style)
        text, takes_cursor = self._lines[index]
        text = self.decorate(index, text.copy())
        text.truncate(width, overflow="ellipsis")
        style = self.rich_style
        if takes_cursor and index == self.cursor:
            name = "line-list--cursor" if self.has_focus else "line-list--here"
            style = self.get_component_rich_style(name)
        segments = [Segment(s.text, style + (s.style or Style())) for s in text.render(self.app.console)]
        return Strip(segments).simplify().adjust_cell_length(width, style)

    def decorate(self, index: int, text: Text) -> Text:
        """A hook for what depends on the cursor."""
        return text

    def _move(self, to: int, step: int) -> None:
        if self._lines:
            self.cursor = self._free(min(max(to, 0), len(self._lines) - 1), step)

    def action_line_up(self) -> None:
        self._move(self.cursor - 1, -1)

    def action_line_down(self) -> None:
        self._move(self.cursor + 1, 1)

    def action_line_page_up(self) -> None:
        self._move(self.cursor - max(self.size.height - 1, 1), -1)

    def action_line_page_down(self) -> None:
        self._move(self.cursor + max(self.size.height - 1, 1), 1)

    def action_line_home(self) -> None:
        self._move(0, 1)

    def action_line_end(self) -> None:
        self._move(len(self._lines) - 1, -1)

    def action_choose(self) -> None:
        if 0 <= self.cursor < len(self._lines) and self._lines[self.cursor][1]:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        index = event.y + int(self.scroll_y)
        if 0 <= index < len(self._lines) and self._lines[index][1]:
            if index == self.cursor:
                self.action_choose()
            self.cursor = index
