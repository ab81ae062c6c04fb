"""Imported rows in the results folder: `imported/<name>.parquet`, beside the sweeps measured here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import polars as pl

from sweeps import atomic
from sweeps.exchange import dataset, rows
from sweeps.exchange.rows import ExchangeError
from sweeps.store.schema import RUNS

FOLDER: Final = "imported"


def save(results: Path, name: str, runs: pl.DataFrame) -> Path:
    """Keep rows under a name; rows kept under that name before are replaced. Returns the file.

    Rows that somebody else's data set calls measured were not measured here: their source becomes `imported`.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "rows"
    path = results / FOLDER / f"{safe}.parquet"
    source = pl.col("source").replace({dataset.MEASURED: "imported"})
    atomic.write_bytes(path, dataset.parquet(runs.with_columns(source)))
    return path


def load(results: Path) -> pl.DataFrame:
    """All imported rows of a results folder, in the columns of RUNS; none gives an empty frame.

    A file that cannot be read raises ExchangeError with its name. Columns of another version of this program
    that the table no longer has are left out.
    """
    files = sorted((results / FOLDER).glob("*.parquet"))
    return pl.concat([rows.frame([]), *(_read(path) for path in files)])


def _read(path: Path) -> pl.DataFrame:
    try:
        table = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ExchangeError(f"{path}: cannot be read; remove it and import again") from error
    return dataset.conform(table.select(name for name in table.columns if name in RUNS), str(path))


def change(runs: pl.DataFrame, settings: dict[str, str]) -> pl.DataFrame:
    """Say what a tool's file does not: set whole columns to a value, given as text.

    Raises ExchangeError for a column that RUNS lacks and for a value that its type cannot hold.
    """
    if not settings:
        return runs
    columns = {name: [value] * runs.height for name, value in settings.items()}
    try:
        given = dataset.conform(pl.DataFrame(columns), "--set").select(list(settings))
    except ExchangeError as error:
        raise ExchangeError(str(error).replace("--set: ", "", 1)) from error
    return runs.with_columns(given.get_columns())
