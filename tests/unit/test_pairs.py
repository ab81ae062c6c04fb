"""order = "paired": each rep has its baseline beside it, and a speed-up is made of such pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.live.fold import Fold
from sweeps.costmodel import model
from sweeps.costmodel.cases import cases, draft_alone
from sweeps.events.types import Event, RepDone, RepStarted, RunStarted, SweepEnded
from sweeps.events.writer import JournalWriter
from sweeps.plan.beside import beside
from sweeps.plan.model import Finding, Plan, Run
from sweeps.store import frames
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.jobs import make_job
from sweeps.supervise.leftovers import recover
from sweeps.supervise.progress import read_progress
from sweeps.supervise.state import Verdict
from sweeps.worker.job import Job, Todo
from tests.unit import journal_kit as kit

BASE = kit.plain("base")
SDPA = kit.plain("sdpa", "SDPA")
DEFAULT = kit.plain("default", None)
SMALL = msgspec.structs.replace(
    kit.plain("small"), config=msgspec.structs.replace(kit.plain("small").config, target="small")
)
CB = msgspec.structs.replace(kit.speculative("cb3", default="default"), draft_alone="small")
AGREEMENT = msgspec.structs.replace(kit.speculative("agree", nat=None, kind="agreement"), baseline="base")
RUNS = (BASE, SDPA, DEFAULT, SMALL, CB, AGREEMENT)
SLOW = (1.0, 2.0, 1.5)
"""How much slower the machine is at each rep."""


def test_a_row_stands_beside_its_baseline_and_so_does_what_it_is_compared_with() -> None:
    found = {run.id: beside(RUNS, run) for run in RUNS}
    assert found == {
        "base": None, "sdpa": None, "default": "base", "small": "base", "cb3": "base", "agree": None,
    }  # fmt: skip


def job(plan: Plan, run: Run) -> Job:
    return make_job(plan, run, 1, [Todo("story", "x", 1, [0])], Path("spool"))


def test_the_worker_is_told_of_the_baseline_only_in_pairs() -> None:
    paired = kit.plan(*RUNS, order="paired")
    told = job(paired, CB).beside
    assert told is not None
    assert (told.kind, told.run, told.draft_dir) == ("plain", "cb3", None)
    assert told.target_properties == BASE.target_properties
    assert told.beside is None
    assert job(paired, BASE).beside is None
    assert job(kit.plan(*RUNS, order="interleaved"), CB).beside is None
    again = msgspec.json.decode(msgspec.json.encode(job(paired, CB)), type=Job)
    assert again == job(paired, CB)


def test_a_refused_baseline_stands_beside_nothing() -> None:
    refused = msgspec.structs.replace(BASE, findings=(Finding("refused", "bad", "no"),))
    assert job(kit.plan(refused, CB, order="paired"), CB).beside is None


def pair(run: Run, base: Run, number: int, slow: float, ms: float, base_ms: float = 10.0) -> list[Event]:
    """The baseline and then the run itself, both slowed down alike."""
    names = {"run": run.id, "prompt": "story", "rep": number}
    other = kit.rep(base, number, ms=base_ms * slow, warmup=True, beside=True)
    return [
        RepStarted(t=kit.T0, warmup=True, beside=True, **names),  # type: ignore[arg-type]
        msgspec.structs.replace(other, run=run.id),
        RepStarted(t=kit.T0, **names),  # type: ignore[arg-type]
        kit.rep(run, number, ms=ms * slow),
    ]


def sweep(order: str = "paired", reps: int = 3) -> list[Event]:
    """The baseline's own row was measured on an idle machine, its neighbours on a machine in other moods."""
    plan = kit.plan(BASE, SMALL, CB, order=order, reps=reps)
    events: list[Event] = [kit.started(plan), *kit.whole_run(BASE, [kit.rep(BASE, n) for n in range(reps)])]
    for run, ms in ((SMALL, 2.0), (CB, 21.0)):
        events += kit.whole_run(run, [])[:1]
        for number in range(reps):
            events += pair(run, BASE, number, SLOW[number], ms)
        events += kit.whole_run(run, [])[-1:]
    return [*events, SweepEnded(status="done")]


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["run"]: row for row in frames.load_folder(folder).runs.to_dicts()}


def test_a_speed_up_is_of_pairs_whatever_the_machine_did_meanwhile(results: Path) -> None:
    folder = kit.write(results, sweep())
    row = rows(folder)["cb3"]
    assert row["speedup"] == pytest.approx(31 / (11 * 2.1), rel=1e-3)
    assert row["speedup_hi"] - row["speedup_lo"] < 0.01
    assert row["identity_speedup"] == pytest.approx(row["speedup"], rel=1e-2)
    assert row["noisy"] is False, "reps scatter, pairs do not"
    assert "beside each rep" in row["notes"]
    assert row["pace"] == pytest.approx((1 + 1 / 2 + 1 / 1.5) / 3, rel=1e-3)
    assert row["reps"] == 3, "what stands beside a rep is none"


def test_the_draft_alone_is_told_at_the_pace_of_the_baseline(results: Path) -> None:
    runs = frames.load_folder(kit.write(results, sweep())).runs
    assert draft_alone(runs)["small", "CPU"] == pytest.approx(2.0, rel=1e-2)
    assert rows(results / "kit-20260101T000000Z")["small"]["tok_s"] < 0.8 * 1000 / 2.0
    (case,) = cases(runs)
    # Twice of reps of equal weight by rate: T is of the reps that stood beside the row.
    assert case.target_ms == pytest.approx(10 / ((1 + 1 / 2 + 1 / 1.5) / 3), rel=1e-2)


def test_terms_are_told_at_the_pace_of_the_baseline_too(results: Path) -> None:
    """Reps of a machine in three moods teach what a machine in one mood would: the row itself comes out."""
    tables = frames.load_folder(kit.write(results, sweep()))
    known = model.tables(tables.runs, tables.rounds)
    (case,) = known.cases
    assert known.paired
    assert model.train(known, [case]).predict(case).speedup == pytest.approx(case.speedup, rel=0.02)
    unaware = model.tables(tables.runs, tables.rounds.with_columns(pace=None))
    assert model.train(unaware, [case]).predict(case).speedup < 0.95 * case.speedup


def test_reps_without_a_partner_are_left_out_of_the_speed_up_only(results: Path) -> None:
    events = [e for e in sweep() if not (isinstance(e, RepDone) and e.beside and e.rep == 1)]
    row = rows(kit.write(results, events))["cb3"]
    assert row["reps"] == 3
    assert row["speedup"] == pytest.approx(31 / (11 * 2.1), rel=1e-3)


def test_pairs_stay_pairs_when_the_sweep_goes_on_in_another_order(results: Path) -> None:
    row = rows(kit.write(results, sweep("grouped")))["cb3"]
    assert row["speedup"] == pytest.approx(31 / (11 * 2.1), rel=1e-3)


def test_a_prompt_of_another_text_takes_its_pairs_along(results: Path) -> None:
    plan = kit.plan(BASE, SMALL, CB, order="paired")
    changed = msgspec.structs.replace(plan.prompts[0], text="another", hash="another")
    events = [*sweep(), kit.started(msgspec.structs.replace(plan, prompts=(changed,)))]
    row = rows(kit.write(results, events))["cb3"]
    assert (row["reps"], row["speedup"], row["pace"]) == (0, None, None)


def test_the_live_view_counts_no_pair_and_finds_no_acceptance_in_it() -> None:
    fold = Fold(lambda path: lambda token: b"a")
    first, done, *rest = pair(CB, BASE, 0, 1.0, 21.0)
    for event in (kit.started(kit.plan(BASE, CB, order="paired")), first, done):
        fold.apply(event)  # type: ignore[arg-type]
    view = fold.state(Verdict("running", "a test says so", 1), kit.T0).run("cb3")
    assert view is not None
    assert view.rep is not None
    assert (view.rep.kind, view.done, view.rep.metrics.proposals) == ("baseline", 0, None)
    assert view.rep.metrics.tokens == kit.BUDGET
    for event in rest:
        fold.apply(event)  # type: ignore[arg-type]
    view = fold.state(Verdict("running", "a test says so", 1), kit.T0).run("cb3")
    assert view is not None
    assert view.rep is not None
    assert (view.rep.kind, view.done) == ("rep", 1)
    assert view.rep.metrics.proposals


@pytest.mark.parametrize("baseline_first", [True, False])
def test_what_a_killed_supervisor_left_is_taken_over_in_pairs(results: Path, baseline_first: bool) -> None:
    plan = kit.plan(BASE, CB, order="paired")
    folder = SweepFolder(results / "s")
    folder.spool.mkdir(parents=True)
    with JournalWriter(folder.journal) as writer:
        writer.event(kit.started(plan))
        writer.event(RunStarted(run="cb3", attempt=1, pid=1, todo=3))
    _, other, _, own = pair(CB, BASE, 0, 1.0, 21.0)
    left = [other, own] if baseline_first else [own, other]
    (folder.spool / "cb3-1.events.jsonl").write_bytes(kit.lines(left))
    assert recover(folder) == 1
    written = [
        msgspec.json.decode(line, type=RepDone) for line in folder.journal.read_bytes().splitlines()[2:]
    ]
    assert [done.beside for done in written] == [False, True]
    assert read_progress(folder.journal).reps["cb3", "story"] == {0}
