"""How the columns of runs, reps and rounds are shown, and in which order: the decisive ones fit 80 cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from explorer.analysis.cells import ColumnSpec
from explorer.analysis.view import Level
from sweeps.store import schema

FIRST: Final[dict[Level, tuple[str, ...]]] = {
    "runs": (
        "target", "draft", "num_assistant_tokens", "prompt", "speedup", "acceptance", "tokens_per_round",
        "status", "tok_s", "predicted_speedup", "ttft_ms", "tpot_ms", "draft_ms", "verify_ms", "rest_ms",
        "proposals_per_round", "path", "kind", "target_device", "draft_device", "emulated", "construct_s",
        "peak_rss_mb", "same_prefix_tokens", "reason",
    ),
    "reps": (
        "target", "draft", "num_assistant_tokens", "prompt", "rep", "tok_s", "tokens", "rounds", "proposals",
        "accepted", "status", "ttft_ms", "tpot_ms", "wall_ms", "path",
    ),
    "rounds": (
        "target", "draft", "num_assistant_tokens", "prompt", "rep", "round", "proposals", "accepted",
        "wall_ms", "draft_ms", "verify_ms", "rest_ms", "full", "position",
    ),
}  # fmt: skip

DECISIVE: Final[dict[Level, tuple[str, ...]]] = {level: first[:8] for level, first in FIRST.items()}
"""Columns that should be in view at once."""

SHOWN_ELSEWHERE: Final = frozenset({"tok_s_sd", "speedup_lo", "speedup_hi", "failure", "noisy"})
"""Columns that stand inside another column's cells."""

VALUE: Final[dict[Level, str]] = {"runs": "speedup", "reps": "tok_s", "rounds": "wall_ms"}
"""What a pivot shows when nothing else was chosen."""

_SPECS: Final[dict[str, ColumnSpec]] = {
    spec.name: spec
    for spec in (
        ColumnSpec(
            "target", device="target_device", emulated="emulated", flexible=True, middle=True, max_width=40
        ),
        ColumnSpec(
            "draft", device="draft_device", emulated="emulated", flexible=True, middle=True, max_width=40
        ),
        ColumnSpec("num_assistant_tokens", title="NAT"),
        ColumnSpec("prompt", flexible=True, max_width=24),
        ColumnSpec(
            "speedup", title="speed-up", decimals=2, low="speedup_lo", high="speedup_hi",
            why="reason", why_always=True, least=0.0, max_width=22,
        ),
        ColumnSpec("predicted_speedup", title="predicted", decimals=2, least=0.0),
        ColumnSpec("identity_speedup", title="identity", decimals=2, least=0.0),
        ColumnSpec("speedup_default", title="default speed-up", decimals=2, least=0.0),
        ColumnSpec("acceptance", title="acc", decimals=2, why="reason", least=0.0, most=1.0),
        ColumnSpec("tokens_per_round", title="tau", decimals=2, why="reason", least=0.0),
        ColumnSpec("proposals_per_round", title="k", decimals=2, why="reason", least=0.0),
        ColumnSpec("status", kind="status", detail="failure", noisy="noisy", flexible=True, max_width=34),
        ColumnSpec("tok_s", title="tok/s", decimals=1, sd="tok_s_sd", why="reason", least=0.0),
        ColumnSpec("wall_tok_s", title="wall tok/s", decimals=1, why="reason", least=0.0),
        ColumnSpec("rel_mad", title="rel MAD", decimals=3, least=0.0),
        ColumnSpec("pace", decimals=2, least=0.0),
        ColumnSpec("construct_s", title="construct", unit="s", decimals=1, least=0.0),
        ColumnSpec("peak_rss_mb", title="RSS", unit="MB", decimals=0, least=0.0),
        ColumnSpec("same_prefix_tokens", title="same prefix"),
        ColumnSpec("first_divergence", title="diverges at"),
        ColumnSpec("started", max_width=25),
        ColumnSpec("reason", max_width=60),
        ColumnSpec("divergence", max_width=60),
        ColumnSpec("properties", max_width=60),
        ColumnSpec("token_ids", title="text ids", max_width=40),
    )
}  # fmt: skip

TIMES: Final = {
    "ttft_ms": "TTFT", "tpot_ms": "TPOT", "draft_ms": "draft", "verify_ms": "verify", "wall_ms": "wall",
    "draft_total_ms": "draft sum", "verify_total_ms": "verify sum", "rounds_total_ms": "rounds sum",
    "first_round_ms": "round 1", "start_ms": "start",
}  # fmt: skip
"""Times that cannot be negative."""


def _about(level: Level) -> Mapping[str, str]:
    tables = {"runs": schema.RUNS, "reps": schema.REPS, "rounds": schema.ROUNDS}
    return {name: column.about for name, column in tables[level].items()}


def specs(level: Level, frame: pl.DataFrame) -> dict[str, ColumnSpec]:
    """A specification for each column of a frame of this level."""
    about = _about(level)
    found = {}
    for name in frame.columns:
        if name in _SPECS:
            spec = _SPECS[name]
        elif name in TIMES:
            spec = ColumnSpec(name, title=TIMES[name], unit="ms", why="reason", least=0.0)
        elif name.endswith("_ms"):
            spec = ColumnSpec(name, title=name[:-3], unit="ms")
        else:
            spec = ColumnSpec(name)
        found[name] = replace(spec, about=about.get(name, ""))
    return found


def default_hidden(frame: pl.DataFrame, level: Level) -> tuple[str, ...]:
    """Columns without any value, and those that stand inside another column."""
    leading = set(DECISIVE[level])
    empty = {series.name for series in frame if series.null_count() == frame.height}
    gone = (empty - leading) | (SHOWN_ELSEWHERE if level == "runs" else frozenset({"noisy"}))
    return tuple(name for name in frame.columns if name in gone)


def tones(window: pl.DataFrame) -> list[str]:
    """A tone for each row: failed, doubtful, not run. Never the only sign: the status says it in words."""
    if "status" not in window.columns:
        return [""] * window.height
    status = pl.col("status").cast(pl.String)
    doubt = status.is_in(["budget_not_met", "not_speculative", "metric_suspect"])
    if "noisy" in window.columns:
        doubt = doubt | pl.col("noisy").cast(pl.Boolean).fill_null(False)
    tone = (
        pl.when(status.is_in(["failed", "refused"])).then(pl.lit("bad"))
        .when(doubt).then(pl.lit("warn"))
        .when(status.is_in(["skipped", "cancelled", "queued"])).then(pl.lit("dim"))
        .otherwise(pl.lit(""))
    )  # fmt: skip
    return window.select(tone.fill_null("").alias("tone"))["tone"].to_list()
