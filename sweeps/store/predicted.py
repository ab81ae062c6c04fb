"""The cost model's number beside each measured one: from rows other than the row itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sweeps.store.schema import RUNS

if TYPE_CHECKING:
    from sweeps.store.tables import Tables

KEY = ("sweep", "run", "prompt")


def with_predictions(tables: Tables) -> pl.DataFrame:
    """The run table of a sweep with `predicted_speedup` filled where there is something to predict from.

    Each run is predicted from the other runs of its sweep and from its agreement strings, never from itself.
    While the sweep is running the column stays empty: that time is the measurement's.
    """
    runs = tables.runs()
    if (
        tables.state.status in ("queued", "running")
        or runs.filter(pl.col("speedup").is_not_null()).is_empty()
    ):
        return runs
    from sweeps.costmodel.evidence import strings_of
    from sweeps.costmodel.probes import probes_of
    from sweeps.costmodel.validate import validate

    found = validate(
        runs,
        tables.rounds(),
        hold_out="run",
        strings=strings_of(tables.state),
        probes=probes_of(tables.state),
        nats=False,
    )
    told = found.select(*KEY, "predicted_speedup").unique(KEY, keep="first")
    return (
        runs.drop("predicted_speedup")
        .join(told, on=KEY, how="left", maintain_order="left")
        .select(list(RUNS))
    )
