"""The shell around the places: modes, bindings, palette, themes, session. Places are imported when shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen

from explorer import glyphs, keys, manners, messages, places, session
from explorer.actions import SHELL, Acting, bindings, offers
from explorer.keyorder import KeysInOrder
from explorer.palette import Actions
from explorer.screens.base import Opening, PlaceScreen
from explorer.styles import THEMES


class SpecdecApp(Acting, KeysInOrder):
    """One instance a process. `data` is the folder of results, `sweep` what Watch attaches to."""

    TITLE = "specdec"
    CSS_PATH = "styles/shell.tcss"
    COMMANDS: ClassVar[set[Any]] = {Actions}
    ACTIONS = SHELL
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(SHELL)]

    def __init__(
        self,
        data: str | None = None,
        ascii_only: bool = False,
        place: str | None = None,
        sweep: str | None = None,
    ) -> None:
        self.ascii_filter: LineFilter | None = None
        super().__init__()
        self.animation_level = "none"
        self.data, self.sweep = data, sweep
        self.ascii_only = ascii_only
        self.glyphs = glyphs.table(ascii_only)
        if ascii_only:
            from explorer.asciifilter import AsciiFilter

            self.ascii_filter = AsciiFilter()
        self.session = session.load()
        self.keymap, self._key_faults = keys.load()
        self._told_faults: set[str] = set()
        self.set_keymap(self.keymap)
        self._first = self.session.place = place or manners.first_place(self.session, data)
        for theme in THEMES:
            self.register_theme(theme)
        for name in places.MODES:
            self.add_mode(name, partial(places.make, name, self))

    def get_driver_class(self) -> type[Driver]:
        """One that outlives its terminal."""
        from explorer.terminal import Driver

        return Driver

    def get_default_screen(self) -> Screen[Any]:
        """Header and keys of the first place: painted before that place is imported."""
        return Opening(self._first)

    def on_mount(self) -> None:
        """Choose the theme, listen for signals, open the first place after the first paint."""
        self.theme = self.session.theme if self.session.theme in self.available_themes else "specdec"
        manners.leave_on_signals(self)
        if self.is_headless:  # Nobody waits for a first paint, and tests expect the place at once.
            self._open_first()
        else:
            self.call_after_refresh(self._open_first)

    def _open_first(self) -> None:
        if self.current_mode not in places.MODES:  # Else a key was quicker than the first place.
            self.action_go(self._first)
        manners.greet(self)
        for fault in self._key_faults:
            self.tell_key_fault(fault)

    def tell_key_fault(self, fault: str) -> None:
        """Say what is wrong with keys.toml, once: ids of the app are looked at by every place."""
        if fault not in self._told_faults:
            self._told_faults.add(fault)
            self.notify(fault, title="keys.toml", severity="warning", timeout=10)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters (NO_COLOR, ANSI) and ours for `--ascii`."""
        found = super().get_line_filters()
        return found if self.ascii_filter is None else [*found, self.ascii_filter]

    def action_go(self, place: str) -> None:
        """Show a place; what lies on top of it (What-if) is closed when one is there already."""
        self.save_session(place)
        while self.current_mode == place and len(self.screen_stack) > 1:
            self.pop_screen()
        self.switch_mode(place)

    def action_whatif(self) -> None:
        """On what the current place has selected; on a second `w` nothing more opens."""
        screen = self.screen
        if isinstance(screen, PlaceScreen) and screen.PLACE != "whatif":
            self.push_screen(places.what_if(screen.what_if_rows()))

    def on_ask_what_if(self, message: messages.AskWhatIf) -> None:
        self.push_screen(places.what_if(message.rows))

    def action_demo(self) -> None:
        manners.start_demo(self)

    def on_show_sweep(self, message: messages.ShowSweep) -> None:
        self.sweep = str(message.folder)
        self.action_go("watch")
        places.forward(self.screen, "open_sweep", message.folder)

    def on_show_rows(self, message: messages.ShowRows) -> None:
        self.action_go("explore")
        places.forward(self.screen, "show_rows", message.where)

    def on_say(self, message: messages.Say) -> None:
        self.notify(message.text, severity="error" if message.error else "information", timeout=10)

    def action_keys_help(self) -> None:
        from explorer.help import HelpScreen

        self.push_screen(HelpScreen(self.screen))

    async def action_perform(self, action: str) -> None:
        """Do the action with this id, as its key would (mouse on the footer, palette)."""
        for offer in offers(self.screen, self.keymap):
            if offer.action.id == action:
                await self.run_action(offer.action.method, offer.node)

    async def run_action(self, action: Any, default_namespace: Any = None, namespaces: Any = None) -> bool:
        """Textual's, except that a disabled action says why instead of staying silent."""
        done = await super().run_action(action, default_namespace, namespaces)
        acting = isinstance(default_namespace, Acting) and not done
        reason = default_namespace.reason(action) if acting else ""
        if reason:
            self.notify(f"Not now: {reason}.", timeout=4)
        return done or bool(reason)

    def show_key(self, key: str) -> str:
        """A key as it is written in the footer and the help."""
        return manners.key_name(key, self.ascii_only)

    def copy(self, text: str, what: str) -> None:
        """To the terminal's clipboard (OSC 52) and to a file; says where."""
        self.copy_to_clipboard(text)
        self.notify(manners.copied(text, what), timeout=6)

    def save_session(self, place: str | None = None) -> None:
        """Write the session; `place` is where the next start opens."""
        self.session.place = place or self.session.place
        self.session.theme = self.theme
        manners.keep(self)

    async def action_quit(self) -> None:
        """Leave; sweeps go on, and the parting words say which."""
        self.save_session()
        self.exit(message=manners.parting(self.data))
