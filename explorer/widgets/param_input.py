"""One parameter in one line: stepped with the arrow keys, or typed over."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events
from textual.binding import BindingType
from textual.message import Message

from explorer.actions import Acting, Action, bindings
from explorer.widgets.line_pane import Line, LinePane, Span

LABEL: Final = 16
TYPED: Final = frozenset("0123456789.,-")
FAST: Final = 10


class ParamInput(Acting, LinePane, can_focus=True):
    """Shows a label and a line that the owner makes; tells what a person wants with it.

    Args:
        name: What the messages carry.
        label: In front of the value.
        typed: A value can be typed; without it the steps choose among what the owner has.
    """

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("param.less", "Less, or the choice before", "left,h", footer="less", do="param_less"),
        Action("param.more", "More, or the next choice", "right,l", footer="more", do="param_more"),
        Action("param.much-less", "Ten steps less", "shift+left,pagedown,H", do="param_much_less"),
        Action("param.much-more", "Ten steps more", "shift+right,pageup,L", do="param_much_more"),
        Action("param.previous", "Previous parameter", "up,k", do="param_previous"),
        Action("param.next", "Next parameter", "down,j,enter", do="param_next"),
        Action("param.clear", "This parameter as it was", "backspace,delete,x", do="param_clear"),
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = "ParamInput { height: 1; }"

    class Changed(Message):
        """Base of what a person asks for; `name` says of which parameter."""

        def __init__(self, name: str) -> None:
            self.name = name
            super().__init__()

    class Stepped(Changed):
        """So many steps more (or less)."""

        def __init__(self, name: str, steps: int) -> None:
            self.steps = steps
            super().__init__(name)

    class Typed(Changed):
        """A value was typed and entered; the owner says what is wrong with it by `fault`."""

        def __init__(self, name: str, text: str) -> None:
            self.text = text
            super().__init__(name)

    class Cleared(Changed):
        """Back to the value that it had."""

    class Entered(Changed):
        """The parameter has the focus now."""

    def __init__(self, name: str, label: str, typed: bool = True) -> None:
        super().__init__(id=f"param-{name.replace('_', '-')}")
        self.param, self._label, self._typable = name, label, typed
        self._line: Line = ()
        self.typing: str | None = None
        """What has been typed so far; None: nothing."""

    def show(self, content: Line) -> None:
        """Draw this behind the label."""
        self._line = content
        self._paint()

    def _paint(self) -> None:
        here = self.has_focus
        label = Span(f" {self._label:<{LABEL - 1}}", "cursor" if here else "")
        if self.typing is not None:
            self.show_lines(
                [(label, Span(f"{self.typing + '_':>8}", "strong"), Span("  enter takes it", "dim"))]
            )
        else:
            self.show_lines([(label, *self._line)])

    def on_focus(self) -> None:
        """Mark the line."""
        self._paint()
        self.post_message(self.Entered(self.param))

    def on_blur(self) -> None:
        """What was typed and not entered is dropped."""
        self.typing = None
        self._paint()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Digits are typed here, they do not lead elsewhere."""
        return self._typable and character is not None and character in TYPED

    def on_key(self, event: events.Key) -> None:
        """Keys that come in one burst with an arrow are still sent here: they belong to the new focus."""
        focused = self.screen.focused
        (focused if isinstance(focused, ParamInput) else self).type_key(event)

    def type_key(self, event: events.Key) -> None:
        """Typing: digits, backspace, enter takes it, escape drops it."""
        if self._typable and event.character is not None and event.character in TYPED:
            self.typing = (self.typing or "") + event.character
        elif self.typing is None:
            return
        elif event.key == "backspace":
            self.typing = self.typing[:-1] or None
        elif event.key == "enter":
            self.post_message(self.Typed(self.param, self.typing))
            self.typing = None
        elif event.key == "escape":
            self.typing = None
        else:
            return
        event.stop()
        event.prevent_default()
        self._paint()

    def why_not(self, action: str) -> str:
        if not self._typable and action in ("param.much-less", "param.much-more"):
            return "this is a choice"
        return ""

    def _step(self, steps: int) -> None:
        self.typing = None
        self.post_message(self.Stepped(self.param, steps))

    def action_param_less(self) -> None:
        self._step(-1)

    def action_param_more(self) -> None:
        self._step(1)

    def action_param_much_less(self) -> None:
        self._step(-FAST)

    def action_param_much_more(self) -> None:
        self._step(FAST)

    def action_param_previous(self) -> None:
        self.screen.focus_previous(ParamInput)

    def action_param_next(self) -> None:
        self.screen.focus_next(ParamInput)

    def action_param_clear(self) -> None:
        self.post_message(self.Cleared(self.param))
