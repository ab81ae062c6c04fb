"""Help made from the bindings that work just now: nothing here is written twice."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from explorer.actions import REGISTRY, Acting, Action, bindings, keys_of, offers
from explorer.screens.base import PlaceScreen, shell_of

Row = tuple[str, str, str]
"""(keys, name, more)."""


def sections(screen: Screen[Any]) -> list[tuple[str, list[Row]]]:
    """(title, rows) of what can be done on this screen, the focused widget's own keys first."""
    shell = shell_of(screen)
    groups: dict[str, list[Row]] = {}
    for offer in offers(screen, shell.keymap):
        keys = " ".join(shell.show_key(key) for key in offer.keys.split(",") if key) or "palette"
        more = f"not now: {offer.reason}" if offer.reason else offer.action.about
        groups.setdefault(_title(offer.node, screen), []).append((keys, offer.action.name, more))
    own: dict[str, list[str]] = {}
    for key, active in screen.active_bindings.items():
        if active.binding.id not in REGISTRY and active.node is screen.focused:
            text = active.binding.description or active.binding.action
            own.setdefault(text, []).append(shell.show_key(key))
    if own and screen.focused is not None:
        rows = [(" ".join(found), text, "") for text, found in own.items()]
        groups.setdefault(_title(screen.focused, screen), []).extend(rows)
    return list(groups.items())


def _title(node: object, screen: Screen[Any]) -> str:
    if node is screen:
        return "This place"
    if isinstance(node, Widget):
        return str(node.border_title or node.name or type(node).__name__)
    return "Everywhere"


def text_of(screen: Screen[Any]) -> Text:
    """The help as one text: what the place is for, then the sections."""
    shell = shell_of(screen)
    found = sections(screen)
    text = Text()
    if isinstance(screen, PlaceScreen) and screen.HELP:
        text.append(screen.HELP.strip() + "\n\n")
    width = max((len(keys) for _, rows in found for keys, *_ in rows), default=0)
    for title, rows in found:
        text.append(title + "\n", Style(bold=True, underline=True))
        for keys, name, more in rows:
            text.append(f"  {keys:<{width}}  ", Style(bold=True))
            text.append(name)
            text.append(f"  {more}\n" if more else "\n", Style(dim=True))
        text.append("\n")
    text.append("Keys can be changed: `specdec paths` names keys.toml. Its lines, as they stand now:\n")
    for name, action in sorted(REGISTRY.items()):
        text.append(f'  "{name}" = "{keys_of(action, shell.keymap)}"\n', Style(dim=True))
    return text


class HelpScreen(Acting, ModalScreen[None]):
    """The help over the screen that it explains."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("help.close", "Close the help", "escape,q,question_mark,f1"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen VerticalScroll {
        width: 90%; max-width: 110; height: 90%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    """

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._text = text_of(about)

    def compose(self) -> ComposeResult:
        box = VerticalScroll(Static(self._text))
        box.border_title = "Help"
        box.border_subtitle = "esc closes"
        yield box

    def action_close(self) -> None:
        self.dismiss()
