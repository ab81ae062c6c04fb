"""The app as a person uses it: a real terminal, real keys, real pipelines on the demo models."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl
import psutil
import pytest

from explorer.terminal import HANG_UP
from sweeps import paths
from sweeps.events.types import RepDone, RunEnded
from sweeps.supervise import control
from sweeps.supervise.folder import SweepFolder, find_folders
from sweeps.supervise.owner import read_owner
from tests.e2e.engine import PLAIN, events_of, only_folder, sweep_text, wait_for
from tests.e2e.terminal import Terminal, why_not

pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "pseudo-terminals work here"),
]

BUDGET, REPS = 24, 2
PAIR = """
[[grid]]
kind = "speculative"
target = "target"
target_device = "CPU"
draft = "draft-s"
draft_device = "CPU"
num_assistant_tokens = 3   # one value so far
"""


@pytest.fixture
def sweeps() -> Iterator[Path]:
    """The person's folder of sweep files; no sweep of this test outlives it."""
    folder = paths.user_sweeps()
    folder.mkdir(parents=True)
    yield folder
    for left in find_folders(paths.results()):
        if alive(left):
            control.request(left.control, control.STOP)
            wait_for(partial(_gone, left))


def alive(folder: SweepFolder) -> bool:
    """Whether the sweep's supervisor lives."""
    owner = read_owner(folder.supervisor)
    return owner is not None and owner.alive() is True


def _gone(folder: SweepFolder) -> bool:
    return not alive(folder)


def goes_on(folder: SweepFolder) -> bool:
    """Whether the supervisor lives and measures more reps than are measured now."""
    done = len(events_of(folder, RepDone))
    wait_for(lambda: len(events_of(folder, RepDone)) > done)
    return alive(folder)


def walk(terminal: Terminal, key: str, cursor: Callable[[], str], there: str, most: int = 40) -> None:
    """Press a key until what the screen says of the cursor holds `there` (an expression)."""
    for _ in range(most):
        before = cursor()
        if re.search(there, before):
            return
        terminal.press(key)
        terminal.wait(partial(_moved, cursor, before))
    raise AssertionError(f"{most} times {key} did not lead there\n{terminal.text}")


def _moved(cursor: Callable[[], str], before: str, _: str) -> bool:
    return cursor() not in ("", before)


def retype(terminal: Terminal, old: str, new: str) -> None:
    """Wait for a dialog's line that holds `old` (an expression), replace it, and take it with enter."""
    terminal.wait(lambda text: re.search(rf"│ *{old} *│", text))
    terminal.press("ctrl+u")
    terminal.wait(lambda text: re.search(rf"│ *{old} *│", text), gone=True)
    terminal.type(new)
    terminal.wait(new[-40:])
    terminal.press("enter")


def test_define_watch_explore_and_what_if(sweeps: Path, tmp_path: Path) -> None:
    """One sitting: duplicate a sweep, edit an axis, start it, watch it to its end, explore, export, ask."""
    (sweeps / "small.toml").write_text(sweep_text(PAIR, budget=BUDGET, reps=REPS), encoding="utf-8")
    exported = tmp_path / "reps.csv"
    with Terminal() as app:
        app.wait("Press D to run the demo")
        app.wait("qwen3-14b@GPU")  # The published rows, before there are any of one's own.

        # Define: pick the file, duplicate it, give the axis a second value, save.
        app.press("1")
        app.wait("demo (preset)")
        app.wait("runs, each: 3 prompts")
        walk(app, "down", lambda: app.reversed, "small")
        app.press("enter")
        app.wait(f"6 runs, each: 1 prompt x {REPS} reps")
        app.press("d")
        app.wait("Duplicate as")
        retype(app, "small-copy", "mine")
        app.wait("▸ mine")
        app.press("g")
        walk(app, "down", lambda: app.reversed, "num_assistant_tokens")
        app.press("a")
        app.wait("num_assistant_tokens: add a value")
        app.press("1", "enter")
        app.wait(f"7 runs, each: 1 prompt x {REPS} reps")
        app.wait("mine.toml  changed")
        app.press("s")
        app.wait("changed", gone=True)
        saved = (sweeps / "mine.toml").read_text(encoding="utf-8")
        assert re.search(r"num_assistant_tokens = \[3, 1\] +# one value so far", saved)
        assert "num_assistant_tokens = 3 " in (sweeps / "small.toml").read_text(encoding="utf-8")

        # Watch: it starts on its own and streams to its end.
        app.press("r")
        app.wait("[2 Watch]")
        app.wait("● running")
        app.wait(lambda text: re.search(rf"rep 1: \d+ of {BUDGET} tokens", text), 60)
        app.wait(lambda text: re.search(r"✓ ok +target CPU PA +\d", text), 60)
        app.wait("✓ finished  7 of 7 runs", 120)
        folder = only_folder(paths.results())
        assert folder.name.startswith("mine-")
        wait_for(lambda: not alive(folder))
        assert [event.status for event in events_of(folder, RunEnded)] == ["ok"] * 7
        assert re.search(r"\+ draft-s CPU nat 3 +\d+\.\d\d×", app.text)

        # Explore: filter, pivot, drill down to the reps, export them.
        app.press("3")
        app.wait("14 of 14 rows: runs")
        app.type("/kind = 'speculative' and target = 'target'")
        app.wait("2 of 14 rows: runs")
        app.press("enter", "!")
        app.wait("│draft")
        walk(app, "right", lambda: app.lines[-2], r"num_assistant_tokens = \d")
        app.press("W")
        app.wait("target x num_assistant_tokens")
        assert len(re.findall(r"\d\.\d\d n1", app.text)) == 2  # One run in each cell, and the count says so.
        app.press("right", "right", "enter")
        app.wait("within target = 'target' AND num_assistant_tokens = 3")
        app.wait("1 of 14 rows: runs")
        app.press("enter")
        app.wait(f"{REPS} of 10 rows: reps")
        app.press("ctrl+e")
        app.wait("Export the view")
        retype(app, r"\S+specdec-reps-table-\S+\.csv", str(exported))
        app.wait(f"{REPS} rows written to")
        rows = pl.read_csv(exported)
        assert rows["rep"].to_list() == list(range(REPS)) and set(rows["tokens"]) == {BUDGET}
        assert set(rows["run"]) == {_run_of(folder, nat=3)}

        # What-if on that run: step a term, see the prediction move, copy the scenario.
        app.press("z")
        app.wait("1 of 14 rows: runs")
        app.press("w")
        app.wait("[w What-if]")
        app.wait("draft-s on CPU for target on CPU, cb, prompt fib  NAT 3")
        before = app.wait(lambda text: re.search(r"predicted \d+\.\d\d× .* measured \d+\.\d\d×", text))
        app.press("right")
        app.wait("NAT 4  edited: NAT (was 3)")
        assert _predicted(app.text) != _predicted(before)
        app.press("y")
        app.wait("Copied")
        assert "NAT" in (paths.state() / "clipboard.txt").read_text(encoding="utf-8")

        app.press("q")
        assert app.exit_code() == 0


def test_a_sweep_outlives_its_terminals(sweeps: Path) -> None:
    """`q`, a closed terminal and SIGTERM end the app and never the sweep; a new app shows it each time."""
    long = sweeps / "long.toml"
    long.write_text(
        sweep_text(PLAIN.format(model="target", backend="PA"), budget=64, reps=500), encoding="utf-8"
    )
    with Terminal("run", str(long), columns=80, lines=24) as app:
        app.wait(lambda text: re.search(r"\d+ of 64 tokens", text), 60)
        folder = only_folder(paths.results())
        app.press("q")
        assert app.exit_code() == 0
        assert f"{folder.name} goes on (process {_pid(folder)})" in app.raw.decode("utf-8", "replace")
    assert goes_on(folder)

    with Terminal(columns=80, lines=24) as app:  # Where the last session was left: Watch.
        app.wait("● running")
        app.wait(lambda text: re.search(r"\d+ of 64 tokens", text))
        app.hang_up()
        code = app.exit_code()
    if sys.platform != "win32":
        assert code == 128 + signal.SIGHUP
    assert goes_on(folder)

    with Terminal("watch") as app:
        app.wait("● running")
        app.wait(lambda text: re.search(r"\d+ of 64 tokens", text))
        if sys.platform != "win32":
            os.kill(app.pid, signal.SIGTERM)
            assert app.exit_code() == 128 + signal.SIGTERM
            # The terminal is given back: the main screen, the cursor, no mouse reports.
            for sequence in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l"):
                assert sequence in app.raw[-200:]
            assert b"Traceback" not in app.raw
            session = json.loads((paths.state() / "session.json").read_text(encoding="utf-8"))
            assert session["place"] == "watch"
    assert goes_on(folder)

    with Terminal("watch", columns=80, lines=24) as app:
        app.wait("heartbeat fresh")  # Read to its end, and judged.
        app.press("x")
        app.wait("Stop the sweep now?")
        app.press("y")
        app.wait("● running", gone=True)
        wait_for(lambda: not alive(folder))
        app.press("q")
        assert app.exit_code() == 0
        assert b"goes on" not in app.raw


def test_a_terminal_that_closes_without_a_signal_ends_the_app() -> None:
    """As with `nohup`, or where the app leads no session: nobody is left to read, and none to press `q`."""
    with Terminal(columns=80, lines=24, controlling=False) as app:
        app.wait("9 of 9 rows: runs")
        app.hang_up()
        assert app.exit_code() == 128 + HANG_UP


@pytest.mark.skipif(sys.platform == "win32", reason="no job control there")
def test_stopped_and_continued_the_app_takes_its_terminal_again() -> None:
    """`kill -STOP`, `kill -CONT`: one reader and one writer, as before, the screen drawn anew, keys heard."""
    with Terminal(columns=80, lines=24) as app:
        app.wait("9 of 9 rows: runs")
        threads = len(psutil.Process(app.pid).threads())
        for _ in range(3):
            app.raw.clear()
            os.kill(app.pid, signal.SIGSTOP)
            os.kill(app.pid, signal.SIGCONT)
            wait_for(lambda: app.pump(0.05) and b"\x1b[?1049h" in app.raw, 10)
        wait_for(lambda: app.pump(0.05) and len(psutil.Process(app.pid).threads()) <= threads, 10)
        app.press("1")
        app.wait("demo (preset)")
        app.press("q")
        assert app.exit_code() == 0


def _predicted(text: str) -> str:
    found = re.search(r"predicted (\S+)×", text)
    assert found is not None
    return found[1]


def _pid(folder: SweepFolder) -> int:
    owner = read_owner(folder.supervisor)
    assert owner is not None
    return owner.pid


def _run_of(folder: SweepFolder, nat: int) -> str:
    plan = json.loads(folder.plan.read_text(encoding="utf-8"))
    (run,) = [r["id"] for r in plan["runs"] if r["config"].get("num_assistant_tokens") == nat]
    return str(run)
