"""Parquet after each run, by the store; a table that cannot be written never stops a sweep."""

from __future__ import annotations

import sys

from sweeps.supervise.folder import SweepFolder


def write_tables(folder: SweepFolder) -> None:
    """Write `reps.parquet` and `rounds.parquet`. The journal stays the truth: they can be made again."""
    from sweeps.store.frames import write_parquet

    try:
        write_parquet(folder.path)
    except Exception as error:  # a full disk, say, must not end the sweep
        print(f"tables not written: {error}", file=sys.stderr)
