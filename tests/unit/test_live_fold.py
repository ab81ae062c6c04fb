"""Events to live state: what each event changes, ETAs, resumption, replay."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.live import eta
from explorer.live.fold import Fold
from explorer.live.labels import label, one_target
from explorer.live.replay import Timeline
from explorer.live.state import LiveState, Metrics
from sweeps.events.types import (
    AnyEvent,
    Constructed,
    Log,
    PhaseBegan,
    RepDone,
    RepStarted,
    RunEnded,
    RunStarted,
    Sample,
    SweepEnded,
    Tokens,
)
from sweeps.events.writer import JournalWriter
from sweeps.plan.model import Finding
from sweeps.supervise.state import Verdict
from tests.unit.journal_kit import BUDGET, plain, plan, speculative, started

RUNNING = Verdict("running", "a test says so", 1)
CRASHED = Verdict("crashed", "process 1 is gone", 1)
BASE, PAIR = plain("base"), speculative("pair")
T = 1_790_000_000.0


def letters(folder: Path) -> object:
    return lambda token: bytes([97 + token % 26])


def fold(*events: AnyEvent) -> Fold:
    made = Fold(letters)  # type: ignore[arg-type]
    for event in events:
        made.apply(event)
    return made


def call(run: str = "pair", rep: int = 0, t: float = T, warmup: bool = False) -> list[AnyEvent]:
    """A call of 32 tokens: the first at 100 ms, then ten rounds of three and one of one, 50 ms each."""
    sizes = [1] + [3] * 10 + [1]
    times = [100_000 + 50_000 * place for place in range(len(sizes))]
    ids = [[token] * size for token, size in enumerate(sizes)]
    names = {"run": run, "prompt": "story", "rep": rep, "warmup": warmup}
    flat = [token for burst in ids for token in burst]
    return [
        RepStarted(t=t, **names),  # type: ignore[arg-type]
        Tokens(t=t + 0.3, us=times[:6], ids=ids[:6], **names),  # type: ignore[arg-type]
        Tokens(t=t + 0.6, us=times[6:], ids=ids[6:], **names),  # type: ignore[arg-type]
        RepDone(
            t=t + 0.7, wall_us=700_000, burst_us=times, burst_sizes=sizes, token_ids=flat, **names  # type: ignore[arg-type]
        ),
    ]  # fmt: skip


def run_events(run: str, t: float, reps: int = 3, took: float = 10.0) -> list[AnyEvent]:
    events: list[AnyEvent] = [RunStarted(t=t, run=run, attempt=1, pid=2, todo=reps)]
    for rep in range(reps):
        events += call(run, rep, t + rep)
    return [*events, RunEnded(t=t + took, run=run, attempt=1, status="ok", done=reps, todo=reps)]


def view(made: Fold, run: str, verdict: Verdict = RUNNING, now: float = T) -> LiveState:
    state = made.state(verdict, now)
    assert state.run(run) is not None
    return state


def test_live_metrics_are_those_of_the_finished_call() -> None:
    events = call()
    live = fold(started(plan(BASE, PAIR)), *events[:3]).state(RUNNING, T).run("pair")
    done = fold(started(plan(BASE, PAIR)), *events).state(RUNNING, T).run("pair")
    assert live is not None and live.rep is not None and done is not None and done.rep is not None
    assert live.rep.metrics == done.rep.metrics
    metrics = done.rep.metrics
    assert metrics.tokens == 32
    assert metrics.rounds == 11
    assert metrics.accepted == 20
    # By hand: NAT 3 in ten rounds (29 remaining or more), one proposal fewer than what remains at the end.
    assert metrics.proposals == 3 * 10 + 0
    assert metrics.acceptance == pytest.approx(20 / 30)
    assert metrics.tokens_per_round == pytest.approx(1 + 20 / 11)
    assert metrics.ttft_ms == 100.0
    assert metrics.tpot_ms == pytest.approx(550 / 31)
    assert metrics.tok_s == pytest.approx(31 / 0.55)


def test_the_text_is_told_apart_by_source_and_kept_after_the_call() -> None:
    state = fold(started(plan(BASE, PAIR)), *call()).state(RUNNING, T)
    run = state.run("pair")
    assert run is not None and run.rep is not None
    assert "".join(piece.text for piece in run.rep.pieces)[:7] == "abbbccc"
    assert "".join(piece.text for piece in run.rep.pieces if piece.accepted)[:4] == "bbcc"


def test_a_recovered_rep_without_bursts_gets_its_text_from_its_ids() -> None:
    done = call()[-1]
    run = fold(started(plan(BASE, PAIR)), done).state(RUNNING, T).run("pair")
    assert run is not None and run.rep is not None
    assert "".join(piece.text for piece in run.rep.pieces).startswith("abbb")
    assert run.done == 1


def test_warm_ups_do_not_count_and_a_rep_measured_twice_counts_once() -> None:
    events = [*call(warmup=True), *call(rep=0), *call(rep=0), *call(rep=1)]
    run = fold(started(plan(BASE, PAIR)), *events).state(RUNNING, T).run("pair")
    assert run is not None
    assert (run.done, run.todo) == (2, 3)


def test_a_plain_run_has_no_acceptance() -> None:
    state = fold(started(plan(BASE, PAIR)), *call("base")).state(RUNNING, T)
    run = state.run("base")
    assert run is not None and run.rep is not None
    assert run.rep.metrics.acceptance is None


def test_with_a_confidence_threshold_the_proposals_are_unknown() -> None:
    unknown = speculative("pair", nat=3, threshold=0.4)
    run = fold(started(plan(BASE, unknown)), *call()).state(RUNNING, T).run("pair")
    assert run is not None and run.rep is not None
    assert run.rep.metrics.proposals is None
    assert run.rep.metrics.acceptance is None
    assert run.rep.metrics.accepted == 20


def test_phases_resources_and_construction() -> None:
    made = fold(
        started(plan(BASE, PAIR)),
        RunStarted(t=T + 1, run="pair", attempt=2, pid=7, todo=3),
        PhaseBegan(t=T + 2, run="pair", phase="construct"),
        Sample(t=T + 3, run="pair", rss_mb=500, cpu=1.5, other_cpu=0.2),
        Sample(t=T + 4, run="pair", rss_mb=400, cpu=1.0, other_cpu=0.1),
        Constructed(t=T + 5, run="pair", construct_s=3.0, devices={"CPU": "a processor"}),
    )
    run = made.state(RUNNING, T + 6).run("pair")
    assert run is not None
    assert (run.word, run.phase, run.phase_began, run.attempt) == ("running", "construct", T + 2, 2)
    assert (run.rss_mb, run.peak_rss_mb, run.cpu, run.other_cpu) == (400, 500, 1.0, 0.1)
    assert run.construct_s == 3.0
    assert run.devices == (("CPU", "a processor"),)


def test_a_failed_run_says_what_it_died_of_and_is_grouped_by_class() -> None:
    other = speculative("other", nat=5)
    state = fold(
        started(plan(BASE, PAIR, other)),
        RunStarted(t=T, run="pair", attempt=1, pid=1, todo=3),
        RunEnded(
            t=T + 5, run="pair", attempt=1, status="failed", failure="native_crash", reason="it died",
            exit_name="SIGSEGV", phase="construct", tail=["last words"],
        ),
        RunStarted(t=T + 6, run="other", attempt=1, pid=1, todo=3),
        RunEnded(t=T + 7, run="other", attempt=1, status="failed", failure="native_crash", reason="too"),
    ).state(RUNNING, T + 8)  # fmt: skip
    assert [(group.failure, [run.id for run in group.runs]) for group in state.errors] == [
        ("native_crash", ["pair", "other"])
    ]
    run = state.run("pair")
    assert run is not None
    assert (run.word, run.exit_name, run.phase, run.tail) == (
        "failed",
        "SIGSEGV",
        "construct",
        ("last words",),
    )
    assert state.runs_over == 2


def test_a_run_whose_other_prompt_failed_stays_failed() -> None:
    two = plan(BASE, PAIR, prompts=("story", "poem"), reps=1)
    state = fold(
        started(two),
        RunStarted(t=T, run="pair", attempt=1, pid=1, todo=2),
        RunEnded(t=T + 1, run="pair", attempt=1, status="failed", failure="device_lost", prompt="poem"),
        RunStarted(t=T + 2, run="pair", attempt=2, pid=1, todo=1),
        *call(rep=0),
        RunEnded(t=T + 3, run="pair", attempt=2, status="ok", done=1, todo=1),
    ).state(RUNNING, T + 4)
    run = state.run("pair")
    assert run is not None
    assert (run.word, run.failure, run.done, run.todo) == ("failed", "device_lost", 1, 2)


def test_an_interleaved_run_waits_between_its_passes() -> None:
    state = fold(
        started(plan(BASE, PAIR, order="interleaved")),
        RunStarted(t=T, run="pair", attempt=1, pid=1, todo=1),
        *call(rep=0),
        RunEnded(t=T + 3, run="pair", attempt=1, status="ok", done=1, todo=1),
    ).state(RUNNING, T + 4)
    run = state.run("pair")
    assert run is not None
    assert run.word == "waiting"


def test_refused_runs_are_known_before_they_are_reached() -> None:
    finding = Finding("refused", "bad_pair", "two vocabularies", "take another draft")
    refused = msgspec.structs.replace(PAIR, findings=(finding,))
    state = fold(started(plan(BASE, refused))).state(RUNNING, T)
    run = state.run("pair")
    assert run is not None
    assert (run.word, run.failure, run.reason) == ("refused", "bad_pair", "two vocabularies")
    assert state.sweep_progress.total == 3, "a refused run is no work"


def test_what_ran_when_the_supervisor_died_is_cut_off_and_queued_again_later() -> None:
    events = [started(plan(BASE, PAIR)), RunStarted(t=T, run="pair", attempt=1, pid=1, todo=3), *call(rep=0)]
    crashed = fold(*events).state(CRASHED, T + 9).run("pair")
    assert crashed is not None
    assert crashed.word == "cut off"
    again = fold(*events, started(plan(BASE, PAIR), T + 20)).state(RUNNING, T + 21)
    resumed = again.run("pair")
    assert resumed is not None
    assert (resumed.word, resumed.done) == ("queued", 1)
    assert "taken up again" in again.notes[-1].message


def test_the_end_is_remembered_until_another_supervisor_starts() -> None:
    made = fold(started(plan(BASE)), SweepEnded(t=T, status="stopped"))
    assert made.ended == "stopped"
    made.apply(started(plan(BASE), T + 1))
    assert made.ended is None


def test_time_without_a_supervisor_is_not_the_sweeps() -> None:
    begun = started(plan(BASE))
    made = fold(begun, *run_events("base", begun.t, took=12.0))
    worked = made.last - begun.t
    made.apply(msgspec.structs.replace(begun, t=begun.t + 3600))
    state = made.state(RUNNING, begun.t + 3700)
    assert state.began == begun.t
    assert state.now - state.began - state.idle_s == pytest.approx(worked + 100)


def test_events_of_unknown_runs_and_a_broken_plan_are_survived() -> None:
    broken = msgspec.structs.replace(started(plan(BASE)), plan=msgspec.Raw(b'{"sweep": 1}'))
    made = fold(broken, RunStarted(run="nobody", attempt=1, pid=1, todo=1), Log(message="a word"))
    state = made.state(RUNNING, T)
    assert state.runs == ()
    assert [note.message for note in state.notes][-1] == "a word"
    assert "plan" in state.notes[0].message


# -- how long it takes --------------------------------------------------------------------------------


def test_eta_is_rough_until_every_run_to_come_has_a_like_one() -> None:
    assert fold(started(plan(BASE, PAIR))).state(RUNNING, T).sweep_progress.eta_s is None
    first = fold(started(plan(BASE, PAIR)), *run_events("base", T, took=12.0)).state(RUNNING, T + 12)
    assert first.sweep_progress.eta_s == pytest.approx(12.0), "at the pace of the only kind that was seen"
    assert first.sweep_progress.rough
    twice = fold(started(plan(BASE, plain("base2"))), *run_events("base", T, took=12.0)).state(
        RUNNING, T + 12
    )
    assert not twice.sweep_progress.rough


def test_eta_takes_the_median_of_like_runs_with_their_construction() -> None:
    pairs = [speculative(f"p{nat}", nat=nat) for nat in (1, 2, 3, 4)]
    events: list[AnyEvent] = [started(plan(*pairs))]
    for place, took in enumerate((9.0, 30.0, 12.0)):
        events += run_events(f"p{place + 1}", T + 100 * place, took=took)
    state = fold(*events).state(RUNNING, T + 400)
    assert state.sweep_progress.eta_s == pytest.approx(12.0), "3 reps at the median of 3, 10 and 4 s"
    assert (state.sweep_progress.done, state.sweep_progress.total) == (9, 12)


def test_a_like_run_on_another_model_is_only_a_second_choice() -> None:
    near = plain("near")
    near = msgspec.structs.replace(near, config=msgspec.structs.replace(near.config, target="small"))
    state = fold(started(plan(BASE, near)), *run_events("base", T, took=6.0)).state(RUNNING, T + 6)
    assert state.sweep_progress.eta_s == pytest.approx(6.0)


def test_the_running_runs_own_pace_counts_down() -> None:
    events: list[AnyEvent] = [started(plan(PAIR)), RunStarted(t=T, run="pair", attempt=1, pid=1, todo=3)]
    made = fold(*events, *call(rep=0, t=T + 3))
    at_once = made.state(RUNNING, T + 4).run_progress
    later = made.state(RUNNING, T + 5).run_progress
    assert at_once.eta_s == pytest.approx(8.0)
    assert later.eta_s is not None and later.eta_s <= 10.0
    assert (at_once.done, at_once.total) == (1, 3)


def test_rep_progress_from_its_own_pace() -> None:
    progress = eta.rep_progress(Metrics(tokens=12, tpot_ms=50.0), BUDGET)
    assert (progress.done, progress.total, progress.eta_s) == (12, 32, 1.0)
    assert eta.rep_progress(Metrics(), BUDGET).eta_s is None


# -- names --------------------------------------------------------------------------------------------


def test_labels() -> None:
    assert label(PAIR.config) == "big CPU + small CPU nat 3"
    assert label(speculative("n", draft_device="NPU").config, emulated=True) == "big CPU + small NPU* nat 3"
    assert label(PAIR.config, target=False) == "+ small CPU nat 3"
    assert label(BASE.config, target=False) == "big CPU PA"
    assert one_target([BASE, PAIR])
    assert not one_target([BASE])


# -- replay -------------------------------------------------------------------------------------------


def long_journal(folder: Path) -> tuple[list[AnyEvent], Path]:
    pairs = [speculative(f"p{nat}", nat=nat) for nat in range(1, 5)]
    events: list[AnyEvent] = [started(plan(*pairs, reps=40))]
    for place, run in enumerate(pairs):
        events += run_events(run.id, T + 1000 * place, reps=40, took=100.0)
    path = folder / "journal.jsonl"
    with JournalWriter(path) as writer:
        for event in events:
            writer.event(event)
    return events, path


@given(st.data())
def test_any_moment_of_a_replay_is_the_fold_of_the_events_before_it(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    events, path = long_journal(folder)
    whole = Fold(letters)  # type: ignore[arg-type]
    timeline = Timeline(path, whole)
    offset, size = 0, 0
    cut = data.draw(st.integers(1, 200))
    with path.open("rb") as file:
        lines = file.readlines()
    for start in range(0, len(events), cut):
        chunk = events[start : start + cut]
        for event in chunk:
            whole.apply(event)
        size += sum(map(len, lines[start : start + cut]))
        offset = size
        timeline.add(chunk, offset, whole)
    moment = data.draw(st.integers(0, len(events)))
    assert timeline.at(moment).state(RUNNING, T) == fold(*events[:moment]).state(RUNNING, T)


def test_steps_from_run_to_run(tmp_path: Path) -> None:
    events, path = long_journal(tmp_path)
    whole = fold()
    timeline = Timeline(path, whole)
    timeline.add(events, 0, whole)
    starts = [place + 1 for place, event in enumerate(events) if isinstance(event, RunStarted)]
    assert timeline.runs == starts
    assert timeline.next_run(starts[0], 1) == starts[1]
    assert timeline.next_run(starts[1], -1) == starts[0]
    assert timeline.next_run(starts[0], -1) == 0
    assert timeline.next_run(starts[-1], 1) == len(events)
