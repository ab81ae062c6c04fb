"""The Watch screen: what it shows, at every size, and what its keys do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from explorer.app import SpecdecApp
from explorer.glyphs import UNICODE
from explorer.screens.watch import attach
from explorer.screens.watch.dialogs import Ask, Details
from explorer.widgets.run_list import RunList
from explorer.widgets.token_tail import TokenTail
from sweeps.events.writer import JournalWriter
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.state import Verdict
from tests.ui.conftest import SIZES
from tests.ui.snapshot import check, lines_of, text_of
from tests.ui.watch_kit import (
    CRASHED,
    FINISHED,
    NAME,
    PLAN,
    RESULTS,
    FakeTailer,
    T,
    call,
    feed,
    finished,
    half_way,
    screen_of,
    update_of,
)
from tests.unit.journal_kit import started

MakeApp = Callable[..., SpecdecApp]


@pytest.fixture
def tailers(monkeypatch: pytest.MonkeyPatch) -> list[FakeTailer]:
    """No thread: updates are fed by the test."""
    made: list[FakeTailer] = []

    def start(folder: Path, post: object) -> FakeTailer:
        made.append(FakeTailer())
        return made[-1]

    monkeypatch.setattr(attach, "attach", start)
    return made


@pytest.fixture
def folder(results: Path, tailers: list[FakeTailer]) -> SweepFolder:
    """A results folder with a journal in it."""
    made = SweepFolder(results / NAME)
    made.path.mkdir()
    with JournalWriter(made.journal) as writer:
        writer.event(started(PLAN, T))
    return made


async def show(pilot: Pilot[None], folder: SweepFolder, **changes: object) -> SpecdecApp:
    """Feed the half-way state (or what `changes` say) and wait until it is drawn."""
    app = pilot.app
    assert isinstance(app, SpecdecApp)
    await pilot.pause()
    events = changes.pop("events", None)
    feed(app, folder.path, update_of(events if isinstance(events, list) else half_way(), **changes))  # type: ignore[arg-type]
    await pilot.pause()
    await pilot.pause()
    return app


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


def make_sure(app: object) -> SpecdecApp:
    assert isinstance(app, SpecdecApp)
    return app


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


async def test_another_sweep_is_opened_and_late_updates_of_the_first_are_ignored(
    make_app: MakeApp, folder: SweepFolder, tailers: list[FakeTailer], results: Path
) -> None:
    other = SweepFolder(results / "other-20250101T000000Z")
    other.path.mkdir()
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        screen_of(app).open_sweep(other.path)
        assert tailers[0].stopped
        feed(app, folder.path, update_of(half_way()))
        await pilot.pause()
        assert screen_of(app).state is None


async def test_older_and_newer_sweeps(
    make_app: MakeApp, folder: SweepFolder, results: Path, tailers: list[FakeTailer]
) -> None:
    older = SweepFolder(results / "kit-20200101T000000Z")
    older.path.mkdir()
    with JournalWriter(older.journal) as writer:
        writer.event(started(PLAN, T))
    import os

    os.utime(older.journal, (T - 1e6, T - 1e6))
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        await show(pilot, folder)
        await pilot.press("less_than_sign")
        assert screen_of(make_sure(pilot.app))._folder == older.path
        await pilot.press("greater_than_sign")
        assert screen_of(make_sure(pilot.app))._folder == folder.path
        assert len(tailers) == 3


# -- requests -----------------------------------------------------------------------------------------


def requests(folder: SweepFolder) -> list[str]:
    return sorted(path.name for path in folder.control.iterdir()) if folder.control.is_dir() else []


async def test_skip_and_stop_after_leave_requests(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("s")
        assert requests(folder) == ["skip-pair000003"]
        assert "asked to skip" in text_of(app)
        await pilot.press("S")
        assert requests(folder) == ["skip-pair000003", "stop-after-run"]


async def test_a_queued_run_can_be_skipped_and_a_finished_one_cannot(
    make_app: MakeApp, folder: SweepFolder
) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("down", "s")
        assert requests(folder) == ["skip-pair000005"]
        await pilot.press("up", "up", "s")
        assert requests(folder) == ["skip-pair000005"]
        assert screen_of(app).why_not("watch.skip") == "this run is over"


async def test_stop_asks_first(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("x")
        assert isinstance(app.screen, Ask)
        await pilot.press("n")
        assert requests(folder) == []
        await pilot.press("x", "y")
        assert requests(folder) == ["stop"]


async def test_what_cannot_be_done_says_why(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        screen = screen_of(app)
        assert screen.why_not("watch.retry") == "the sweep is running"
        feed(app, folder.path, update_of(finished(), FINISHED, T + 120))
        await pilot.pause()
        assert screen.why_not("watch.stop") == "the sweep is finished"
        assert screen.why_not("watch.retry") == "", "one run has failed"
        for left, said in (("ok", "nothing is left to run"), ("queued", "")):
            update = update_of(finished(), FINISHED, T + 120)
            views = [msgspec.structs.replace(view, word="ok") for view in update.state.runs]
            views[0] = msgspec.structs.replace(views[0], word=left)
            state = msgspec.structs.replace(update.state, runs=tuple(views))
            feed(app, folder.path, msgspec.structs.replace(update, state=state))
            await pilot.pause()
            assert said in screen.why_not("watch.retry")
        assert screen.why_not("watch.retry") == "", "a stopped sweep goes on with what is left"
        await pilot.press("x")
        assert requests(folder) == []
        assert not isinstance(app.screen, Ask)


async def test_retry_starts_a_detached_supervisor(
    make_app: MakeApp, folder: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sweeps.supervise import detach

    asked: list[tuple[Path, bool]] = []

    def start(folder: SweepFolder, *, retry_failed: bool = False) -> int:
        asked.append((folder.path, retry_failed))
        raise detach.NotStarted("another sweep runs")

    monkeypatch.setattr(detach, "start_detached", start)
    async with make_app(place="watch").run_test(size=(120, 40), notifications=True) as pilot:
        app = await show(pilot, folder, events=finished(), verdict=FINISHED, now=T + 120)
        await pilot.press("r")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert asked == [(folder.path, True)]
        assert "another sweep runs" in text_of(app)


async def test_replay_keys_ask_the_reader(
    make_app: MakeApp, folder: SweepFolder, tailers: list[FakeTailer]
) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder, events=finished(), verdict=FINISHED, now=T + 120)
        await pilot.press(
            "left", "right", "comma", "full_stop", "left_square_bracket", "right_square_bracket"
        )
        await pilot.press("home", "end")
        assert tailers[0].sought == [
            ("step", -1), ("step", 1), ("event", -1), ("event", 1),
            ("run", -1), ("run", 1), ("part", 0), ("now", 0),
        ]  # fmt: skip
        past = update_of(finished()[:40], FINISHED, T + 60, results=RESULTS[:1], replay=True)
        feed(app, folder.path, past)
        await pilot.pause()
        assert "replay" in text_of(app) and "1 min 00 s after its start" in text_of(app)
        # Moments of one run that follow each other at once: the sparkline keeps up with each.
        seen = set()
        for events in (half_way(), half_way()[:-2]):
            past = update_of(events, FINISHED, T + 60, replay=True)
            feed(app, folder.path, past)
            await pilot.pause()
            view = next(view for view in past.state.runs if view.id == past.state.current)
            seen.add(bars := UNICODE.sparkline(view.rates))
            assert f"│{bars} 0.." in text_of(app)
        assert len(seen) == 2
        await pilot.press("escape")
        assert tailers[0].sought[-1] == ("now", 0)


async def test_before_the_journal_is_read_nothing_is_asked_of_the_sweep(
    make_app: MakeApp, folder: SweepFolder, tailers: list[FakeTailer]
) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        unread = Verdict("unknown", "not looked at yet")
        feed(app, folder.path, update_of(half_way(), unread, reading=0.5))
        await pilot.press("x")
        assert not isinstance(app.screen, Ask)
        for action in ("watch.stop", "watch.skip", "watch.retry"):
            assert screen_of(app).why_not(action) == "its journal is still being read"
        feed(app, folder.path, update_of(half_way()))
        await pilot.press("x")
        assert isinstance(app.screen, Ask)


async def test_every_action_has_a_key_and_is_in_the_help(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        screen = screen_of(app)
        for action in screen.actions():
            assert action.key, f"{action.id} has no key"
            assert callable(getattr(screen, f"action_{action.method}", None)), f"{action.id} does nothing"


async def test_d_leaves_and_touches_nothing(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("d")
        await pilot.pause()
        assert not app.is_running or app._exit
        assert requests(folder) == []


# -- with the real reader -----------------------------------------------------------------------------


@pytest.fixture
def real_folder(results: Path) -> Iterator[SweepFolder]:
    made = SweepFolder(results / NAME)
    made.path.mkdir()
    with JournalWriter(made.journal) as writer:
        for event in finished():
            writer.event(event)
    yield made


async def test_a_journal_on_disk_is_shown_and_replayed(make_app: MakeApp, real_folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = make_sure(pilot.app)

        async def until(text: str) -> None:
            for _ in range(100):
                await asyncio.sleep(0.05)
                if text in text_of(app):
                    return
            pytest.fail(f"{text!r} did not appear:\n{text_of(app)}")

        await until("finished")
        await until("2.82")
        await pilot.press("home", "right_square_bracket")
        await until("replay")
        await pilot.press("escape")
        await until("the journal ends with: done")
