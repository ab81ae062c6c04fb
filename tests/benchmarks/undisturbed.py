"""Tables of the undisturbed reps only: a neighbour on the machine slows reps down and never speeds one up,
so the fastest of many interleaved reps say what the machine does when it is left alone."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

import polars as pl

from sweeps.compare.speedup import ratio

ROW = ("sweep", "run", "prompt")


def undisturbed(
    runs: pl.DataFrame, reps: pl.DataFrame, rounds: pl.DataFrame, share: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(runs, rounds) made of the fastest `share` of each row's reps (two at least), on both sides alike.

    Rates, speed-ups with their intervals, and times per proposal and round are derived anew; counts are not
    changed, since greedy reps repeat each other.
    """
    kept = (
        reps.filter(pl.col("tok_s").is_not_null())
        .with_columns(place=pl.col("tok_s").rank("ordinal", descending=True).over(ROW), n=pl.len().over(ROW))
        .filter(pl.col("place") <= pl.max_horizontal(pl.col("n") * share, pl.lit(2.0)))
    )
    rounds = rounds.join(kept.select(*ROW, "rep"), on=[*ROW, "rep"], how="semi")
    rates = {key: group["tok_s"].to_list() for key, group in kept.group_by(ROW)}
    counted = rounds.filter(pl.col("round") >= 1)
    per_row = counted.group_by(ROW).agg(
        pl.col("draft_ms").sum() / pl.col("proposals").sum(), pl.col("verify_ms").mean()
    )
    times = {tuple(key): (draft, verify) for *key, draft, verify in per_row.iter_rows()}
    made = [_row(row, rates, times) for row in runs.iter_rows(named=True)]
    return pl.DataFrame(made, schema=runs.schema), rounds


def _row(
    row: dict[str, Any],
    rates: dict[tuple[Any, ...], list[float]],
    times: dict[tuple[Any, ...], tuple[float, float]],
) -> dict[str, Any]:
    own = rates.get(tuple(row[name] for name in ROW))
    if own is None:
        return row
    row = {**row, "tok_s": fmean(own), "tok_s_sd": stdev(own), "reps": len(own)}
    base = rates.get((row["sweep"], row["baseline"], row["prompt"]))
    if row["speedup"] is not None and base is not None:
        found = ratio(own, base)
        row |= {"speedup": found.value, "speedup_lo": found.lo, "speedup_hi": found.hi}
    draft, verify = times.get(tuple(row[name] for name in ROW), (None, None))
    if row["draft_ms"] is not None and draft is not None:
        row["draft_ms"] = draft
    if row["verify_ms"] is not None and verify is not None:
        row["verify_ms"] = verify
    return row
