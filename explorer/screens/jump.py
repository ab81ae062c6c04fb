"""Straight to a pane: its number, from anywhere on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from explorer.actions import Acting, Action, bindings
from explorer.widgets.line_pane import LinePane, line

MOST = 9
"""Panes that a digit can name."""


class Jump(Acting, ModalScreen[str | None]):
    """The panes of a place, numbered; gives the id of the one whose number is pressed, or None."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        *(Action(f"jump.to-{n}", f"Go to pane {n}", str(n), do=f"to({n})") for n in range(1, MOST + 1)),
        Action("jump.close", "Stay here", "escape,q,ctrl+o", footer="stay"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    Jump { align: center middle; background: $background 60%; }
    Jump > LinePane { width: 30; max-width: 100%; border: round $primary; background: $surface; }
    """

    def __init__(self, panes: Sequence[tuple[str, str]], here: str) -> None:
        super().__init__()
        self._panes, self._here = panes[:MOST], here

    def compose(self) -> ComposeResult:
        pane = LinePane()
        pane.border_title, pane.border_subtitle = "Go to", "esc stays"
        pane.styles.height = len(self._panes) + 2
        yield pane

    def on_mount(self) -> None:
        self.call_after_refresh(
            self.query_one(LinePane).show_lines,
            [
                line(f" {number} ", (title, "strong" if name == self._here else ""))
                for number, (name, title) in enumerate(self._panes, 1)
            ],
        )

    def action_to(self, number: int) -> None:
        """A number without a pane does nothing."""
        if number <= len(self._panes):
            self.dismiss(self._panes[number - 1][0])

    def action_close(self) -> None:
        self.dismiss(None)
