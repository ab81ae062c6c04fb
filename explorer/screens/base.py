"""What all places share: a header that says where one is, a footer of keys, panes and their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from explorer import keys
from explorer.actions import Acting, Action, bindings, offers
from explorer.glyphs import Glyphs

if TYPE_CHECKING:
    from explorer.app import SpecdecApp

PLACES = (
    ("define", "1", "Define"),
    ("watch", "2", "Watch"),
    ("explore", "3", "Explore"),
    ("whatif", "w", "What-if"),
)
"""(place, key, title) in the order of the header."""

NARROW = 100
"""Below so many columns one pane is shown at a time."""


class HeaderLine(Widget):
    """One row: the places, the current one in brackets, and the place's status on the right."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "HeaderLine { height: 1; background: $panel; color: $foreground; link-style: none; }"
    status: reactive[str] = reactive("")

    def __init__(self, place: str) -> None:
        super().__init__(id="header-line")
        self._place = place

    def render(self) -> Text:
        keymap = shell_of(self).keymap
        line = Text(no_wrap=True, overflow="ellipsis", end="")
        for place, key, title in PLACES:
            key = keymap.get(f"app.{place}", key)
            here = place == self._place
            label = f"[{key} {title}]" if here else f" {key} {title} "
            click = "app.whatif" if place == "whatif" else f"app.go({place!r})"
            line.append(label, Style(bold=here, reverse=here, meta={"@click": click}))
        room = self.size.width - line.cell_len - 2
        status = Text(self.status, no_wrap=True, end="")
        status.truncate(max(0, room), overflow="ellipsis")
        line.append(" " * max(2, self.size.width - line.cell_len - status.cell_len - 1))
        line.append_text(status)
        return line


class KeyLine(Widget):
    """One row of keys: as many of the footer's actions as fit, help and palette always."""

    ALLOW_SELECT = False
    DEFAULT_CSS = (
        "KeyLine { height: 1; dock: bottom; background: $panel; color: $foreground; link-style: none; }"
    )
    ALWAYS: ClassVar[frozenset[str]] = frozenset({"app.help", "app.palette", "app.leave"})

    def __init__(self) -> None:
        super().__init__(id="key-line")
        self._drawn = Text()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, _: object) -> None:
        if self._line() != self._drawn:
            self.refresh()

    def render(self) -> Text:
        self._drawn = self._line()
        return self._drawn

    def _line(self) -> Text:
        shell = shell_of(self)
        items: list[tuple[bool, str, str, str, bool]] = []
        for offer in offers(self.screen, shell.keymap):
            if offer.action.footer and offer.keys:
                key = shell.show_key(offer.keys.split(",")[0])
                always = offer.action.id in self.ALWAYS
                items.append((always, key, offer.action.footer, offer.action.id, bool(offer.reason)))
        # `sorted` is stable: the fixed keys come last, the others in the order of their nodes.
        items.sort(key=lambda item: item[0])
        room = self.size.width - 1
        fixed = sum(cell_len(f" {key} {word} ") for always, key, word, *_ in items if always)
        line = Text(" ", no_wrap=True, overflow="crop", end="")
        for always, key, word, action, disabled in items:
            width = cell_len(f" {key} {word} ")
            if not always and line.cell_len + width + fixed > room:
                continue
            meta = {"@click": f"app.perform({action!r})"}
            line.append(f" {key}", Style(bold=not disabled, dim=disabled, meta=meta))
            line.append(f" {word} ", Style(dim=disabled, meta=meta))
        return line


class Banner(Widget):
    """A line under the header that stays until it is emptied."""

    DEFAULT_CSS = """
    Banner { height: auto; padding: 0 1; background: $boost; color: $foreground; display: none; }
    Banner.-shown { display: block; }
    """
    text: reactive[str] = reactive("", layout=True)

    def watch_text(self, text: str) -> None:
        self.set_class(bool(text), "-shown")

    def render(self) -> Text:
        return Text(self.text)


class PaneTabs(Widget):
    """In a narrow terminal: the panes' titles, the shown one in brackets."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PaneTabs { height: 1; display: none; color: $foreground; background: $surface; link-style: none; }
    """
    current: reactive[str] = reactive("")

    def __init__(self, panes: Sequence[tuple[str, str]]) -> None:
        super().__init__(id="pane-tabs")
        self._panes = panes

    def render(self) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis", end="")
        for name, title in self._panes:
            here = name == self.current
            style = Style(bold=here, underline=here, meta={"@click": f"screen.show_pane({name!r})"})
            line.append(f"[{title}]" if here else f" {title} ", style)
        return line


def shell_of(node: Widget | Screen[Any]) -> SpecdecApp:
    """The app behind a widget, with its own type."""
    return cast("SpecdecApp", node.app)


class PlaceScreen(Acting, Screen[None]):
    """Base of the places. A place sets `PLACE`, `HELP`, `PANES`, `ACTIONS` and writes `compose_place`.

    Every pane is a widget with one of the ids in `PANES` and the class `pane`. Under 100 columns the
    screen has the class `-narrow` and shows the pane that holds the focus; `g` goes from pane to pane.
    """

    PLACE: ClassVar[str] = ""
    HELP: ClassVar[str] = ""
    """What one does here, in two or three sentences; the head of the help."""
    PANES: ClassVar[tuple[tuple[str, str], ...]] = ()
    """(widget id, title) of the panes in the order in which `g` visits them."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("place.back", "Go back", "escape", "Closes what is open, or leaves a text field."),
        Action("place.next-pane", "Go to the next pane", "g,f6", footer="pane"),
        Action("place.previous-pane", "Go to the previous pane", "G,shift+f6"),
        Action("place.jump", "Go to a pane by its number", "ctrl+o", "Also from within a text field."),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (NARROW, "-medium"),
        (160, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (24, "-tall")]  # noqa: RUF012

    focused: reactive[Widget | None] = reactive(None, repaint=False)
    """As Textual's, without painting the whole screen (11 KB at 120x40) at every change of focus: the widgets
    that lose and gain it paint themselves."""
    status: reactive[str] = reactive("", init=False)
    """Right side of the header: one short line."""
    banner: reactive[str] = reactive("", init=False)
    """A line under the header that stays until it is emptied."""

    @property
    def shell(self) -> SpecdecApp:
        """The app, with its own type."""
        return shell_of(self)

    @property
    def glyphs(self) -> Glyphs:
        """The characters to draw with."""
        return self.shell.glyphs

    @property
    def kept(self) -> dict[str, Any]:
        """This place's part of the session: JSON values that are there again at the next start."""
        return self.shell.session.part(self.PLACE)

    def compose(self) -> ComposeResult:
        yield HeaderLine(self.PLACE)
        yield Banner(id="banner")
        if self.PANES:
            yield PaneTabs(self.PANES)
        yield from self.compose_place()
        yield KeyLine()

    def compose_place(self) -> Iterable[Widget]:
        """The place's own widgets."""
        return ()

    def keep(self) -> None:
        """Called before the session is saved: write into `kept` what should be there next time."""

    def what_if_rows(self) -> Sequence[dict[str, Any]]:
        """The run rows that `w` is to open on: marked ones, else the one under the cursor."""
        return ()

    def watch_status(self, status: str) -> None:
        self._tell(HeaderLine, "status", status)

    def watch_banner(self, banner: str) -> None:
        self._tell(Banner, "text", banner)

    def _tell(self, kind: type[Widget], name: str, value: str) -> None:
        try:
            setattr(self.query_one(kind), name, value)
        except NoMatches:  # Set before the screen was composed: on_mount repeats it.
            return

    def on_mount(self) -> None:
        self.watch_status(self.status)
        self.watch_banner(self.banner)
        if self.PANES:
            self._show(self.PANES[0][0])
        for fault in keys.unknown(self.shell.keymap, self.PLACE):
            self.shell.tell_key_fault(fault)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        names = {name for name, _ in self.PANES}
        for node in event.widget.ancestors_with_self:
            if node.id in names:
                self._show(node.id)
                return

    def _show(self, pane: str) -> None:
        self.query_one(PaneTabs).current = pane
        for name, _ in self.PANES:
            for widget in self.query(f"#{name}"):
                widget.set_class(name == pane, "-current")

    @property
    def pane(self) -> str:
        """Id of the pane that has, or had last, the focus."""
        return self.query_one(PaneTabs).current if self.PANES else ""

    def action_show_pane(self, pane: str) -> None:
        """Show a pane and give the focus to the first widget in it that takes it."""
        # The pane with the focus may be hidden now, and Textual would hand the focus to a pane of its choice;
        # one that was hidden until now takes it only after its layout.
        if not self.query_one(f"#{pane}").is_on_screen:
            self.set_focus(None)
        self._show(pane)
        self.call_after_refresh(self._focus_in, pane)

    def _focus_in(self, pane: str) -> None:
        found = self.query_one(f"#{pane}")
        targets = [found, *found.query("*").results(Widget)]
        target = next((w for w in targets if w.can_focus and w.display and not w.disabled), None)
        if target is not None:
            target.focus()

    def action_next_pane(self, step: int = 1) -> None:
        """From pane to pane, around."""
        names = [name for name, _ in self.PANES]
        if names:
            here = names.index(self.pane) if self.pane in names else 0
            self.action_show_pane(names[(here + step) % len(names)])

    def action_previous_pane(self) -> None:
        """The other way around."""
        self.action_next_pane(-1)

    def action_jump(self) -> None:
        """Asks which pane."""
        from explorer.screens.jump import Jump

        self.app.push_screen(Jump(self.PANES, self.pane), self._jumped)

    def _jumped(self, pane: str | None) -> None:
        if pane is not None:
            # This screen is laid out again first: what is drawn into a hidden pane would be lost.
            self.call_after_refresh(self.action_show_pane, pane)

    def why_not(self, action: str) -> str:
        if action in ("place.next-pane", "place.previous-pane", "place.jump") and len(self.PANES) < 2:
            return "there is one pane only"
        return ""

    def action_back(self) -> None:
        """A text field gives the focus back; a screen on top of another closes."""
        if self.focused is not None and _is_text_field(self.focused):
            self.leave_field()
        elif len(self.app.screen_stack) > 1:
            self.app.pop_screen()

    def leave_field(self) -> None:
        """Where the focus goes when `esc` leaves a text field; a place may send it elsewhere."""
        self.set_focus(None)


def _is_text_field(widget: Widget) -> bool:
    """Told by name: importing the two would cost the first paint."""
    return any(kind.__name__ in ("Input", "TextArea") for kind in type(widget).__mro__)


class Opening(PlaceScreen):
    """Header and keys of a place that is being imported."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def compose(self) -> ComposeResult:
        yield HeaderLine(self._place)
        yield Banner(id="banner")
        yield KeyLine()
