"""Run, rep and round frames over all sweeps of a results folder.

The journal is the truth. Parquet beside it is a cache that says how much of the journal it has seen: it is
used as long as that is all of it, and made again otherwise.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from sweeps import atomic, paths
from sweeps.store.predicted import with_predictions
from sweeps.store.schema import REPS, ROUNDS, RUNS, Column, empty
from sweeps.store.tables import JOURNAL, Tables
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.state import standing

FORMAT: Final = "3"
"""Goes up when the same journal would give other tables."""
BROKEN: Final = "broken"
"""Key of a Parquet file's metadata: lines of the journal that could not be read."""

_TABLES: Final[dict[str, tuple[dict[str, Column], Callable[[Tables], pl.DataFrame]]]] = {
    "runs": (RUNS, with_predictions),
    "reps": (REPS, Tables.reps),
    "rounds": (ROUNDS, Tables.rounds),
}

Data = str | os.PathLike[str] | None


Damage = dict[str, int]
"""Sweep folder -> lines of its journal that nobody can read; the table is made of the rest."""


def load_runs(
    data: Data = None, sweep: str | None = None, *, published: bool = True, damage: Damage | None = None
) -> pl.DataFrame:
    """The run table: one row a run and prompt of every sweep in the results folder (`data`: see
    `sweeps.paths.results`), imported rows, and with `published` also the published ones.

    `sweep` keeps one sweep: the name of its folder, or of the sweep (its newest folder), or what stands in
    the column `sweep` of published and imported rows. `damage` is filled in.
    """
    others = [_imported(data), *([_published()] if published or sweep is not None else [])]
    extra = pl.concat([align(rows, RUNS) for rows in others])
    if sweep is not None:
        extra = extra.filter(pl.col("sweep") == sweep)
    return pl.concat([_load("runs", data, sweep, damage), extra])


def to_look_at(runs: pl.DataFrame) -> pl.DataFrame:
    """A run table for people: an agreement pass that went well measures nothing that stands in a table."""
    return runs.filter((pl.col("kind") != "agreement") | (pl.col("status") != "ok"))


def load_reps(data: Data = None, sweep: str | None = None, *, damage: Damage | None = None) -> pl.DataFrame:
    """One row a counted rep, over all sweeps or one (see `load_runs`)."""
    return _load("reps", data, sweep, damage)


def load_rounds(data: Data = None, sweep: str | None = None, *, damage: Damage | None = None) -> pl.DataFrame:
    """One row a round, over all sweeps or one (see `load_runs`)."""
    return _load("rounds", data, sweep, damage)


def sweep_folders(data: Data = None, sweep: str | None = None) -> list[Path]:
    """Folders that hold a journal, oldest first; with `sweep`: that folder, or the newest of that sweep."""
    root = paths.results(data)
    if not root.is_dir():
        return []
    found = sorted(
        (path.parent for path in root.glob(f"*/{JOURNAL}")),
        key=lambda folder: (folder / JOURNAL).stat().st_mtime,
    )
    if sweep is None:
        return found
    exact = [folder for folder in found if folder.name == sweep]
    return exact or [folder for folder in found if folder.name.startswith(f"{sweep}-")][-1:]


def write_parquet(folder: Path) -> None:
    """Write the three tables of a sweep beside its journal, each in one step."""
    tables = Tables(folder)
    tables.refresh()
    seen = {"journal": str(tables.reader.offset), "format": FORMAT, BROKEN: str(tables.reader.broken)}
    for name, (_, build) in _TABLES.items():
        buffer = io.BytesIO()
        build(tables).write_parquet(buffer, metadata=seen)
        atomic.write_bytes(folder / f"{name}.parquet", buffer.getvalue())


def rebuild(folder: Path) -> None:
    """Make the tables of a sweep again from its journal alone."""
    for name in _TABLES:
        (folder / f"{name}.parquet").unlink(missing_ok=True)
    write_parquet(folder)


def _load(table: str, data: Data, sweep: str | None, damage: Damage | None) -> pl.DataFrame:
    found = [empty(_TABLES[table][0])]
    for folder in sweep_folders(data, sweep):
        loaded = load_folder(folder)
        found.append(loaded.table(table))
        if damage is not None and loaded.broken:
            damage[folder.name] = loaded.broken
    return pl.concat(found)


class SweepFrames:
    """The tables of one results folder as they stood when it was loaded; each is made when asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broken = 0
        """Lines of the journal that could not be read, as far as a table was asked for."""
        self._followed: Tables | None = None
        self._frames: dict[str, pl.DataFrame] = {}

    @property
    def runs(self) -> pl.DataFrame:
        """One row a run and prompt."""
        return self.table("runs")

    @property
    def reps(self) -> pl.DataFrame:
        """One row a counted rep."""
        return self.table("reps")

    @property
    def rounds(self) -> pl.DataFrame:
        """One row a round."""
        return self.table("rounds")

    def table(self, name: str) -> pl.DataFrame:
        """`runs`, `reps` or `rounds`."""
        if name not in self._frames:
            self._frames[name] = self._make(name)
        return self._frames[name]

    def _make(self, name: str) -> pl.DataFrame:
        columns, build = _TABLES[name]
        found = None if self._followed else self._cached(name, columns)
        if found is None:
            found = build(self._tables())
        # A copied or renamed folder is a sweep of its own.
        found = found.with_columns(sweep=pl.lit(self.folder.name))
        if name == "runs" and not standing(SweepFolder(self.folder)).live:
            found = _interrupted(found)
        return found

    def _tables(self) -> Tables:
        if self._followed is None:
            self._followed = Tables(self.folder)
            self._followed.refresh()
            self.broken = self._followed.reader.broken
        return self._followed

    def _cached(self, table: str, columns: Mapping[str, Column]) -> pl.DataFrame | None:
        """The Parquet file if it has seen all of the journal, else None."""
        path = self.folder / f"{table}.parquet"
        try:
            seen = pl.read_parquet_metadata(path)
            size = str((self.folder / JOURNAL).stat().st_size)
            if seen.get("format") != FORMAT or seen.get("journal") != size:
                return None
            found = pl.read_parquet(path, memory_map=False)
        except (OSError, pl.exceptions.PolarsError):
            return None
        if found.schema != pl.Schema({name: column.dtype for name, column in columns.items()}):
            return None
        lines = seen.get(BROKEN, "0")
        self.broken = int(lines) if lines.isdigit() else 0
        return found


def load_folder(folder: Path) -> SweepFrames:
    """The tables of one results folder, finished or still growing.

    Raises (on first use) OSError: the journal cannot be read.
    """
    return SweepFrames(folder)


def load_sweep_runs(folder: Path) -> pl.DataFrame:
    """The run table of one results folder."""
    return load_folder(folder).runs


def _interrupted(runs: pl.DataFrame) -> pl.DataFrame:
    """A run cannot be running when nobody supervises it."""
    running = pl.col("status") == "running"
    reason = pl.lit("the supervisor is gone; `specdec run --resume` goes on")
    return runs.with_columns(
        reason=pl.when(running).then(reason).otherwise("reason"),
        status=pl.when(running).then(pl.lit("cancelled")).otherwise("status"),
    ).select(list(RUNS))


def _published() -> pl.DataFrame:
    from sweeps.exchange import published

    return published.load()


def _imported(data: Data) -> pl.DataFrame:
    from sweeps.exchange import imported

    return imported.load(paths.results(data))


def align(rows: pl.DataFrame, columns: Mapping[str, Column]) -> pl.DataFrame:
    """Exactly the given columns in their order and types; missing ones are null, others are dropped."""
    wanted: Sequence[pl.Expr] = [
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(column.dtype).alias(name)
        for name, column in columns.items()
    ]
    return rows.select(wanted)
