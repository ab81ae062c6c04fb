"""What Define starts: sweeps that outlive the app, and the helper that plans for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from explorer.app import SpecdecApp
from explorer.cli.running import with_needs
from explorer.screens.define.outside import Helper
from explorer.screens.define.planview import PlanView
from explorer.screens.define.wire import Request
from sweeps.events.journal import JournalReader
from sweeps.events.types import RunEnded
from tests.ui.define_kit import planned, runs_of, screen_of, until


def wait_for_end(journal: Path) -> None:
    """Until a sweep that was started on its own says that it ended."""
    deadline = time.monotonic() + 120
    while '"sweep_ended"' not in journal.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.models
async def test_a_sweep_is_started_and_outlives_the_app(app: SpecdecApp, results: Path) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await planned(pilot, app)
        runs = runs_of(app)
        await pilot.press("r")
        await until(pilot, lambda: app.current_mode == "watch")
        await pilot.press("q")
    journal = next(results.glob("mine-*/journal.jsonl"))
    wait_for_end(journal)
    assert journal.read_text(encoding="utf-8").count('"type":"run_ended"') == len(runs)


@pytest.mark.models
async def test_just_the_selected_run_is_started_with_what_it_is_compared_with(
    app: SpecdecApp, results: Path
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await planned(pilot, app)
        reply = screen_of(app).planned
        assert reply is not None
        plan = reply.plan
        assert plan is not None
        wanted = next(run for run in plan.runs if run.baseline is not None and not run.refused)
        view = screen_of(app).query_one(PlanView)
        screen_of(app).action_show_pane("plan")
        for _ in plan.runs:
            if view.run is not None and view.run.id == wanted.id:
                break
            await pilot.press("down")
            await pilot.pause()
        assert view.run is not None
        assert view.run.id == wanted.id
        await pilot.press("R")
        await until(pilot, lambda: app.current_mode == "watch")
        await pilot.press("q")
    journal = next(results.glob("mine-*/journal.jsonl"))
    wait_for_end(journal)
    ended = {event.run for event in JournalReader(journal).poll() if isinstance(event, RunEnded)}
    assert ended == with_needs(plan, [wanted.id])
    assert ended < {run.id for run in plan.runs}


def test_the_helper_says_faults_and_comes_back_after_a_death() -> None:
    helper = Helper()
    try:
        assert "expected" in helper.ask(Request("plan", text="name = 3")).fault
        first = helper._child
        assert first is not None
        first.kill()
        first.wait()
        assert "died" in helper.ask(Request("plan", text="")).fault
        assert "missing" in helper.ask(Request("plan", text="")).fault
    finally:
        helper.close()
    assert helper.ask(Request("plan")).fault == "the app is leaving"
