"""The shell: places, palette, help, keys, session, signals, characters."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from textual.binding import BindingType
from textual.pilot import Pilot
from textual.widgets import Static

import explorer
from explorer import actions, keys, launch, manners, session
from explorer.actions import REGISTRY, Action, bindings, offers
from explorer.app import SpecdecApp
from explorer.asciifilter import to_ascii
from explorer.cli.commands.paths import command as paths_command
from explorer.glyphs import ASCII, UNICODE
from explorer.help import sections
from explorer.screens.base import PlaceScreen
from tests.ui.snapshot import lines_of

MakeApp = Callable[..., SpecdecApp]


class Probe(PlaceScreen):
    """A place with one action that works and one that does not."""

    PLACE = "probe"
    HELP = "A place to test the shell with."
    PANES = (("left", "Left"), ("right", "Right"))
    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("probe.go", "Do the thing", "d", "It is done.", "do", do="thing"),
        Action("probe.never", "Never works", "z", footer="never"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    done = 0

    def compose_place(self) -> Any:
        for name in ("left", "right"):
            pane = Static(name, id=name, classes="pane")
            pane.can_focus = True
            yield pane

    def action_thing(self) -> None:
        self.done += 1

    def why_not(self, action: str) -> str:
        return "the moon is full" if action == "probe.never" else super().why_not(action)

    def what_if_rows(self) -> list[dict[str, Any]]:
        return []


@pytest.fixture
def app(make_app: MakeApp) -> SpecdecApp:
    """The shell on Define, whose imports are the lightest."""
    return make_app(place="define")


async def probe(pilot: Pilot[None]) -> Probe:
    """Push a `Probe` and wait for it."""
    screen = Probe()
    await pilot.app.push_screen(screen)
    await pilot.pause()
    return screen


def shown_keys(app: SpecdecApp) -> str:
    return lines_of(app)[-1]


async def test_footer_keeps_help_palette_and_leave_in_eighty_columns(app: SpecdecApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await probe(pilot)
        assert re.search(r"\? help +\^p palette +q leave", shown_keys(app))
        assert "d do" in shown_keys(app)


async def test_header_marks_the_place_without_colour(app: SpecdecApp) -> None:
    async with app.run_test(size=(80, 24)):
        assert lines_of(app)[0].startswith("[1 Define] 2 Watch  3 Explore  w What-if")


async def test_a_disabled_action_is_shown_and_says_why(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await probe(pilot)
        assert "z never" in shown_keys(app)
        await pilot.press("z")
        await pilot.pause()
        assert "Not now: the moon is full." in "\n".join(lines_of(app))


async def test_the_footer_follows_what_can_be_done(app: SpecdecApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await probe(pilot)

        def colour(word: str) -> Any:
            """Of a word in the footer, as the terminal has it."""
            keys = app.screen._compositor.render_strips(app.size)[-1]
            return next(s.style.color for s in keys if s.style and s.text.strip() == word)

        assert colour("never") != colour("help")
        monkeypatch.setattr(Probe, "why_not", lambda self, action: "")
        screen.refresh_bindings()
        await pilot.pause()
        assert colour("never") == colour("help")


async def test_palette_lists_every_action_and_does_it(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await probe(pilot)
        await pilot.press("ctrl+p")
        await pilot.press(*"do the thing")
        await pilot.pause(0.5)
        await pilot.press("enter", "enter")
        await pilot.pause(0.5)
        assert screen.done == 1


async def test_help_is_made_of_the_bindings(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await probe(pilot)
        rows = {row[1]: row for _, found in sections(screen) for row in found}
        assert rows["Do the thing"] == ("d", "Do the thing", "It is done.")
        assert rows["Never works"][2] == "not now: the moon is full"
        assert "Leave (a running sweep goes on)" in rows
        await pilot.press("question_mark")
        await pilot.pause()
        text = "\n".join(lines_of(app))
        assert "A place to test the shell with." in text and "Do the thing" in text
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is screen


async def test_every_action_has_a_name_and_a_method(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for offer in offers(app.screen, app.keymap):
            method = offer.action.method.partition("(")[0]
            node = offer.node
            assert offer.action.name[:1].isupper(), offer.action
            assert hasattr(node, f"action_{method}") or hasattr(node, f"_action_{method}"), offer.action


async def test_keys_can_be_remapped(own_folders: Path, make_app: MakeApp) -> None:
    (own_folders / "config").mkdir()
    (own_folders / "config" / "keys.toml").write_text('"probe.go" = "F"\n', encoding="utf-8")
    app = make_app(place="define")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await probe(pilot)
        await pilot.press("d")
        assert screen.done == 0
        await pilot.press("F")
        assert screen.done == 1
        assert "F do" in shown_keys(app)


async def test_a_wrong_key_id_is_named_with_the_nearest_one(own_folders: Path, make_app: MakeApp) -> None:
    (own_folders / "config").mkdir()
    (own_folders / "config" / "keys.toml").write_text('"probe.goo" = "F"\n', encoding="utf-8")
    app = make_app(place="define")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await probe(pilot)
        await pilot.pause()
        assert "did you mean probe.go?" in "\n".join(lines_of(app))


async def test_a_fault_of_the_keys_is_told_once(
    own_folders: Path, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_folders / "config").mkdir()
    (own_folders / "config" / "keys.toml").write_text(
        '"app.helpp" = "F"\n"app.leave" = 3\n"wacth.follow" = "G"\n', encoding="utf-8"
    )
    app = make_app(place="define")
    told: list[str] = []
    monkeypatch.setattr(app, "notify", lambda message, **_: told.append(message))
    async with app.run_test(size=(120, 40)) as pilot:
        for key in "231":
            await pilot.press(key)
            await pilot.pause()
    assert sorted(text.split()[0] for text in told if "app." in text) == ["app.leave:", "no"]
    assert sum("wacth.follow" in text for text in told) == 1, "an id that belongs to no part of the app"


@pytest.mark.parametrize(
    ("text", "keymap", "faults"),
    [
        ('"a.b" = "x"', {"a.b": "x"}, 0),
        ('a.b = "x,ctrl+t"\nc.d = "f5"', {"a.b": "x,ctrl+t", "c.d": "f5"}, 0),
        ('"a.b" = 3\nc.d = ""', {}, 2),
        (
            '"a.b" = "?"\nc.d = "less_than_sign, ctrl+@"',
            {"a.b": "question_mark", "c.d": "less_than_sign,ctrl+at"},
            0,
        ),
        ('"a.b" = "nokey"\nc.d = "ctlr+x"', {}, 2),
        ("a = [", {}, 1),
    ],
)
def test_keys_file(text: str, keymap: dict[str, str], faults: int) -> None:
    found, said = keys.parse(text)
    assert found == keymap
    assert len(said) == faults


async def test_panes_one_at_a_time_when_narrow(app: SpecdecApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await probe(pilot)
        assert screen.query_one("#left").display and not screen.query_one("#right").display
        await pilot.press("g")
        await pilot.pause()
        assert screen.query_one("#right").display and not screen.query_one("#left").display
        assert "[Right]" in lines_of(app)[1]
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert screen.query_one("#left").display and screen.query_one("#right").display


async def test_a_pane_is_reached_by_its_number_from_any_other(app: SpecdecApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await probe(pilot)
        await pilot.press("ctrl+o")
        await pilot.pause()
        await pilot.pause()
        shown = "\n".join(lines_of(app))
        assert "1 Left" in shown and "2 Right" in shown and "esc stays" in shown
        await pilot.press("9")
        assert app.screen is not screen, "there is no ninth pane"
        await pilot.press("2")
        await pilot.pause()
        assert app.screen is screen and screen.pane == "right"
        await pilot.press("ctrl+o", "escape")
        await pilot.pause()
        assert app.screen is screen and screen.pane == "right"


async def test_every_action_belongs_to_a_known_part_of_the_app() -> None:
    for module in pkgutil.walk_packages(explorer.__path__, "explorer."):
        if not module.name.endswith(("__main__", ".inside")):
            importlib.import_module(module.name)
    ours = {id_ for id_ in REGISTRY if not id_.startswith("probe.")}
    assert len(ours) > 100
    assert {id_.partition(".")[0] for id_ in ours} == keys.OWNERS


async def test_first_start_explores_and_says_how_to_run_the_demo(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.current_mode == "explore"
        text = "\n".join(lines_of(app))
        assert "Press D to run the demo" in text and "published Lunar Lake rows" in text


async def test_session_returns_to_the_last_place(results: Path, make_app: MakeApp) -> None:
    (results / "demo-20260101T000000Z").mkdir()
    (results / "demo-20260101T000000Z" / "journal.jsonl").touch()
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.current_mode == "watch"
        await pilot.press("1")
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        await pilot.press("escape", "q")
    assert app.return_code == 0
    again = make_app()
    assert again._first == "define"
    assert again.session.part("define")["view"] == "text"


async def test_a_place_left_before_it_is_built_has_nothing_to_keep(make_app: MakeApp) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(80, 24)) as pilot:
        app.action_go("define")
        app.action_go("explore")  # Quick fingers: the widgets of Define do not exist yet.
        await pilot.pause()
        assert app.current_mode == "explore"
        assert "file" not in app.session.part("define")


def test_a_session_of_another_version_or_a_broken_one_is_left_alone() -> None:
    assert session.from_json("{") == session.Session()
    assert session.from_json("[]") == session.Session()
    assert session.from_json(json.dumps({"version": 99, "place": "watch"})) == session.Session()
    kept = session.Session("watch", "nord", {"watch": {"sweep": "x"}})
    assert session.from_json(kept.to_json()) == kept
    odd = {"version": 1, "place": 3, "theme": None, "parts": {"a": 1, "b": {"c": 2}}}
    assert session.from_json(json.dumps(odd)) == session.Session("", "", {"b": {"c": 2}})


def test_two_actions_may_not_share_an_id() -> None:
    with pytest.raises(ValueError, match=r"probe\.go"):
        bindings([Action("probe.go", "Something else")])
    assert "probe.go" in actions.REGISTRY


async def test_ascii_reaches_the_terminal_only(make_app: MakeApp) -> None:
    app = make_app(place="define", ascii_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        text = "\n".join(lines_of(app))
        assert text.isascii(), [c for c in text if not c.isascii()]


@pytest.mark.parametrize("text", ["╭─ Läufe ─╮", "█▌ ✓ ok", "日本", "plain", "│ é │"])
def test_ascii_keeps_the_width(text: str) -> None:
    from rich.cells import cell_len

    assert to_ascii(text).isascii()
    assert len(to_ascii(text)) == cell_len(text)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_bars_are_as_wide_as_asked(glyphs: Any) -> None:
    for fraction in (-1.0, 0.0, 0.01, 0.5, 0.999, 1.0, 2.0):
        assert len(glyphs.bar(fraction, 10)) == 10
    assert glyphs.bar(1.0, 4) == glyphs.block * 4
    assert glyphs.bar(0.0, 4) == glyphs.shade * 4
    assert glyphs.sparkline([0, 1, 2, 4], 2) == glyphs.bars[4] + glyphs.bars[-1]
    assert glyphs.sparkline([]) == ""
    assert glyphs.sparkline([0.0, 0.0]) == "  "


def test_both_tables_know_the_same_states() -> None:
    assert UNICODE.states.keys() == ASCII.states.keys()
    assert all(len(glyph) == 1 for table in (UNICODE, ASCII) for glyph in table.states.values())
    assert UNICODE.state("budget_not_met") == "▲ budget not met"


async def test_no_color_is_readable(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(place="define")
    async with app.run_test(size=(80, 24)):
        assert app.no_color
        assert lines_of(app)[0].startswith("[1 Define]")


async def test_copy_says_where_the_file_is(app: SpecdecApp, own_folders: Path) -> None:
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        app.copy("a\tb", "one row")
        await pilot.pause()
        assert (own_folders / "state" / "clipboard.txt").read_text(encoding="utf-8") == "a\tb"
        assert "Copied one row" in "\n".join(lines_of(app))


@pytest.mark.parametrize(
    ("key", "plain", "shown"),
    [
        ("question_mark", "?", "?"),
        ("ctrl+p", "^p", "^p"),
        ("up", "up", "↑"),
        ("shift+f6", "shift+f6", "shift+f6"),
    ],
)
def test_keys_are_written_as_people_do(key: str, plain: str, shown: str) -> None:
    assert manners.key_name(key, ascii_only=True) == plain
    assert manners.key_name(key) == shown


def test_paths_command() -> None:
    found = CliRunner().invoke(paths_command, ["--json"])
    assert found.exit_code == 0
    told = json.loads(found.output)
    assert Path(told["results"]).name == "data" and told["keys"].endswith("keys.toml")
    assert "keys.toml" in CliRunner().invoke(paths_command).output


def test_without_a_terminal_the_app_says_so() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "explorer"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert run.returncode == 2
    assert "needs a terminal" in run.stderr and len(run.stderr.splitlines()) == 1


def test_the_first_paint_imports_neither_polars_nor_openvino() -> None:
    code = (
        "import sys, explorer.app, explorer.launch\n"
        "heavy = {'polars', 'openvino', 'numpy', 'textual_plot', 'psutil'} & sys.modules.keys()\n"
        "print(sorted(heavy))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]", run.stdout + run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals and SIGHUP are POSIX")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_hang_up_leaves_in_order(number: int, own_folders: Path) -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "explorer"])
    try:
        seen, deadline = b"", time.monotonic() + 30
        while b"Define" not in seen and time.monotonic() < deadline:
            if select.select([master], [], [], 0.2)[0]:
                seen += os.read(master, 65536)
        os.kill(pid, number)
        while time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    os.read(master, 65536)
                except OSError:
                    break
        _, status = os.waitpid(pid, 0)
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(master)
    assert os.waitstatus_to_exitcode(status) == 128 + number
    kept = json.loads((own_folders / "state" / "session.json").read_text(encoding="utf-8"))
    assert kept["version"] == 1 and kept["place"] == "explore"


@pytest.mark.parametrize(
    ("encoding", "draws"),
    [("utf-8", True), ("ascii", False), ("latin-1", False), (None, False), ("no", False)],
)
def test_a_terminal_without_our_characters_gets_ascii(encoding: str | None, draws: bool) -> None:
    assert launch._draws(encoding) is draws
