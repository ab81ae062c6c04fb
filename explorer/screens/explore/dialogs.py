"""What opens on top of Explore: a line to type, a list to pick from, a text to read, a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from explorer.actions import Acting, Action, bindings
from explorer.analysis.charts import KINDS, TITLES, ChartKind, chart, to_text
from explorer.screens.base import shell_of
from explorer.widgets.chart import Chart

if TYPE_CHECKING:
    import polars as pl

_BOX = """
    align: center middle;
    background: $background 60%;
    .box {
        width: 90%; max-width: 90; height: auto; max-height: 90%;
        background: $surface; border: round $primary; padding: 0 1;
    }
"""


class TypeLine(Acting, ModalScreen[str | None]):
    """One line to type. `check` gets the text and returns what is wrong with it, or nothing."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (Action("type.cancel", "Cancel", "escape"),)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = (
        "TypeLine {" + _BOX + "Input, Input:focus { border: none; height: 1; background: $boost; } }"
    )

    def __init__(self, title: str, value: str, about: str, check: Callable[[str], str]) -> None:
        super().__init__()
        self._title, self._value, self._about, self._check = title, value, about, check

    def compose(self) -> ComposeResult:
        """Input, what it means, what is wrong."""
        with Vertical(classes="box") as box:
            box.border_title = self._title
            line = Input(self._value, select_on_focus=False)
            line.cursor_blink = False
            yield line
            yield Static(self._about, markup=False)
            yield Static(id="type-fault", markup=False)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        fault = self._check(event.value)
        if fault:
            self.query_one("#type-fault", Static).update(fault)
        else:
            self.dismiss(event.value)

    def action_cancel(self) -> None:
        self.dismiss(None)


class Pick(Acting, ModalScreen[str | None]):
    """A list of (value, label); enter takes one."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (Action("pick.cancel", "Cancel", "escape,q"),)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = (
        "Pick {" + _BOX + "OptionList, OptionList:focus { border: none; height: auto; max-height: 16; } }"
    )

    def __init__(self, title: str, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._title, self._choices = title, choices

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(classes="box") as box:
            box.border_title = self._title
            yield OptionList(*(Option(Text(label), id=value) for value, label in self._choices))

    @on(OptionList.OptionSelected)
    def _picked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def action_cancel(self) -> None:
        self.dismiss(None)


class Read(Acting, ModalScreen[None]):
    """A text to scroll through and copy."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("read.close", "Close", "escape,enter,q", footer="close"),
        Action("read.copy", "Copy", "y", footer="copy"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    Read { align: center middle; background: $background 60%; }
    Read VerticalScroll {
        width: 96%; height: auto; max-height: 90%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    """

    def __init__(self, title: str, text: str, copied: str = "") -> None:
        super().__init__()
        self._title, self._text, self._copied = title, text, copied or text

    def compose(self) -> ComposeResult:
        """The text."""
        with VerticalScroll() as scroll:
            scroll.border_title = self._title
            scroll.border_subtitle = "y copy, esc close"
            yield Static(self._text, markup=False)

    def on_mount(self) -> None:
        """Arrow keys scroll."""
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        shell_of(self).copy(self._copied, "the text")


class Charts(Acting, ModalScreen[None]):
    """Charts of the same rows; arrow keys go from one kind to the next."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("chart.close", "Close", "escape,g,q", footer="close"),
        Action("chart.next", "Next kind of chart", "right,tab,space", footer="next"),
        Action("chart.previous", "Previous kind of chart", "left,shift+tab"),
        Action("chart.copy", "Copy as text", "y", footer="copy"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    Charts { align: center middle; background: $background; }
    Charts > Vertical { width: 100%; height: 100%; background: $surface; border: round $primary; }
    """

    def __init__(self, rows: pl.DataFrame, kind: ChartKind, ascii_only: bool) -> None:
        super().__init__()
        self._rows, self.kind, self._ascii = rows, kind, ascii_only

    def compose(self) -> ComposeResult:
        """The chart in a frame."""
        with Vertical() as frame:
            frame.border_subtitle = "left/right other charts, y copy, esc close"
            yield Chart(self._ascii)

    def on_mount(self) -> None:
        """Draw the first one."""
        self._show(self.kind)

    def _show(self, kind: ChartKind) -> None:
        self.kind = kind
        self.query_one(Vertical).border_title = f"{TITLES[kind]} ({KINDS.index(kind) + 1} of {len(KINDS)})"
        self.query_one(Chart).show(chart(self._rows, kind))

    def action_next(self) -> None:
        self._show(KINDS[(KINDS.index(self.kind) + 1) % len(KINDS)])

    def action_previous(self) -> None:
        self._show(KINDS[KINDS.index(self.kind) - 1])

    def action_copy(self) -> None:
        text = "\n".join(to_text(chart(self._rows, self.kind), 78))
        shell_of(self).copy(text + "\n", "the chart as text")

    def action_close(self) -> None:
        self.dismiss(None)
