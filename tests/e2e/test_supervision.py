"""Killed workers, killed supervisors, stops and limits: on real models, in real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from sweeps.events.types import (
    Agreement,
    LoopTimes,
    PhaseBegan,
    RepDone,
    RunEnded,
    RunStarted,
    SweepEnded,
    VerifyWidths,
)
from sweeps.plan.beside import beside
from sweeps.store.frames import load_folder
from sweeps.supervise.folder import SweepFolder, find_folders
from sweeps.supervise.prepare import read_plan
from sweeps.supervise.state import standing
from tests.e2e.engine import (
    PLAIN,
    SPECULATIVE,
    all_events,
    counted,
    events_of,
    only_folder,
    specdec,
    start_specdec,
    sweep_text,
    wait_for,
)

pytestmark = [pytest.mark.models]
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

PAIR = SPECULATIVE.format(device="CPU")


def small_pair(*, budget: int, reps: int) -> str:
    """A sweep of the pair with the larger draft as its target: its processes are up sooner."""
    return sweep_text(PAIR, budget=budget, reps=reps).replace("demo:target", "demo:draft-m")


LONG = small_pair(budget=400, reps=3)


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def decoding(results: Path) -> tuple[SweepFolder, int] | None:
    """The sweep and its worker's pid once a counted rep is under way after a finished one."""
    for folder in find_folders(results):
        steps = [e for e in all_events(folder) if isinstance(e, RunStarted | PhaseBegan | RepDone | RunEnded)]
        done = any(isinstance(step, RepDone) and not step.warmup for step in steps)
        if done and isinstance(steps[-1], PhaseBegan) and steps[-1].phase == "decode":
            return folder, [step for step in steps if isinstance(step, RunStarted)][-1].pid
    return None


def held(results: Path) -> tuple[SweepFolder, int] | None:
    """As `decoding`, with the worker stopped: its rep is still under way when the caller acts."""
    found = decoding(results)
    if found is None:
        return None
    # It may have ended since.
    with contextlib.suppress(psutil.NoSuchProcess):
        worker = psutil.Process(found[1])
        worker.suspend()
        # What it sent before may still be on its way to the journal.
        time.sleep(0.3)
        now = decoding(results)
        if now is not None and now[1] == worker.pid:
            return now
        worker.resume()
    return None


@posix
def test_killed_worker_is_one_failed_row_and_the_sweep_goes_on(tmp_path: Path, results: Path) -> None:
    sweep = write(tmp_path, LONG)
    supervisor = start_specdec("run", sweep, "--headless", "--data", str(results))
    folder, pid = wait_for(lambda: held(results))
    os.kill(pid, signal.SIGKILL)
    assert supervisor.wait(240) == 1
    ended = events_of(folder, RunEnded)
    failed = [event for event in ended if event.status == "failed"]
    assert [(event.exit_name, event.phase, event.failure) for event in failed] == [
        ("SIGKILL", "decode", "killed")
    ]
    assert any(event.status == "ok" for event in ended[ended.index(failed[0]) + 1 :])
    assert events_of(folder, SweepEnded)[-1].status == "done"
    table = specdec("table", "--data", str(results), "--where", "status = 'failed'", "--format", "json")
    assert table.stdout.count('"SIGKILL') + table.stdout.count("SIGKILL in phase decode") >= 1


@posix
def test_killed_supervisor_loses_and_repeats_no_rep(tmp_path: Path, results: Path) -> None:
    sweep = write(tmp_path, LONG)
    supervisor = start_specdec("run", sweep, "--headless", "--data", str(results))
    folder, worker = wait_for(lambda: decoding(results))
    before = counted(folder)
    supervisor.kill()
    supervisor.wait()
    wait_for(lambda: not psutil.pid_exists(worker) or psutil.Process(worker).status() == psutil.STATUS_ZOMBIE)
    assert standing(folder).word == "crashed"
    with folder.journal.open("ab") as journal:
        journal.write(b'{"type":"rep_done","run":"half-writ')
    done = specdec("run", sweep, "--resume", "--headless", "--data", str(results))
    assert done.returncode == 0, done.stderr
    reps = counted(folder)
    assert reps[: len(before)] == before
    assert max(Counter(reps).values()) == 1
    per_run = Counter(run for run, _, _ in reps)
    assert set(per_run.values()) == {3}
    again = specdec("run", sweep, "--headless", "--data", str(results))
    assert again.returncode == 0
    assert counted(folder) == reps
    assert len(find_folders(results)) == 1


@posix
def test_interrupt_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path, results: Path) -> None:
    import subprocess

    sweep = write(tmp_path, LONG)
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "explorer", "run", sweep, "--headless", "--data", str(results)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    folder, worker = wait_for(lambda: decoding(results))
    supervisor.send_signal(signal.SIGINT)
    out, err = supervisor.communicate(timeout=60)
    assert supervisor.returncode == 130
    assert "Traceback" not in err + out
    assert "specdec run" in err
    assert not psutil.pid_exists(worker)
    assert events_of(folder, SweepEnded)[-1].status == "interrupted"
    assert counted(folder)


def test_stop_skip_and_a_second_sweep(tmp_path: Path, results: Path) -> None:
    """Detached; a second sweep is refused; `--skip` ends one run; `stop` ends the sweep."""
    # Long enough for a quick machine: each run is ended by what is asked for, never by itself.
    sweep = write(tmp_path, sweep_text(PAIR, budget=600, reps=300))
    started = specdec("run", sweep, "--detach", "--data", str(results))
    assert started.returncode == 0, started.stderr
    assert "specdec watch" in started.stdout
    folder, _ = wait_for(lambda: decoding(results))
    run = events_of(folder, RunStarted)[-1].run

    second = specdec("run", "demo", "--headless", "--data", str(tmp_path / "other"))
    assert second.returncode == 1
    assert "measuring already" in second.stderr

    assert specdec("stop", "--skip", run, "--data", str(results)).returncode == 0
    wait_for(lambda: [e for e in events_of(folder, RunEnded) if e.run == run and e.status == "skipped"])
    wait_for(lambda: [e for e in events_of(folder, RunStarted) if e.run != run])
    assert specdec("stop", "--data", str(results)).returncode == 0
    end = wait_for(lambda: events_of(folder, SweepEnded))
    assert end[-1].status == "stopped"
    wait_for(lambda: standing(folder).word == "stopped")
    assert specdec("stop", "--data", str(results)).returncode == 1


def test_a_limit_ends_the_whole_tree(tmp_path: Path, results: Path) -> None:
    text = sweep_text(PLAIN.format(model="target", backend="PA"), reps=1)
    text = text.replace("reps = 1", "reps = 1\nlimits_s = { construct = 0.01 }")
    done = specdec("run", write(tmp_path, text), "--headless", "--data", str(results))
    assert done.returncode == 1
    folder = only_folder(results)
    (ended,) = events_of(folder, RunEnded)
    assert (ended.failure, ended.phase) == ("timeout", "construct")
    for event in events_of(folder, RunStarted):
        with contextlib.suppress(psutil.NoSuchProcess):
            assert psutil.Process(event.pid).status() == psutil.STATUS_ZOMBIE


def _assert_pairs(folder: SweepFolder, done: list[RepDone]) -> None:
    """Each rep of what is compared has the baseline's own text beside it, first and second in turn."""
    plan = read_plan(folder)
    texts = {e.run: e.token_ids for e in done if not e.warmup}
    for run in plan.runs:
        calls = [(e.rep, e.beside) for e in done if e.run == run.id and (e.beside or not e.warmup)]
        other = beside(plan.runs, run)
        if run.config.kind != "agreement":
            assert calls == (
                [(0, True), (0, False), (1, False), (1, True)] if other else [(0, False), (1, False)]
            )
        for e in done:
            assert not (e.run == run.id and e.beside) or e.token_ids == texts[other or ""]
    assert {e.end_calls for e in done if e.beside} == {2}, "both on continuous batching"
    row = next(row for row in load_folder(folder.path).runs.to_dicts() if row["kind"] == "speculative")
    assert row["speedup"] and row["pace"]
    assert "beside each rep" in row["notes"]


def test_paired_passes_visit_every_run_once_a_pass_with_the_baseline_beside_it(
    tmp_path: Path, results: Path
) -> None:
    text = small_pair(budget=24, reps=2).replace("reps = 2", 'reps = 2\norder = "paired"')
    assert specdec("run", write(tmp_path, text), "--headless", "--data", str(results)).returncode == 0
    done = events_of(only_folder(results), RepDone)
    reps = [e for e in done if not e.warmup]
    passes = [rep.rep for rep in reps]
    assert passes == sorted(passes)
    assert len({rep.run for rep in reps}) * 2 == len(reps)
    folder = only_folder(results)
    _assert_pairs(folder, done)
    probes: list[VerifyWidths | LoopTimes] = events_of(folder, VerifyWidths)
    probes += events_of(folder, LoopTimes)
    timed = [(e.run, e.rep) for e in probes]
    probed = {run for run, _ in timed}
    assert sorted(timed) == sorted((run, rep) for run in probed for rep in (0, 1)), "times in every pass"
    strings = [(e.run, e.prompt) for e in events_of(folder, Agreement)]
    assert {run for run, _ in strings} == probed
    assert len(strings) == len(set(strings)), "strings are exact: once"
    assert {e.status for e in events_of(folder, RunEnded)} == {"ok"}
