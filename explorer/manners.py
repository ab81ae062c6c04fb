"""How the app comes and goes: the first place, signals, parting words, copies."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.places import MODES
from explorer.session import Session
from sweeps import atomic, paths
from sweeps.supervise.folder import find_folders

if TYPE_CHECKING:
    from explorer.app import SpecdecApp

NO_RESULTS = (
    "No sweep has run here yet: these are the published Lunar Lake rows. Press {key} to run the demo on "
    "this machine, 1 to write a sweep of your own."
)
KEY_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "escape": "esc",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "exclamation_mark": "!",
    "plus": "+",
    "minus": "-",
    "underscore": "_",
    "comma": ",",
    "full_stop": ".",
    "colon": ":",
    "quotation_mark": '"',
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "equals_sign": "=",
    "pageup": "pgup",
    "pagedown": "pgdn",
}


def has_results(data: str | None) -> bool:
    """Whether any sweep has left a journal."""
    return bool(find_folders(paths.results(data)))


def first_place(session: Session, data: str | None) -> str:
    """Explore before there are results; then where the last session was left, else Watch."""
    if not has_results(data):
        return "explore"
    return session.place if session.place in MODES else "watch"


def greet(app: SpecdecApp) -> None:
    """Before there are results, say in Explore what one sees and how to get results of one's own."""
    from explorer.screens.base import PlaceScreen

    if isinstance(app.screen, PlaceScreen) and app.screen.PLACE == "explore" and not has_results(app.data):
        key = key_name(app.keymap.get("app.demo", "D"))
        app.screen.banner = NO_RESULTS.format(key=key)


def leave(app: SpecdecApp, number: int) -> None:
    """End the app in order, as after the signal with this number."""
    app.save_session()
    app.exit(return_code=128 + number)


def leave_on_signals(app: SpecdecApp) -> None:
    """A closed terminal or a plain `kill` ends the app in order; exit code 128 + signal number."""

    loop = asyncio.get_running_loop()
    if app.is_headless:  # Tests run beside others in one process, whose handlers these would replace.
        return
    if sys.platform == "win32":
        for number in (signal.SIGTERM, signal.SIGBREAK):
            signal.signal(number, lambda n, _: loop.call_soon_threadsafe(leave, app, n))
    else:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, leave, app, number)


def keep(app: SpecdecApp) -> None:
    """Ask every place what to keep, and save the session."""
    from explorer.screens.base import PlaceScreen

    for screen in app.screen_stack:
        # A place that is left before it is built has nothing to keep yet, and no widgets to ask.
        if isinstance(screen, PlaceScreen) and screen.is_mounted:
            screen.keep()
    fault = app.session.save()
    if fault:
        app.notify(fault, severity="warning")


def running(data: str | None) -> list[str]:
    """One line for each sweep whose supervisor lives on this machine."""
    from sweeps.supervise.owner import read_owner

    found = []
    for folder in find_folders(paths.results(data))[:10]:
        owner = read_owner(folder.supervisor)
        if owner is not None and owner.alive():
            found.append(f"{folder.name} goes on (process {owner.pid}); `specdec watch` shows it again.")
    return found


def parting(data: str | None) -> str | None:
    """What is printed after the app has left the terminal."""
    return "\n".join(running(data)) or None


def start_demo(app: SpecdecApp) -> None:
    """Start the bundled sweep on its own, and show it."""
    from explorer.messages import Say, ShowSweep
    from explorer.screens.define.outside import Helper
    from explorer.screens.define.wire import Request

    def begin() -> None:
        helper = Helper()
        file = paths.presets() / "demo.toml"
        reply = helper.ask(Request("start", file=str(file), results=str(paths.results(app.data))))
        helper.close()
        said = Say(f"The demo did not start: {reply.fault}", error=True)
        app.post_message(said if reply.fault else ShowSweep(Path(reply.started)))

    app.notify("Starting the demo sweep.", timeout=4)
    app.run_worker(begin, thread=True, group="demo", exclusive=True, exit_on_error=False)


def key_name(key: str, ascii_only: bool = False) -> str:
    """A key as people write it: `ctrl+p` is `^p`, `question_mark` is `?`."""
    arrows = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
    *modifiers, last = key.strip().split("+")
    last = KEY_NAMES.get(last) or (arrows.get(last, last) if not ascii_only else last)
    if len(last) == 1 and last.isupper() and "shift" in modifiers:
        modifiers.remove("shift")
    return "".join("^" if part == "ctrl" else f"{part}+" for part in modifiers) + last


def copied(text: str, what: str) -> str:
    """Keep a copy in a file too, because many terminals ignore OSC 52; returns what to tell."""
    path: Path = paths.state() / "clipboard.txt"
    try:
        atomic.write_text(path, text)
    except OSError as error:
        return f"Copied {what} to the terminal's clipboard (no file: {error})."
    return f"Copied {what} to the terminal's clipboard, and to {path} in case the terminal ignores that."
