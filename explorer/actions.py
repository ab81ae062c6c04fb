"""What a person can do, said once: key bindings, palette, footer and help are all made from this.

A screen or widget lists its `Action`s, makes its bindings from them and says in `why_not` why one of
them cannot be used just now. A disabled action stays visible, and pressing its key tells the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.binding import Binding
from textual.dom import DOMNode

if TYPE_CHECKING:
    from textual.screen import Screen

    _Node = DOMNode
else:
    _Node = object


@dataclass(frozen=True)
class Action:
    """One thing to do. `id` is what keys.toml remaps; it never changes once released."""

    id: str
    """`place.verb`, such as `watch.skip`; unique in the program."""
    name: str
    """What the palette and the help call it: a verb phrase."""
    key: str = ""
    """Key or comma-separated keys; empty: palette only."""
    about: str = ""
    """One sentence more for the help."""
    footer: str = ""
    """One word for the footer; empty: not shown there."""
    do: str = ""
    """Method behind it without `action_`; empty: the id's last part."""
    priority: bool = False
    """Goes before the focused widget's own keys."""

    @property
    def method(self) -> str:
        """Name of the Textual action."""
        return self.do or self.id.rpartition(".")[2].replace("-", "_")

    def binding(self) -> Binding:
        """The Textual binding of an action that has a key."""
        return Binding(
            self.key,
            self.method,
            self.footer or self.name,
            show=bool(self.footer),
            tooltip=self.about,
            id=self.id,
            priority=self.priority,
        )


SHELL: Final = (
    Action(
        "app.define",
        "Go to Define",
        "1",
        "Write and check sweep files, see the plan, start it.",
        do="go('define')",
    ),
    Action("app.watch", "Go to Watch", "2", "Follow a sweep, running or finished.", do="go('watch')"),
    Action(
        "app.explore",
        "Go to Explore",
        "3",
        "Filter, pivot and chart all measurements.",
        do="go('explore')",
    ),
    Action("app.whatif", "What if?", "w", "The cost model on the selected rows."),
    Action("app.demo", "Run the demo sweep", "D", "The bundled models on this machine; it runs on its own."),
    Action("app.help", "Help", "question_mark,f1", "The keys that work here.", footer="help", do="keys_help"),
    Action("app.palette", "All actions", "ctrl+p", footer="palette", do="command_palette", priority=True),
    Action("app.theme", "Change the theme", about="Kept for the next start.", do="change_theme"),
    Action("app.screenshot", "Save a picture of the screen (SVG)"),
    Action("app.leave", "Leave (a running sweep goes on)", "q,ctrl+q", footer="leave", do="quit"),
)
"""What works in every place."""

REGISTRY: Final[dict[str, Action]] = {}
"""Every action of the modules imported so far, by id."""


def bindings(actions: Iterable[Action]) -> list[Binding]:
    """Register actions and make the `BINDINGS` of a screen or widget from them.

    Raises:
        ValueError: Two different actions share an id.
    """
    made: list[Binding] = []
    for action in actions:
        known = REGISTRY.setdefault(action.id, action)
        if known != action:
            raise ValueError(f"two actions are called {action.id}")
        if action.key:
            made.append(action.binding())
    return made


class Acting(_Node):
    """Mixed into a screen, widget or app that has `ACTIONS`; goes before the Textual class."""

    ACTIONS: ClassVar[tuple[Action, ...]] = ()

    @classmethod
    def actions(cls) -> tuple[Action, ...]:
        """Own and inherited actions; an own one replaces an inherited one of the same method."""
        found: dict[str, Action] = {}
        for base in cls.__mro__:
            for action in base.__dict__.get("ACTIONS", ()):
                found.setdefault(action.method, action)
        return tuple(found.values())

    def why_not(self, action: str) -> str:
        """Why the action with this id cannot be used now; empty when it can."""
        return ""

    def reason(self, method: str) -> str:
        """`why_not` by the name of the Textual action."""
        return next((self.why_not(a.id) for a in self.actions() if a.method == method), "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Textual's hook: `None` shows a binding as disabled."""
        return None if self.reason(action) else True


@dataclass(frozen=True)
class Offer:
    """An action as it stands now: who would do it, by which keys, and why not."""

    action: Action
    node: Acting
    keys: str
    reason: str


def keys_of(action: Action, keymap: dict[str, str]) -> str:
    """The keys in force: the person's own, else the built-in ones."""
    return keymap.get(action.id, action.key)


def offers(screen: Screen[Any], keymap: dict[str, str]) -> Iterator[Offer]:
    """Everything that can be done from here: the focused widget's actions first, the app's last."""
    start: DOMNode = screen.focused or screen
    seen: set[str] = set()
    for node in [*start.ancestors_with_self, screen.app]:
        if not isinstance(node, Acting):
            continue
        for action in node.actions():
            if action.id not in seen:
                seen.add(action.id)
                yield Offer(action, node, keys_of(action, keymap), node.why_not(action.id))
