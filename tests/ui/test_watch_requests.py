"""What the Watch screen asks of a sweep: skip, stop, retry, and why not; leaving asks nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from explorer.screens.watch.dialogs import Ask
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.state import Verdict
from tests.ui.conftest import MakeApp
from tests.ui.snapshot import text_of
from tests.ui.watch_kit import (
    FINISHED,
    FakeTailer,
    T,
    feed,
    finished,
    half_way,
    screen_of,
    show,
    update_of,
)


def requests(folder: SweepFolder) -> list[str]:
    """What lies in the sweep's control folder."""
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


async def test_d_leaves_and_touches_nothing(make_app: MakeApp, folder: SweepFolder) -> None:
    async with make_app(place="watch").run_test(size=(120, 40)) as pilot:
        app = await show(pilot, folder)
        await pilot.press("d")
        await pilot.pause()
        assert not app.is_running or app._exit
        assert requests(folder) == []
