"""Reads the tables beside the app's loop, and carries marks over to what was read anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from explorer.analysis.view import Level

if TYPE_CHECKING:
    import polars as pl

IDENTITY = ("sweep", "run", "prompt", "rep", "round")
"""Columns that tell a row from all others, as far as its level has them."""


def load(level: Level, data: str | None) -> pl.DataFrame:
    """The rows of a level, of every sweep and (runs) the published and imported ones.

    Raises:
        OSError: a folder cannot be read.
        ValueError: a file in it is not what it should be.
    """
    from sweeps.store import frames

    if level == "runs":
        return frames.to_look_at(frames.load_runs(data))
    return frames.load_reps(data) if level == "reps" else frames.load_rounds(data)


def nothing(level: Level) -> pl.DataFrame:
    """A level without rows."""
    from sweeps.store import schema

    return schema.empty({"runs": schema.RUNS, "reps": schema.REPS, "rounds": schema.ROUNDS}[level])


def identities(frame: pl.DataFrame, rows: Iterable[int]) -> pl.DataFrame:
    """The identities of rows given by their positions."""
    names = [name for name in IDENTITY if name in frame.columns]
    return frame.select(names)[sorted(row for row in rows if row < frame.height)]


def positions(frame: pl.DataFrame, wanted: pl.DataFrame) -> frozenset[int]:
    """Where the rows of these identities stand in a frame."""
    if wanted.is_empty():
        return frozenset()
    numbered = frame.select(wanted.columns).with_row_index("__at__")
    found = numbered.join(wanted, on=wanted.columns, how="semi", nulls_equal=True)
    return frozenset(found["__at__"].to_list())
