"""The reading thread: a growing file, half a line, bounded updates, replay, results, a slow start."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.live.tailer import POST_S, Tailer, Update
from sweeps.events.types import AnyEvent, RunEnded, RunStarted, Sample, SweepEnded
from sweeps.events.writer import JournalWriter
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.owner import beat, myself
from tests.unit.journal_kit import plain, plan, speculative, started
from tests.unit.test_live_fold import T, call, letters, run_events


class Posts:
    """Collects updates; `until` waits for one that fits."""

    def __init__(self) -> None:
        self.updates: list[Update] = []
        self.times: list[float] = []
        self._came = threading.Condition()

    def __call__(self, update: Update) -> None:
        with self._came:
            self.updates.append(update)
            self.times.append(time.monotonic())
            self._came.notify_all()

    def until(self, fits: Callable[[Update], bool], seconds: float = 10.0) -> Update:
        with self._came:
            if not self._came.wait_for(lambda: any(map(fits, self.updates[-1:])), seconds):
                pytest.fail(f"no such update within {seconds} s; last: {self.updates[-1:]}")
            return self.updates[-1]


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    found = SweepFolder(tmp_path / "kit-20260101T000000Z")
    found.path.mkdir()
    return found


def rows(_: Path) -> list[dict[str, Any]]:
    return [
        {"run": "base", "prompt": "story", "status": "ok", "tok_s": 50.0},
        {"run": "pair", "prompt": "story", "status": "queued"},
    ]


@pytest.fixture
def follow(folder: SweepFolder) -> Iterator[Callable[[], Posts]]:
    tailers: list[Tailer] = []

    def start() -> Posts:
        posts = Posts()
        tailers.append(Tailer(folder.path, posts, load=rows, spelling=letters))  # type: ignore[arg-type]
        posts.tailer = tailers[-1]  # type: ignore[attr-defined]
        tailers[-1].start()
        return posts

    yield start
    for tailer in tailers:
        tailer.stop()
        tailer.join(5)
        assert not tailer.is_alive()


def append(folder: SweepFolder, *events: AnyEvent) -> None:
    with JournalWriter(folder.journal) as writer:
        for event in events:
            writer.event(event)


PLAN = plan(plain("base"), speculative("pair"))


def test_it_waits_for_a_journal_and_follows_it(folder: SweepFolder, follow: Callable[[], Posts]) -> None:
    posts = follow()
    posts.until(lambda update: update.state.verdict.word == "unknown")
    beat(folder.supervisor, myself(folder.path))
    append(folder, started(PLAN), *run_events("base", T))
    update = posts.until(lambda update: bool(update.state.results) and update.state.verdict.word == "running")
    assert update.state.runs_over == 1
    assert [(row.run, row.tok_s) for row in update.state.results] == [("base", 50.0)]
    append(folder, SweepEnded(status="done"))
    assert posts.until(lambda update: update.state.verdict.word == "finished")


def test_half_a_line_is_left_until_it_is_whole(folder: SweepFolder, follow: Callable[[], Posts]) -> None:
    append(folder, started(PLAN))
    posts = follow()
    posts.until(lambda update: len(update.state.runs) == 2)
    line = msgspec.json.encode(RunStarted(t=T, run="pair", attempt=3, pid=1, todo=3)) + b"\n"
    with folder.journal.open("ab") as file:
        file.write(line[:20])
        file.flush()
        time.sleep(0.3)
        assert posts.updates[-1].state.current is None
        file.write(line[20:])
    run = posts.until(lambda update: update.state.current == "pair").state.run("pair")
    assert run is not None
    assert run.attempt == 3


def test_updates_come_at_most_four_times_a_second(folder: SweepFolder, follow: Callable[[], Posts]) -> None:
    append(folder, started(PLAN), RunStarted(t=T, run="pair", attempt=1, pid=1, todo=3))
    beat(folder.supervisor, myself(folder.path))
    posts = follow()
    for number in range(150):
        append(folder, Sample(t=T, run="pair", rss_mb=number, cpu=1.0))
        time.sleep(0.01)
    posts.until(lambda update: (update.state.run("pair") or update.state.runs[0]).rss_mb == 149.0)
    gaps = [after - before for before, after in itertools.pairwise(posts.times)]
    assert min(gaps) >= POST_S * 0.9
    assert len(posts.updates) <= 12


def test_a_finished_sweep_is_quiet(folder: SweepFolder, follow: Callable[[], Posts]) -> None:
    append(folder, started(PLAN), *run_events("base", T), SweepEnded(status="done"))
    posts = follow()
    posts.until(lambda update: bool(update.state.results))
    time.sleep(0.6)
    count = len(posts.updates)
    time.sleep(2.5)
    assert len(posts.updates) == count


def test_a_replay_shows_the_past_and_ends_at_now(folder: SweepFolder, follow: Callable[[], Posts]) -> None:
    append(
        folder, started(PLAN), *run_events("base", T), *run_events("pair", T + 50), SweepEnded(status="done")
    )
    posts = follow()
    end = posts.until(lambda update: update.state.runs_over == 2)
    tailer: Tailer = posts.tailer  # type: ignore[attr-defined]
    tailer.seek("part", 0)
    past = posts.until(lambda update: update.replay)
    assert (past.moment, past.state.runs) == (0, ())
    tailer.seek("run", 1)
    tailer.seek("event", 1)
    tailer.seek("event", 1)
    later = posts.until(lambda update: update.replay and update.moment > 0)
    assert later.moment == 4, "keys pressed between two updates add up"
    assert later.state.current == "base"
    assert later.state.results == (), "what was not finished then is not shown"
    tailer.seek("now", 0)
    assert posts.until(lambda update: not update.replay).moment == end.events


def test_a_long_journal_is_read_in_turns_and_says_how_far(
    folder: SweepFolder, follow: Callable[[], Posts]
) -> None:
    runs = [speculative(f"p{nat}", nat=nat) for nat in range(1, 13)]
    events: list[AnyEvent] = [started(plan(*runs, reps=200))]
    for place, run in enumerate(runs):
        events.append(RunStarted(t=T, run=run.id, attempt=1, pid=1, todo=200))
        for rep in range(200):
            events += call(run.id, rep, T + place)
        events.append(RunEnded(t=T, run=run.id, attempt=1, status="ok", done=200, todo=200))
    append(folder, *events, SweepEnded(status="done"))
    gone = msgspec.structs.replace(myself(folder.path), process_started=1.0)
    beat(folder.supervisor, gone)
    posts = follow()
    update = posts.until(lambda update: update.state.verdict.word == "finished", 30)
    assert update.state.runs_over == 12
    words = {other.state.verdict.word for other in posts.updates}
    assert "crashed" not in words, "its end stands in the journal, though not in what is read yet"
    assert update.events == len(events) + 1
    assert update.reading is None
    assert all(0 <= (other.reading or 0.0) <= 1 for other in posts.updates)


def test_an_end_written_while_one_looks_is_no_crash(
    folder: SweepFolder, follow: Callable[[], Posts], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(folder, started(PLAN), *run_events("base", T))
    beat(folder.supervisor, msgspec.structs.replace(myself(folder.path), process_started=1.0))

    def alive(_: object) -> bool:
        append(folder, SweepEnded(status="done"))
        return False

    monkeypatch.setattr("sweeps.supervise.owner.Owner.alive", alive)
    posts = follow()
    posts.until(lambda update: update.state.verdict.word == "finished")
    assert all(update.state.verdict.word != "crashed" for update in posts.updates)


def test_a_store_that_fails_leaves_the_view_standing(folder: SweepFolder) -> None:
    def fail(_: Path) -> list[dict[str, Any]]:
        raise RuntimeError("a damaged folder")

    posts = Posts()
    tailer = Tailer(folder.path, posts, load=fail, spelling=letters)  # type: ignore[arg-type]
    append(folder, started(PLAN), *run_events("base", T), SweepEnded(status="done"))
    tailer.start()
    update = posts.until(lambda update: update.state.runs_over == 1)
    assert update.state.results == ()
    tailer.stop()
    tailer.join(5)
    assert not tailer.is_alive()
