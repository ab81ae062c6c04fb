"""Rows of finished runs, derived by the store. Polars is imported here, off the reader's thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from explorer.live.labels import label
from explorer.live.state import Result
from sweeps.plan.model import Run

Load = Callable[[Path], list[dict[str, Any]]]
"""Results folder -> run rows as mappings by column name."""


def from_store() -> Load:
    """A loader that follows the journal through the store: each call reads only what is new."""
    tables: Any = None

    def load(folder: Path) -> list[dict[str, Any]]:
        nonlocal tables
        if tables is None:
            from sweeps.store.tables import Tables

            tables = Tables(folder)
        tables.refresh()
        rows: list[dict[str, Any]] = tables.runs().to_dicts()
        return rows

    return load


def result(row: Mapping[str, Any], run: Run | None) -> Result:
    """One run row as the results pane shows it."""

    def number(name: str) -> float | None:
        value = row.get(name)
        return None if value is None else float(value)

    return Result(
        run=str(row.get("run") or ""),
        label=label(run.config, run.emulated) if run else str(row.get("run") or ""),
        prompt=str(row.get("prompt") or ""),
        status=str(row.get("status") or ""),
        reason=str(row.get("reason") or ""),
        tok_s=number("tok_s"),
        tok_s_sd=number("tok_s_sd"),
        speedup=number("speedup"),
        speedup_lo=number("speedup_lo"),
        speedup_hi=number("speedup_hi"),
        acceptance=number("acceptance"),
        tokens_per_round=number("tokens_per_round"),
        noisy=bool(row.get("noisy")),
    )


class ResultsLoader:
    """Loads in a thread of its own when asked to; asking while it loads makes it load once more."""

    def __init__(self, folder: Path, done: Callable[[], None], load: Load | None = None) -> None:
        self.rows: tuple[dict[str, Any], ...] = ()
        self.fault = ""
        self.loads = 0
        """How often the rows were derived: they are other ones each time."""
        self._folder, self._done, self._load = folder, done, load or from_store()
        self._wanted = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def request(self) -> None:
        """Load soon."""
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watch-results", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Load no more."""
        self._stopped = True
        self._wanted.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            if self._stopped:
                return
            self._wanted.clear()
            try:
                self.rows, self.fault = tuple(self._load(self._folder)), ""
            except Exception as error:  # whatever the store meets in a damaged folder, the view goes on
                self.fault = f"{type(error).__name__}: {error}"
            self.loads += 1
            self._done()
