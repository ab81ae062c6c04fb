"""Rows that hold every kind of trouble, and hands for the Explore screen."""

from __future__ import annotations

from typing import Any

import polars as pl
from textual.pilot import Pilot

from explorer.app import SpecdecApp
from explorer.screens.explore.screen import ExploreScreen
from sweeps.store.schema import REPS, ROUNDS, RUNS, empty
from tests.ui.snapshot import text_of

BASE: dict[str, Any] = {
    "sweep": "demo-1", "kind": "speculative", "target": "target", "target_device": "CPU", "draft": "draft-s",
    "draft_device": "CPU", "path": "cb", "prompt": "story", "status": "ok", "reps": 3, "tokens": 128,
    "tok_s_sd": 1.5, "max_new_tokens": 128, "noisy": False, "emulated": False,
}  # fmt: skip
RUN_ROWS: list[dict[str, Any]] = [
    {
        "run": "base", "kind": "plain", "draft": None, "draft_device": None, "tok_s": 50.0, "speedup": 1.0,
        "added": True,
    },
    {
        "run": "a", "num_assistant_tokens": 1, "tok_s": 60.0,
        "speedup": 1.2, "speedup_lo": 1.15, "speedup_hi": 1.25,
        "acceptance": 0.6, "tokens_per_round": 1.6, "draft_ms": 2.0, "verify_ms": 20.0, "rest_ms": 1.0,
        "proposals_per_round": 1.0, "accepted": 60, "proposals": 100,
    },
    {
        "run": "b", "num_assistant_tokens": 3, "tok_s": 70.0,
        "speedup": 1.4, "speedup_lo": 1.3, "speedup_hi": 1.5,
        "acceptance": 0.5, "tokens_per_round": 2.5, "draft_ms": 2.0, "verify_ms": 24.0, "rest_ms": 1.0,
        "proposals_per_round": 3.0, "accepted": 150, "proposals": 300,
    },
    {
        "run": "c", "num_assistant_tokens": 3, "draft_device": "NPU", "path": "stateful", "emulated": True,
        "tok_s": 90.0, "speedup": 1.8, "speedup_lo": 0.9, "speedup_hi": 2.7, "noisy": True, "acceptance": 0.5,
        "tokens_per_round": 2.5,
    },
    {
        "run": "d", "num_assistant_tokens": 5, "draft_device": "NPU", "path": "stateful", "status": "failed",
        "failure": "device_lost", "reason": "ZE_RESULT_ERROR_DEVICE_LOST", "reps": 0, "tokens": None,
        "tok_s_sd": None,
    },
    {
        "run": "e", "num_assistant_tokens": 5, "status": "metric_suspect", "tok_s": 80.0,
        "reason": "identity off by 9 %",
    },
]  # fmt: skip


def run_frame() -> pl.DataFrame:
    """Six runs: a baseline, two good ones, a noisy, a failed and a suspect one."""
    rows = pl.DataFrame([{**BASE, **row} for row in RUN_ROWS], infer_schema_length=None)
    typed = rows.cast({name: RUNS[name].dtype for name in rows.columns})
    return pl.concat([empty(RUNS), typed], how="diagonal")


def rep_frame() -> pl.DataFrame:
    """Two reps of runs a and b; the texts part at token 2."""
    rows = [
        {
            "sweep": "demo-1", "run": run, "prompt": "story", "rep": rep, "tok_s": 60.0 + rep, "status": "ok",
            "target": "target", "draft": "draft-s", "draft_device": "CPU", "token_ids": ids,
        }
        for run, ids in (("a", [5, 6, 7]), ("b", [5, 6, 9]))
        for rep in (0, 1)
    ]  # fmt: skip
    typed = pl.DataFrame(rows).cast({"token_ids": pl.List(pl.Int32)})
    return pl.concat([empty(REPS), typed], how="diagonal")


def round_frame() -> pl.DataFrame:
    """Ten rounds of the first rep of run a."""
    rows = [
        {
            "sweep": "demo-1",
            "run": "a",
            "prompt": "story",
            "rep": 0,
            "round": number,
            "wall_ms": 20.0 + number,
        }
        for number in range(10)
    ]
    return pl.concat([empty(ROUNDS), pl.DataFrame(rows)], how="diagonal")


async def settle(pilot: Pilot[None]) -> ExploreScreen:
    """Wait for the loader; the screen."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return next(s for s in pilot.app.screen_stack if isinstance(s, ExploreScreen))


async def press(pilot: Pilot[None], *keys: str) -> ExploreScreen:
    """Press keys, before and after which nothing is under way."""
    await settle(pilot)
    await pilot.press(*keys)
    return await settle(pilot)


async def type_text(pilot: Pilot[None], text: str) -> ExploreScreen:
    """Type into the focused field at once: single keys take long in tests."""
    screen = await settle(pilot)
    screen.filter_line.input.value = text
    return await settle(pilot)


def body(app: SpecdecApp) -> str:
    """The screen's text."""
    return text_of(app)
