"""The filter line: completes columns and values, tells each change, shows where the text is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from explorer.actions import Acting, Action, bindings

Complete = Callable[[str], str | None]


class _Completion(Suggester):
    def __init__(self, complete: Complete) -> None:
        # What a column holds changes with the data: nothing is cached, case is the completion's affair.
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        return self._complete(value)


class FilterInput(Acting, Input):
    """An input that `tab` completes and `enter`, `down` and `esc` leave."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("filter.complete", "Take the completion", "tab"),
        Action("filter.done", "Keep the filter, back to the table", "enter,down"),
        Action("filter.revert", "Drop what was typed", "escape"),
        Action("filter.clear", "Empty the filter", "ctrl+l"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    class Done(Message):
        """The line is left; `keep` says whether what was typed stays."""

        def __init__(self, keep: bool) -> None:
            self.keep = keep
            super().__init__()

    def action_complete(self) -> None:
        """As the cursor key at the end does."""
        self.cursor_position = len(self.value)
        self.action_cursor_right()

    def action_done(self) -> None:
        self.post_message(self.Done(True))

    def action_revert(self) -> None:
        self.post_message(self.Done(False))

    def action_clear(self) -> None:
        self.value = ""


class FilterLine(Vertical):
    """The input and, only when something is wrong, a line that says what and where."""

    DEFAULT_CSS = """
    FilterLine { height: auto; }
    FilterLine FilterInput { height: 1; border: none; padding: 0 1; background: $boost; }
    FilterLine FilterInput:focus { border: none; background: $panel; }
    FilterLine #filter-fault { height: auto; max-height: 3; padding: 0 1; display: none; color: $text-error; }
    FilterLine.-wrong #filter-fault { display: block; }
    """

    class Changed(Message):
        """The text is another one."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

        def can_replace(self, message: Message) -> bool:
            """Only the newest text counts."""
            return isinstance(message, FilterLine.Changed)

    def __init__(self, complete: Complete) -> None:
        super().__init__(id="filter-line")
        self._complete = complete
        self.fault = ""

    def compose(self) -> ComposeResult:
        """Input and fault."""
        line = FilterInput(
            placeholder="/ filter: draft_device = 'NPU' and speedup < 1, or just words",
            suggester=_Completion(self._complete),
            id="filter",
            select_on_focus=False,
        )
        # A blinking cursor writes to the terminal for as long as the line has the focus.
        line.cursor_blink = False
        yield line
        yield Static(id="filter-fault", markup=False)

    @property
    def input(self) -> Input:
        """The input."""
        return self.query_one("#filter", Input)

    def put(self, text: str) -> None:
        """Set the text without telling."""
        if self.input.value != text:
            with self.input.prevent(Input.Changed):
                self.input.value = text
        self.show_fault("")

    def show_fault(self, message: str, position: int | None = None) -> None:
        """Say what is wrong, and point at the place; an empty message takes it away."""
        self.fault = message
        self.set_class(bool(message), "-wrong")
        if not message:
            return
        text = Text(overflow="fold")
        # The pointer stands under the character as long as the line is not scrolled.
        room = max(1, self.size.width - 3)
        if position is not None and position < room:
            text.append(" " * position + "^ ", Style(bold=True))
            text.append(f"at {position + 1}: {message}")
        else:
            text.append(message if position is None else f"at {position + 1}: {message}")
        self.query_one("#filter-fault", Static).update(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell the screen."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """A line that is left by other ways keeps what it says."""
