"""What opens on top of Watch: a question, the details of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from explorer.actions import Acting, Action, bindings
from explorer.widgets.line_pane import Line, LinePane, ScrollPane, line


class Ask(Acting, ModalScreen[bool]):
    """A question that `y` answers with yes; everything else means no."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("ask.yes", "Yes", "y", footer="yes"),
        Action("ask.no", "No", "n,escape,enter,q", footer="no"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    Ask { align: center middle; background: $background 60%; }
    Ask > LinePane { width: 64; max-width: 100%; height: 5; border: round $warning; background: $surface; }
    """

    def __init__(self, question: str, about: str) -> None:
        super().__init__()
        self._lines = [line((f" {question}", "strong")), line(f" {about}"), line((" y yes   n no", "dim"))]

    def compose(self) -> ComposeResult:
        yield LinePane()

    def on_mount(self) -> None:
        self.query_one(LinePane).show_lines(self._lines)

    def action_yes(self) -> None:
        self.dismiss(True)

    def action_no(self) -> None:
        self.dismiss(False)


class Details(Acting, ModalScreen[None]):
    """Lines to read and scroll, until `esc`."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("details.close", "Close", "escape,enter,q", footer="close"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    Details { align: center middle; background: $background 60%; }
    Details > ScrollPane { width: 90%; height: 90%; border: round $primary; background: $surface; }
    """

    def __init__(self, title: str, lines: Sequence[Line]) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    def compose(self) -> ComposeResult:
        yield ScrollPane()

    def on_mount(self) -> None:
        pane = self.query_one(ScrollPane)
        pane.border_title = self._title
        pane.border_subtitle = "esc closes"
        pane.focus()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.query_one(ScrollPane).show_lines, self._lines)

    def action_close(self) -> None:
        self.dismiss(None)
