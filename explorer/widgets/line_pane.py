"""Lines of styled text that repaint only what changed: the cheap way to show live values over SSH.

Textual writes a full colour sequence (about 40 bytes) for every stretch of one style, and repaints a
changed line from the widget's left edge to the last changed cell. So lines here are few stretches long,
and what changes often stands in lines of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from explorer.actions import Acting, Action, bindings


class Span(NamedTuple):
    """A stretch of one style: `dim`, `strong`, `good`, `warn`, `bad`, `accepted`, `cursor`; empty: plain."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def line(*parts: str | tuple[str, str]) -> Line:
    """A line from texts and (text, style) pairs; empty texts are left out."""
    spans = (Span(part) if isinstance(part, str) else Span(*part) for part in parts)
    return tuple(span for span in spans if span.text)


def printable(text: str) -> str:
    """`text` without what would move the terminal's cursor or change its state."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char in "\t\n\r" else "\ufffd" for char in text)


def changed_columns(old: Line, new: Line) -> tuple[int, int] | None:
    """First and one past the last cell in which two lines differ; None when they are equal."""
    if old == new:
        return None
    one, other = list(_cells(old)), list(_cells(new))
    longest = max(len(one), len(other))
    blank = (" ", "")
    one += [blank] * (longest - len(one))
    other += [blank] * (longest - len(other))
    differing = [at for at in range(longest) if one[at] != other[at]]
    return (differing[0], differing[-1] + 1) if differing else None


def _cells(content: Line) -> Iterable[tuple[str, str]]:
    for span in content:
        for char in span.text:
            width = cell_len(char)
            for place in range(width):
                yield (char if place == 0 else "", span.style)


class LinePane(Widget, can_focus=False):
    """Shows `lines`, from `top` on. Panes that take the focus scroll with the arrow and page keys."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--dim",
        "lines--strong",
        "lines--good",
        "lines--warn",
        "lines--bad",
        "lines--cursor",
        "lines--accepted",
    }
    DEFAULT_CSS = """
    LinePane {
        color: $foreground;
        .lines--dim { color: $foreground 65%; }
        .lines--strong { text-style: bold; }
        .lines--good { color: $text-success; }
        .lines--warn { color: $text-warning; }
        .lines--bad { color: $text-error; }
        .lines--cursor { text-style: reverse; }
        .lines--accepted { color: $text-accent; text-style: underline; }
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self.top = 0
        """Index of the first line shown."""

    @property
    def lines(self) -> Sequence[Line]:
        """What is shown."""
        return self._lines

    def show_lines(self, lines: Iterable[Line]) -> None:
        """Replace the content; repaints the cells that differ."""
        old, self._lines = self._lines, list(lines)
        before = self.top
        self.top = max(0, min(self.top, len(self._lines) - 1))
        if self.top != before:
            self.refresh()
            return
        height = self.size.height
        for y in range(height):
            at = y + self.top
            columns = changed_columns(
                old[at] if at < len(old) else (), self._lines[at] if at < len(self._lines) else ()
            )
            if columns and columns[0] < self.size.width:
                first, end = columns
                self.refresh(Region(first, y, min(end, self.size.width) - first, 1))

    def render_line(self, y: int) -> Strip:
        at = y + self.top
        content = self._lines[at] if at < len(self._lines) else ()
        base = self.rich_style
        segments = [Segment(printable(span.text), self.style_of(span.style)) for span in content]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def style_of(self, name: str) -> Style:
        """The style behind a span's name."""
        return self.get_component_rich_style(f"lines--{name}") if name else self.rich_style

    # -- scrolling ------------------------------------------------------------------------------------

    def scroll_lines(self, step: int) -> None:
        """Move the window by `step` lines, as far as there are any."""
        top = max(0, min(self.top + step, len(self._lines) - self.size.height))
        if top != self.top:
            self.top = top
            self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-3)


class ScrollPane(Acting, LinePane, can_focus=True):
    """A `LinePane` that takes the focus and the keys that scroll."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("pane.up", "Scroll up", "up,k", do="pane_up"),
        Action("pane.down", "Scroll down", "down,j", do="pane_down"),
        Action("pane.page-up", "Scroll a page up", "pageup", do="pane_page_up"),
        Action("pane.page-down", "Scroll a page down", "pagedown", do="pane_page_down"),
        Action("pane.top", "Scroll to the top", "ctrl+home", do="pane_top"),
        Action("pane.bottom", "Scroll to the bottom", "ctrl+end", do="pane_bottom"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    @property
    def page(self) -> int:
        """Lines that a page key moves."""
        return max(1, self.size.height - 1)

    def action_pane_up(self) -> None:
        self.scroll_lines(-1)

    def action_pane_down(self) -> None:
        self.scroll_lines(1)

    def action_pane_page_up(self) -> None:
        self.scroll_lines(-self.page)

    def action_pane_page_down(self) -> None:
        self.scroll_lines(self.page)

    def action_pane_top(self) -> None:
        self.scroll_lines(-len(self._lines))

    def action_pane_bottom(self) -> None:
        self.scroll_lines(len(self._lines))
