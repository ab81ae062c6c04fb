"""Which run is measured in the same process as another, in turn with each of its reps (order = "paired").

A machine with neighbours changes its pace within seconds. What is measured half a second apart is slowed
down alike; what is measured in the next process is not.
"""

from __future__ import annotations

from collections.abc import Iterable

from sweeps.plan.model import Run


def beside(runs: Iterable[Run], run: Run) -> str | None:
    """Run id of what stands beside a run: its baseline. A draft alone, or a target as the library runs it,
    stands beside the baseline of a row that it belongs to, so that all of these rows share a yardstick.

    Args:
        runs: the whole plan's.
    """
    if run.config.kind == "agreement":
        return None
    if run.baseline is not None:
        return run.baseline
    for row in runs:
        known = run.id in (row.draft_alone, row.baseline_default)
        if known and row.config.kind != "agreement" and row.baseline not in (None, run.id):
            return row.baseline
    return None
