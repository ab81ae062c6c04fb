"""What is past on the Watch screen: other sweeps, earlier moments, a journal on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.glyphs import UNICODE
from sweeps.events.writer import JournalWriter
from sweeps.supervise.folder import SweepFolder
from tests.ui.conftest import MakeApp
from tests.ui.snapshot import text_of
from tests.ui.watch_kit import (
    FINISHED,
    NAME,
    PLAN,
    RESULTS,
    FakeTailer,
    T,
    feed,
    finished,
    half_way,
    make_sure,
    screen_of,
    show,
    update_of,
)
from tests.unit.journal_kit import started


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


# -- with the real reader -----------------------------------------------------------------------------


@pytest.fixture
def real_folder(results: Path) -> Iterator[SweepFolder]:
    """A results folder with the journal of a finished sweep, read by a real tailer."""
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
