"""Rounds as arrays, and what each multiplies the terms with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sweeps.costmodel.chance import Floats, warming

if TYPE_CHECKING:
    import polars as pl


class RoundTable(NamedTuple):
    """Rounds as arrays of one length, in order within each call."""

    call: Floats
    """Number of the call (rep) that a round belongs to."""
    row: Floats
    """Number of the row of the table of results (run and prompt) that the call belongs to."""
    number: Floats
    """1 is the first round."""
    c: Floats
    m: Floats
    after_whole: Floats
    wall: Floats
    draft: Floats
    verify: Floats
    pace: Floats
    """How fast the machine was against the row's other reps, told by the baseline beside each; else 1."""


def round_table(rounds: pl.DataFrame) -> RoundTable:
    """From the rounds frame (`sweeps.store.schema.ROUNDS`), first tokens left out."""
    import polars as pl

    call = ["sweep", "run", "prompt", "rep"]
    frame = (
        rounds.filter(pl.col("round") >= 1)
        .sort([*call, "round"])
        .with_columns(
            pl.col("full").shift(1).over(call).fill_null(False).alias("after_whole"),
            pl.struct(call).rank("dense").alias("call"),
            pl.struct(call[:-1]).rank("dense").alias("row"),
            pl.col("pace").fill_null(1.0),
        )
    )
    names = [
        "call",
        "row",
        "round",
        "proposals",
        "accepted",
        "after_whole",
        "wall_ms",
        "draft_ms",
        "verify_ms",
        "pace",
    ]
    columns = [frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in names]
    return RoundTable(*columns)


def columns_of(table: RoundTable, widest_of_call: Floats, fixed: bool) -> Floats:
    """[rounds, 9]: what a round multiplies the terms with, in the order of `NAMES`."""
    c, one = table.c, np.ones_like(table.c)
    proposes, whole = (c > 0).astype(float), table.after_whole
    goes_on = table.call[1:] == table.call[:-1]
    switches = np.zeros_like(c)
    switches[1:] = goes_on & (whole[1:] != whole[:-1])
    if fixed:
        # At NAT 1 the draft takes in two tokens round by round: a switch costs half of a there and back.
        whole = np.where(widest_of_call > 1, whole, switches / 2)
    changed = np.zeros_like(c)
    if not fixed:
        changed[1:] = goes_on & (c[1:] != c[:-1])
    missed = (table.m < c).astype(float)
    return np.column_stack([c, warming(c), whole * proposes, one, c, changed, one, c, missed])


def scaled(table: RoundTable, target: Floats | float, draft: Floats | float) -> RoundTable:
    """The rounds with the draft's times multiplied by `draft` and all others by `target`: brings rounds that
    were measured beside another baseline (another prompt, a machine in another mood) to one level.

    Args:
        target, draft: one factor, or one a round.
    """
    drafted = np.where(np.isfinite(table.draft), table.draft, 0.0)
    return table._replace(
        wall=(table.wall - drafted) * target + drafted * draft,
        draft=table.draft * draft,
        verify=table.verify * target,
    )
