"""Questions: yes or no, and a value that is typed or picked from a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from explorer.actions import Acting, Action, bindings
from explorer.screens.define.listview import LineList

_BOX = """
    align: center middle;
    #box {
        width: 90%; max-width: 96; height: auto; max-height: 90%;
        background: $surface; border: round $primary; padding: 0 1;
    }
"""


class Confirm(Acting, ModalScreen[bool]):
    """One question. Only `y` says yes: an enter that was meant for the dialog before it does no harm."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("confirm.yes", "Yes", "y"),
        Action("confirm.no", "No", "n,escape,enter,q"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = "Confirm {" + _BOX + "}"

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(self._question, markup=False)
            yield Static("y yes   n no", markup=False)

    def action_yes(self) -> None:
        self.dismiss(True)

    def action_no(self) -> None:
        self.dismiss(False)


@dataclass(frozen=True)
class Choice:
    """Something that can be picked."""

    value: str
    about: str = ""


class Ask(Acting, ModalScreen[str | None]):
    """A line to type in, and under it choices: `down` goes to them, enter takes what is marked or typed."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("ask.cancel", "Cancel", "escape"),
        Action("ask.choices", "Go to the choices", "down"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = (
        "Ask {"
        + _BOX
        + """
    Input { background: $boost; }
    #fault { color: $error; height: auto; }
    LineList { height: auto; max-height: 14; background: $surface; }
    }"""
    )

    def __init__(
        self,
        title: str,
        value: str = "",
        hint: str = "",
        choices: Sequence[Choice] = (),
        check: Callable[[str], object] | None = None,
    ) -> None:
        """`check` raises ValueError with what would be right; the dialog stays open then."""
        super().__init__()
        self._title, self._value, self._hint = title, value, hint
        self._choices = choices
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = self._title
            box.border_subtitle = "enter takes it, esc leaves it"
            yield Static(self._hint, markup=False)
            field = Input(self._value, id="value", compact=True)
            field.cursor_blink = False
            yield field
            yield Static("", id="fault", markup=False)
            if self._choices:
                yield LineList(id="choices")

    def on_mount(self) -> None:
        if self._choices:
            self.query_one(LineList).show([(choice_line(choice), True) for choice in self._choices])
        self.query_one(Input).focus()

    def why_not(self, action: str) -> str:
        return "there is nothing to choose from" if action == "ask.choices" and not self._choices else ""

    def action_choices(self) -> None:
        self.query_one(LineList).focus()

    def action_cancel(self) -> None:
        self.dismiss(None)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        self._take(event.value)

    @on(LineList.Chosen)
    def _picked(self, event: LineList.Chosen) -> None:
        event.stop()
        self._take(self._choices[event.index].value)

    def _take(self, value: str) -> None:
        try:
            if self._check is not None:
                self._check(value)
        except ValueError as error:
            self.query_one("#fault", Static).update(Text(str(error)))
            return
        self.dismiss(value)


def choice_line(choice: Choice) -> Text:
    """Value, then what is known of it."""
    line = Text(choice.value, no_wrap=True, end="")
    if choice.about:
        line.append(f"  {choice.about}", Style(dim=True))
    return line
