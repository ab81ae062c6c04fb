"""Folding a journal into the state of each run."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sweeps.events.types import (
    Agreement,
    Constructed,
    Event,
    Log,
    PhaseBegan,
    PromptEncoded,
    RepStarted,
    RunEnded,
    RunStarted,
    Sample,
    SweepEnded,
    WorkerError,
)
from sweeps.plan.model import Finding
from sweeps.store.state import SweepState, finished_reps, fold
from tests.unit import journal_kit as kit

BASE = kit.plain("base")
CB = kit.speculative("cb3")
PLAN = kit.plan(BASE, CB, prompts=("story", "code"))


def folded(*events: Event) -> SweepState:
    return fold(list(events))  # type: ignore[arg-type]


def test_nothing_has_begun() -> None:
    state = folded(kit.started(PLAN))
    assert (state.status, state.host, list(state.runs)) == ("running", "laptop", ["base", "cb3"])
    assert state.row_status("base", "story")[0] == "queued"
    assert finished_reps(state) == {"base": {}, "cb3": {}}


def test_a_run_on_its_way() -> None:
    state = folded(kit.started(PLAN), RunStarted(run="base", attempt=1, pid=7, todo=6))
    assert [state.row_status("base", p)[0] for p in state.prompts] == ["running", "running"]
    fold([PhaseBegan(t=5.0, run="base", phase="construct")], state)
    assert (state.runs["base"].phase, state.runs["base"].phase_since, state.runs["base"].pid) == (
        "construct",
        5.0,
        7,
    )
    fold([Constructed(run="base", construct_s=2.5, genai="2026.4.1.0")], state)
    fold([PromptEncoded(run="base", prompt="story", tokens=40)], state)
    fold([RepStarted(t=9.0, run="base", prompt="story", rep=0), kit.rep(BASE, 0)], state)
    assert [state.row_status("base", p)[0] for p in state.prompts] == ["running", "queued"]
    assert (state.runs["base"].construct_s, state.runs["base"].prompt_tokens) == (2.5, {"story": 40})
    assert finished_reps(state)["base"] == {"story": {0}}


def test_warm_ups_do_not_count_and_a_rep_measured_twice_counts_once() -> None:
    warm = msgspec.structs.replace(kit.rep(BASE, 0), warmup=True)
    state = folded(kit.started(PLAN), warm, kit.rep(BASE, 0, ms=10), kit.rep(BASE, 0, ms=20, attempt=2))
    assert len(state.reps) == 1
    assert state.reps["base", "story", 0].done.attempt == 2
    assert state.done("base", "story") == {0}


def test_a_crash_keeps_what_was_measured_and_names_the_prompt() -> None:
    state = folded(
        kit.started(PLAN),
        RunStarted(run="base", attempt=1, pid=7, todo=6),
        *(kit.rep(BASE, n) for n in range(3)),
        RepStarted(run="base", prompt="code", rep=0),
        kit.rep(BASE, 0, prompt="code"),
        RepStarted(run="base", prompt="code", rep=1),
        RunEnded(
            run="base",
            attempt=1,
            status="failed",
            failure="native_crash",
            reason="signal SEGV",
            prompt="code",
            exit_name="SIGSEGV",
            tail=["boom"],
        ),
    )
    assert state.row_status("base", "story") == ("ok", ("", ""))
    assert state.row_status("base", "code") == ("failed", ("native_crash", "signal SEGV (1 of 3 reps kept)"))
    assert state.runs["base"].tail == ["boom"]


def test_the_other_prompts_go_on_in_a_fresh_process() -> None:
    crash = RunEnded(
        run="base", attempt=1, status="failed", failure="timeout", reason="no token in 60 s", prompt="story"
    )
    state = folded(
        kit.started(PLAN),
        RunStarted(run="base", attempt=1, pid=7, todo=6),
        RepStarted(run="base", prompt="story", rep=0),
        WorkerError(run="base", phase="decode", error="RuntimeError: x", prompt="story"),
        crash,
        RunStarted(run="base", attempt=2, pid=8, todo=3),
    )
    assert state.row_status("base", "story")[0] == "failed"
    assert state.row_status("base", "code")[0] == "running"
    fold([kit.rep(BASE, n, prompt="code", attempt=2) for n in range(3)], state)
    fold([RunEnded(run="base", attempt=2, status="ok")], state)
    assert state.row_status("base", "story") == ("failed", ("timeout", "no token in 60 s"))
    assert state.row_status("base", "code")[0] == "ok"
    assert state.runs["base"].attempt == 2


def test_a_failure_before_any_prompt_concerns_all() -> None:
    ended = RunEnded(run="cb3", attempt=1, status="failed", failure="bad_pair", reason="Vocab sizes")
    state = folded(kit.started(PLAN), RunStarted(run="cb3", attempt=1, pid=7, todo=6), ended)
    assert [state.row_status("cb3", p) for p in state.prompts] == [
        ("failed", ("bad_pair", "Vocab sizes"))
    ] * 2


def test_refused_skipped_and_cancelled() -> None:
    refusal = Finding("refused", "u4_zero_points", "196 u4 zero points", "export it again")
    refused = msgspec.structs.replace(CB, findings=(refusal,))
    state = folded(
        kit.started(kit.plan(BASE, refused)),
        RunEnded(run="base", attempt=0, status="skipped", reason="asked for"),
    )
    assert state.row_status("cb3", "story") == (
        "refused",
        ("u4_zero_points", "196 u4 zero points; export it again"),
    )
    assert state.row_status("base", "story") == ("skipped", ("", "asked for"))
    fold([RunStarted(run="base", attempt=1, pid=1, todo=3), SweepEnded(status="interrupted")], state)
    assert state.status == "interrupted"
    assert state.row_status("base", "story")[0] == "cancelled"


def test_a_killed_supervisor_leaves_its_run_queued_for_the_next() -> None:
    state = folded(
        kit.started(PLAN),
        RunStarted(run="base", attempt=1, pid=7, todo=6),
        kit.rep(BASE, 0),
        kit.started(PLAN),
    )
    assert state.row_status("base", "story")[0] == "queued"
    assert finished_reps(state)["base"] == {"story": {0}}


def test_passes_leave_a_run_queued_in_between() -> None:
    state = folded(kit.started(PLAN), *kit.whole_run(BASE, [kit.rep(BASE, 0)]))
    assert state.row_status("base", "story")[0] == "queued"


def test_an_edited_plan() -> None:
    state = folded(kit.started(PLAN), *(kit.rep(CB, n) for n in range(3)), kit.rep(BASE, 0))
    other = kit.speculative("cb5", nat=5)
    fold([kit.started(kit.plan(BASE, other, prompts=("story", "code")))], state)
    # What was measured stays, after the runs of the plan; what was only queued goes.
    assert list(state.runs) == ["base", "cb5", "cb3"]
    assert state.row_status("cb3", "story")[0] == "ok"
    assert state.done("base", "story") == {0}


def test_another_text_under_the_same_name_is_measured_again() -> None:
    state = folded(kit.started(PLAN), kit.rep(BASE, 0), kit.rep(BASE, 0, prompt="code"))
    story, code = PLAN.prompts
    edited = msgspec.structs.replace(PLAN, prompts=(msgspec.structs.replace(story, hash="new"), code))
    fold([kit.started(edited)], state)
    assert finished_reps(state)["base"] == {"code": {0}}


def test_an_agreement_pass_is_one_rep() -> None:
    run = kit.speculative("agr", kind="agreement")
    state = folded(
        kit.started(kit.plan(BASE, run)), Agreement(run="agr", prompt="story", bits="1101", token_ids=[1])
    )
    assert state.row_status("agr", "story")[0] == "ok"
    assert finished_reps(state)["agr"] == {"story": {0}}


def test_resources_belong_to_the_rep_that_was_running() -> None:
    state = folded(
        kit.started(PLAN),
        RunStarted(run="base", attempt=1, pid=7, todo=3),
        Sample(run="base", rss_mb=900.0, cpu=1.0, other_cpu=3.0),
        RepStarted(t=100.0, run="base", prompt="story", rep=0),
        Sample(run="base", rss_mb=700.0, cpu=1.0, other_cpu=0.2),
        Sample(run="base", rss_mb=700.0, cpu=1.0, other_cpu=0.4),
        kit.rep(BASE, 0),
        kit.rep(BASE, 1, t=200.0, wall_us=10_000_000),
    )
    first, recovered = state.reps["base", "story", 0], state.reps["base", "story", 1]
    assert first.started == 100.0
    assert first.other_cpu is not None and abs(first.other_cpu - 0.3) < 1e-9
    assert (recovered.started, recovered.other_cpu) == (190.0, None)
    assert state.runs["base"].peak_rss_mb == 900.0


def test_events_of_unknown_runs_and_plans_of_newer_versions_do_no_harm() -> None:
    odd = msgspec.structs.replace(kit.started(PLAN), plan=msgspec.Raw(b'{"sweep": 3}'))
    state = folded(kit.rep(BASE, 0), Log(message="m"), odd)
    assert state.runs == {}
    assert state.plan is None
    assert len(state.problems) == 1
    assert len(state.logs) == 1


@given(st.lists(st.integers(0, 11), max_size=4))
def test_folding_in_pieces_is_folding_at_once(cuts: list[int]) -> None:
    events = [
        kit.started(PLAN),
        *kit.whole_run(BASE, [kit.rep(BASE, n) for n in range(3)]),
        SweepEnded(status="done"),
    ]
    state = SweepState()
    edges = [0, *sorted(cuts), len(events)]
    for start, end in pairwise(edges):
        fold(events[start:end], state)  # type: ignore[arg-type]
    assert state == fold(events)  # type: ignore[arg-type]
