"""A made-up sweep for the Watch screen, fed as messages: no thread, no clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot

from explorer.app import SpecdecApp
from explorer.live.fold import Fold
from explorer.live.state import Result
from explorer.live.tailer import Update
from explorer.live.vocabulary import TokenBytes
from explorer.screens.watch import attach
from explorer.screens.watch.screen import WatchScreen
from sweeps.events.types import (
    AnyEvent,
    Constructed,
    PhaseBegan,
    RepDone,
    RepStarted,
    RunEnded,
    RunStarted,
    Sample,
    SweepEnded,
    Tokens,
)
from sweeps.plan.model import Finding
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.state import Verdict
from tests.unit.journal_kit import plain, plan, speculative, started

T = 1_790_000_000.0
NAME = "kit-20260101T000000Z"
WORDS = (
    b"The", b" answer", b" is", b" four", b".", b"\n", b" One", b" adds", b" two", b" and", b" two", b",",
    b" which", b" gives", b" four", b" \xe2\x9c\x93", b" and", b" nothing", b" else", b".", b"\n",
)  # fmt: skip
RUNNING = Verdict("running", "process 4242 lives, heartbeat fresh", 4242)
FINISHED = Verdict("finished", "the journal ends with: done")
CRASHED = Verdict("crashed", "process 4242 is gone and the journal has no end", 4242)

BASE = plain("base000000")
PAIRS = [speculative(f"pair00000{nat}", nat=nat, baseline="base000000") for nat in (2, 3, 5)]
NPU = speculative("npu0000000", draft_device="NPU", baseline="base000000")
REFUSED = msgspec.structs.replace(
    speculative("refused000", nat=8),
    findings=(Finding("refused", "bad_pair", "the vocabularies differ", "take a draft of the same family"),),
)
PLAN = plan(BASE, *PAIRS, NPU, REFUSED)


def spelling(folder: Path) -> TokenBytes:
    """Words instead of a model's vocabulary."""
    return lambda token: WORDS[token % len(WORDS)]


def call(run: str, rep: int, t: float, rounds: int | None = None) -> list[AnyEvent]:
    """One token at 100 ms, then rounds of three (a plain run: single tokens) every 50 ms, 32 in all;
    with `rounds` only so many of them, and no end."""
    sizes = [1] * 32 if run == BASE.id else [1] + [3] * 10 + [1]
    done = rounds is None
    sizes = sizes if rounds is None else sizes[: rounds + 1]
    ids, next_id = [], 0
    for size in sizes:
        ids.append(list(range(next_id, next_id + size)))
        next_id += size
    times = [100_000 + 50_000 * place for place in range(len(sizes))]
    names: dict[str, Any] = {"run": run, "prompt": "story", "rep": rep}
    events: list[AnyEvent] = [
        RepStarted(t=t, **names),
        PhaseBegan(t=t, phase="first_token", **names),
        Tokens(t=t + 1, us=times, ids=ids, **names),
    ]
    if done:
        flat = [token for burst in ids for token in burst]
        events.append(
            RepDone(
                t=t + 1, wall_us=times[-1], burst_us=times, burst_sizes=sizes, token_ids=flat, **names
            )
        )  # fmt: skip
    return events


def opening(run: str, t: float) -> list[AnyEvent]:
    """A process that has built its pipeline."""
    return [
        RunStarted(t=t, run=run, attempt=1, pid=7, todo=3),
        PhaseBegan(t=t + 1, run=run, phase="construct"),
        Constructed(t=t + 3, run=run, construct_s=2.0),
        Sample(t=t + 3, run=run, rss_mb=812, cpu=1.9, other_cpu=0.1),
    ]


def half_way() -> list[AnyEvent]:
    """The baseline and a pair are done, a pair died on the NPU path, another pair decodes."""
    events: list[AnyEvent] = [started(PLAN, T)]
    for place, run in enumerate(("base000000", "pair000002")):
        at = T + 20 * place
        events += opening(run, at)
        for rep in range(3):
            events += call(run, rep, at + 4 + 2 * rep)
        events.append(RunEnded(t=at + 15, run=run, attempt=1, status="ok", done=3, todo=3, peak_rss_mb=850))
    events += opening("npu0000000", T + 40)
    events.append(
        RunEnded(
            t=T + 50, run="npu0000000", attempt=1, status="failed", failure="native_crash", phase="construct",
            reason="the process died of signal 11 while the pipeline was built", exit_name="SIGSEGV",
            tail=["LLVM ERROR: out of words"], todo=3,
        )
    )  # fmt: skip
    events += opening("pair000003", T + 60)
    events += call("pair000003", 0, T + 64)
    events += call("pair000003", 1, T + 67, rounds=7)
    return events


RESULTS = (
    Result("base000000", "big CPU PA", "story", "ok", tok_s=20.0, tok_s_sd=0.4),
    Result(
        "pair000002", "big CPU + small CPU nat 2", "story", "ok", tok_s=31.4, tok_s_sd=0.9, speedup=1.57,
        speedup_lo=1.49, speedup_hi=1.66, acceptance=0.71, tokens_per_round=1.71, noisy=True,
    ),
    Result("npu0000000", "big CPU + small NPU* nat 3", "story", "failed", reason="native_crash"),
)  # fmt: skip


def update_of(
    events: list[AnyEvent],
    verdict: Verdict = RUNNING,
    now: float = T + 70,
    **changes: Any,
) -> Update:
    """What the tailer would post after these events."""
    fold = Fold(spelling)
    for event in events:
        fold.apply(event)
    state = fold.state(verdict, now, results=changes.pop("results", RESULTS), folder=NAME)
    return Update(state, moment=len(events), events=len(events), **changes)


def finished() -> list[AnyEvent]:
    """`half_way`, run to the end."""
    events = [*half_way()[:-3]]
    for place, run in enumerate(("pair000003", "pair000005")):
        at = T + 80 + 20 * place
        events += opening(run, at)
        for rep in range(3):
            events += call(run, rep, at + 4 + 2 * rep)
        events.append(RunEnded(t=at + 15, run=run, attempt=1, status="ok", done=3, todo=3, peak_rss_mb=850))
    return [*events, SweepEnded(t=T + 120, status="done")]


class FakeTailer:
    """Takes what the screen asks of a tailer."""

    def __init__(self) -> None:
        self.sought: list[tuple[str, float]] = []
        self.stopped = False

    def seek(self, how: str, value: float) -> None:
        self.sought.append((how, value))

    def stop(self) -> None:
        self.stopped = True


def screen_of(app: SpecdecApp) -> WatchScreen:
    """The Watch screen on top."""
    screen = app.screen
    assert isinstance(screen, WatchScreen)
    return screen


def feed(app: SpecdecApp, folder: Path, update: Update) -> None:
    """Post an update as the tailer does."""
    screen_of(app).post_message(attach.Updated(update, folder))


def make_sure(app: object) -> SpecdecApp:
    """The app, by its own type."""
    assert isinstance(app, SpecdecApp)
    return app


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
