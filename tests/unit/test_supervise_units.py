"""Pieces of supervision that need no worker: folders, preparation, progress, requests, exit ways."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
import pytest

from sweeps.events.types import (
    Agreement,
    LoopTimes,
    RepDone,
    RunEnded,
    RunStarted,
    SweepStarted,
    VerifyWidths,
)
from sweeps.plan.model import Config, Plan, Prompt, Run
from sweeps.spec.model import Order, Protocol
from sweeps.supervise import conditions
from sweeps.supervise.folder import SweepFolder, find_folders, new_folder, slug
from sweeps.supervise.leftovers import started_and_not_ended
from sweeps.supervise.owner import Busy, MachineLock
from sweeps.supervise.prepare import prepare, read_plan
from sweeps.supervise.progress import Progress, passes

LOOP = LoopTimes(run="s1", prompt="a", verify_ms={}, again_ms={}, first_ms={}, later_ms=[], rep=2)


def plan(name: str = "p", text: str = "x", reps: int = 2) -> Plan:
    run = Run("r1", Config("plain", "m", "CPU"), "cb", False, "/m", {})
    return Plan(name, Protocol(reps=reps), (Prompt("a", text, f"hash of {text}"),), (run,))


def done(rep: int) -> RepDone:
    return RepDone(run="r1", prompt="a", rep=rep, wall_us=1, burst_us=[1], burst_sizes=[1], token_ids=[1])


def started(of: Plan) -> SweepStarted:
    return SweepStarted(sweep=of.sweep, pid=1, plan=msgspec.Raw(msgspec.json.encode(of)))


def test_two_names_that_look_alike_as_files_have_folders_of_their_own(results: Path) -> None:
    one = prepare(results, plan("a b"), "")
    two = prepare(results, plan("a-b"), "")
    assert slug("a b") == slug("a-b")
    assert one.path != two.path
    assert prepare(results, plan("a b"), "").path == one.path
    assert prepare(results, plan("a b"), "", fresh=True).path not in (one.path, two.path)
    assert read_plan(two).sweep == "a-b"


def test_a_refused_start_leaves_the_running_sweep_s_files_alone(results: Path) -> None:
    folder = prepare(results, plan(text="first"), "first")
    with MachineLock(folder.path), pytest.raises(Busy):
        prepare(results, plan(text="second"), "second")
    assert folder.sweep_file.read_text(encoding="utf-8") == "first"
    assert read_plan(folder).prompts[0].text == "first"


def test_folders_are_found_by_sweep_and_by_their_own_name(results: Path) -> None:
    folder = new_folder(results, "nat-scan")
    other = new_folder(results, "nat")
    for each in (folder, other):
        each.journal.touch()
    assert [found.name for found in find_folders(results, "nat")] == [other.name]
    assert [found.name for found in find_folders(results, folder.name)] == [folder.name]
    assert find_folders(results / "none") == []


def test_what_is_missing_after_some_reps() -> None:
    progress = Progress()
    current = plan(reps=3)
    progress.apply(started(current))
    progress.apply(done(0))
    progress.apply(done(2))
    (todo,) = progress.missing(current, current.runs[0])
    assert todo.reps == [1]


def test_another_text_under_the_same_name_is_measured_anew_even_after_a_detour() -> None:
    progress = Progress()
    first, without, second = plan(text="x"), msgspec.structs.replace(plan(), prompts=()), plan(text="y")
    for event in (started(first), done(0), done(1), started(without), started(second)):
        progress.apply(event)
    (todo,) = progress.missing(second, second.runs[0])
    assert todo.reps == [0, 1]


def test_a_failed_prompt_is_left_alone_until_it_is_asked_for_again() -> None:
    progress, current = Progress(), plan()
    progress.apply(started(current))
    progress.apply(RunEnded(run="r1", attempt=1, status="failed", failure="killed", prompt="a"))
    assert progress.missing(current, current.runs[0]) == []
    progress.forget_failures()
    assert len(progress.missing(current, current.runs[0])) == 1


def scoring(order: Order, device: str = "CPU") -> Plan:
    base = plan(reps=3)
    config = Config("agreement", "m", device, draft="d", draft_device="CPU")
    run = Run("s1", config, "default", False, "/m", {}, baseline="r1")
    protocol = msgspec.structs.replace(base.protocol, order=order)
    return msgspec.structs.replace(base, protocol=protocol, runs=(*base.runs, run))


@pytest.mark.parametrize("probe", [VerifyWidths(run="s1", prompt="a", ms={}, rep=2), LOOP])
def test_an_interleaved_sweep_times_in_every_pass_and_scores_once(probe: VerifyWidths | LoopTimes) -> None:
    progress, current = Progress(), scoring("interleaved")
    run = current.runs[1]
    assert passes(current, run) == 3
    for event in (started(current), done(0), Agreement(run="s1", prompt="a", bits="1", token_ids=[1])):
        progress.apply(event)
    (todo,) = progress.missing(current, run)
    assert todo.reps == [1, 2]
    assert progress.missing(current, run, range(1)) == []
    progress.apply(probe)
    (todo,) = progress.missing(current, run)
    assert todo.reps == [1]


@pytest.mark.parametrize(("order", "device"), [("grouped", "CPU"), ("interleaved", "NPU")])
def test_elsewhere_an_agreement_run_is_done_with_its_strings(order: Order, device: str) -> None:
    progress, current = Progress(), scoring(order, device)
    assert passes(current, current.runs[1]) == 1
    for event in (started(current), done(0), Agreement(run="s1", prompt="a", bits="1", token_ids=[1])):
        progress.apply(event)
    assert progress.missing(current, current.runs[1]) == []


def test_times_without_a_string_leave_the_string_to_be_made() -> None:
    """The first pass was killed between its prompts: its times do not stand for its strings."""
    progress, current = Progress(), scoring("interleaved")
    for event in (started(current), done(0), msgspec.structs.replace(LOOP, rep=0), LOOP):
        progress.apply(event)
    (todo,) = progress.missing(current, current.runs[1])
    assert todo.reps == [0, 1]


def test_workers_without_a_recorded_end_are_orphans() -> None:
    first = RunStarted(run="r1", attempt=1, pid=11, todo=1)
    second = RunStarted(run="r2", attempt=1, pid=12, todo=1)
    assert started_and_not_ended([first, RunEnded(run="r1", attempt=1, status="ok"), second]) == [second]


def test_a_folder_knows_its_places(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path / "s")
    assert folder.stderr("abc").parent.name == "stderr"
    assert folder.journal.parent == folder.plan.parent == folder.path


def test_throttlings_are_those_of_the_most_throttled_core(tmp_path: Path) -> None:
    assert conditions.throttle_count(tmp_path) == 0
    for core, count in (("cpu0", "3\n"), ("cpu1", "11\n"), ("cpu2", "not a number\n")):
        folder = tmp_path / core / "thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text(count)
    assert conditions.throttle_count(tmp_path) == 11


class _Core(NamedTuple):
    current: float


class _Battery(NamedTuple):
    power_plugged: bool | None
    percent: float = 50.0


def test_conditions_are_read_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_freq", lambda percpu=False: [_Core(800.0), _Core(4200.0)])
    monkeypatch.setattr(psutil, "sensors_battery", lambda: _Battery(False), raising=False)
    found = conditions.conditions()
    assert (found.freq_mhz, found.on_battery) == (4200.0, True)
    monkeypatch.setattr(psutil, "cpu_freq", lambda percpu=False: [])
    monkeypatch.setattr(psutil, "sensors_battery", lambda: _Battery(None), raising=False)
    found = conditions.conditions()
    assert (found.freq_mhz, found.on_battery) == (None, False)
