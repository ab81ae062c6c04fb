"""What the Watch screen shows, at every size, and the keys that change only the view."""

from __future__ import annotations

import msgspec
import pytest

from explorer.screens.watch.dialogs import Details
from explorer.widgets.run_list import RunList
from explorer.widgets.token_tail import TokenTail
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.state import Verdict
from tests.ui.conftest import SIZES, MakeApp
from tests.ui.snapshot import check, lines_of, text_of
from tests.ui.watch_kit import (
    CRASHED,
    FINISHED,
    FakeTailer,
    T,
    call,
    feed,
    finished,
    half_way,
    make_sure,
    screen_of,
    show,
    update_of,
)

# -- pictures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_running_sweep(make_app: MakeApp, folder: SweepFolder, size: tuple[int, int]) -> None:
    async with make_app(place="watch").run_test(size=size) as pilot:
        check(await show(pilot, folder), f"watch/running-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_in_ascii_nothing_else_is_drawn(
    make_app: MakeApp, folder: SweepFolder, size: tuple[int, int]
) -> None:
    async with make_app(place="watch", ascii_only=True).run_test(size=size) as pilot:
        app = await show(pilot, folder)
        check(app, f"watch/running-ascii-{size[0]}x{size[1]}")
        assert text_of(app).isascii()
        assert "[ answer is]" in text_of(app).replace("\n", ""), "accepted text stands in brackets"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_without_colour_state_and_source_can_still_be_read(
    make_app: MakeApp, folder: SweepFolder, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with make_app(place="watch").run_test(size=size) as pilot:
        app = await show(pilot, folder)
        check(app, f"watch/running-{size[0]}x{size[1]}")
        colours, underlined = set(), ""
        for strip in app.screen._compositor.render_strips(app.size):
            for segment in strip:
                style = segment.style
                if style is not None and style.color is not None and style.color.triplet is not None:
                    colours.add(len(set(style.color.triplet)))
                if style is not None and style.underline:
                    underlined += segment.text
        assert colours <= {1}, "greys only"
        assert " answer is" in underlined


@pytest.mark.parametrize("pane", ["runs", "results", "errors"])
async def test_narrow_panes_one_at_a_time(make_app: MakeApp, folder: SweepFolder, pane: str) -> None:
    async with make_app(place="watch").run_test(size=(80, 24)) as pilot:
        app = await show(pilot, folder)
        screen_of(app).action_show_pane(pane)
        await pilot.pause()
        await pilot.pause()
        check(app, f"watch/{pane}-80x24")


async def test_between_two_full_draws_only_the_text_goes_on(
    make_app: MakeApp, folder: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        screen = screen_of(app)
        drawn: list[int] = []
        draw = screen._draw

        def counted(anew: bool = False) -> None:
            drawn.append(1)
            draw(anew)

        monkeypatch.setattr(screen, "_draw", counted)
        monkeypatch.setattr("explorer.screens.watch.screen.FULL_S", 3600.0)
        update = update_of(half_way())
        for state, draws in (
            (update.state, 0),
            (msgspec.structs.replace(update.state, runs_over=9), 1),
            (msgspec.structs.replace(update.state, runs_over=9), 1),
            (msgspec.structs.replace(update.state, verdict=Verdict("finished", "the journal ends")), 2),
            (msgspec.structs.replace(update.state, verdict=Verdict("finished", "the journal ends")), 3),
        ):
            feed(app, folder.path, msgspec.structs.replace(update, state=state))
            await pilot.pause()
            await pilot.pause()
            assert len(drawn) == draws
        assert "finished" in text_of(app)


async def test_a_finished_sweep(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder, events=finished(), verdict=FINISHED, now=T + 120)
        check(app, "watch/finished-120x40")


async def test_a_crashed_sweep_says_what_shows_it(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder, verdict=CRASHED)
        text = text_of(app)
        assert "crashed" in text
        assert "process 4242 is gone and the journal has no end" in text
        assert "cut off" in text


async def test_nothing_to_watch_says_what_to_press(make_app: MakeApp, tailers: list[FakeTailer]) -> None:
    async with make_app(place="watch").run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        text = text_of(make_sure(pilot.app))
        assert "No sweep has run here yet" in text
        assert "Press D" in text
        assert not tailers


# -- the view -----------------------------------------------------------------------------------------


async def test_space_pauses_the_view_while_updates_are_taken_in(
    make_app: MakeApp, folder: SweepFolder
) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("space")
        before = lines_of(app)[3:]
        assert "view paused" in text_of(app)
        feed(app, folder.path, update_of(finished(), FINISHED, T + 120))
        await pilot.pause()
        assert lines_of(app)[3:-1] == before[:-1], "the panes stand still"
        await pilot.press("space")
        await pilot.pause()
        assert "finished" in text_of(app)
        assert "view paused" not in text_of(app)


async def test_the_cursor_leaves_the_running_run_and_f_follows_it_again(
    make_app: MakeApp, folder: SweepFolder
) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        screen = screen_of(app)
        assert screen.focused is app.screen.query_one(RunList)
        assert screen.selected is not None
        assert screen.selected.id == "pair000003"
        await pilot.press("up")
        assert screen.selected.id == "pair000002"
        feed(app, folder.path, update_of([*half_way(), *call("pair000003", 2, T + 69)]))
        await pilot.pause()
        assert screen.selected.id == "pair000002", "an update does not move the cursor"
        assert "71.0 %" in text_of(app)
        await pilot.press("f")
        assert screen.selected.id == "pair000003"


async def test_a_selected_failed_run_says_why(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("down", "down")
        assert "died of signal 11" in text_of(app)


async def test_enter_opens_the_details_and_escape_closes_them(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("down", "down", "enter")
        assert isinstance(app.screen, Details)
        await pilot.pause()
        text = text_of(app)
        assert "native_crash" in text
        assert "SIGSEGV" in text
        assert "LLVM ERROR: out of words" in text
        await pilot.press("escape")
        screen_of(app)


async def test_log_errors_and_results_share_a_place(make_app: MakeApp, folder: SweepFolder) -> None:
    log = folder.stderr("pair000003")
    log.parent.mkdir()
    log.write_text("a warning of the library\n", encoding="utf-8")
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        assert "1.57" in text_of(app)
        await pilot.press("L")
        await pilot.pause()
        assert "a warning of the library" in text_of(app)
        await pilot.press("E")
        await pilot.pause()
        assert "native_crash" in text_of(app)
        assert "bad_pair" in text_of(app)
        await pilot.press("E")
        await pilot.pause()
        assert "speed-up" in text_of(app)


async def test_hidden_panes_are_not_fed(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(80, 24)) as pilot:
        app = await show(pilot, folder)
        assert not app.screen.query_one(RunList).lines
        assert app.screen.query_one(TokenTail).text


async def test_every_action_has_a_key_and_is_in_the_help(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        screen = screen_of(app)
        for action in screen.actions():
            assert action.key, f"{action.id} has no key"
            assert callable(getattr(screen, f"action_{action.method}", None)), f"{action.id} does nothing"
