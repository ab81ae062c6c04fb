"""The apps that `bench_table` runs in a pseudo-terminal: one table each, the same frame, the same keys.

`f` filters (about half of the rows stay), `s` sorts by a float column, page-down pages. The moment at which
the frame was ready and the app about to start is written to the file named by BENCH_READY (monotonic ns).
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from textual.app import App, ComposeResult
from textual.binding import Binding


def frame(rows: int) -> pl.DataFrame:
    """`rows` x 30: an identity, 7 more words, 10 floats, 10 integers, 2 booleans; the same for every call."""
    rng = np.random.default_rng(7)
    columns: dict[str, Any] = {
        "id": pl.Series(range(rows)).cast(pl.String).str.zfill(8).str.replace("^0", "r")
    }
    for number in range(10):
        columns[f"f{number}"] = rng.normal(10, 5, rows)
    for number in range(10):
        columns[f"i{number}"] = rng.integers(0, 100_000, rows)
    words = pl.Series([f"name{number:03d}" for number in range(1000)])
    for number in range(7):
        columns[f"s{number}"] = words[rng.integers(0, 1000, rows)]
    for number in range(2):
        columns[f"b{number}"] = rng.integers(0, 2, rows).astype(bool)
    return pl.DataFrame(columns)


class TableApp(App[None]):
    """Common to the three: keys and no command palette."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [Binding("f", "filter"), Binding("s", "sort")]  # noqa: RUF012

    def __init__(self, data: pl.DataFrame) -> None:
        super().__init__()
        self.data = data


class FrameTableApp(TableApp):
    """Ours."""

    def compose(self) -> ComposeResult:
        """One table."""
        from explorer.widgets.frame_table import FrameTable

        yield FrameTable()

    def on_mount(self) -> None:
        """Show all rows."""
        self._show()

    def _show(self, rows: pl.Series | None = None) -> None:
        from explorer.widgets.frame_table import FrameTable

        self.query_one(FrameTable).show(self.data, rows=rows)

    def action_filter(self) -> None:
        """Half of the rows, by the code path of the Explore screen."""
        from explorer.analysis.select import select_rows

        self._show(select_rows(self.data, [pl.col("i0") < 50_000], []))

    def action_sort(self) -> None:
        """All rows by one column."""
        from explorer.analysis.select import select_rows

        self._show(select_rows(self.data, [], [("f0", False)]))


class DataTableApp(TableApp):
    """Textual's own."""

    def compose(self) -> ComposeResult:
        """One table."""
        from textual.widgets import DataTable

        yield DataTable()

    def on_mount(self) -> None:
        """Show all rows."""
        self._show(self.data)

    def _show(self, data: pl.DataFrame) -> None:
        from textual.widgets import DataTable

        table = self.query_one(DataTable)
        table.clear(columns=True)
        table.add_columns(*data.columns)
        table.add_rows(data.rows())

    def action_filter(self) -> None:
        """Half of the rows."""
        self._show(self.data.filter(pl.col("i0") < 50_000))

    def action_sort(self) -> None:
        """All rows by one column."""
        self._show(self.data.sort("f0"))


class FastTableApp(TableApp):
    """textual-fastdatatable, with the backend that works under Polars 2 for all types."""

    def compose(self) -> ComposeResult:
        """One table."""
        from textual_fastdatatable import ArrowBackend, DataTable

        yield DataTable(backend=ArrowBackend(self.data.to_arrow()))

    def _show(self, data: pl.DataFrame) -> None:
        from textual_fastdatatable import ArrowBackend, DataTable

        self.query_one(DataTable).remove()
        table = DataTable(backend=ArrowBackend(data.to_arrow()))
        self.mount(table)
        table.focus()

    def action_filter(self) -> None:
        """Half of the rows."""
        self._show(self.data.filter(pl.col("i0") < 50_000))

    def action_sort(self) -> None:
        """All rows by one column."""
        self._show(self.data.sort("f0"))


APPS = {"FrameTable": FrameTableApp, "DataTable": DataTableApp, "textual-fastdatatable": FastTableApp}
LIBRARIES = {
    "FrameTable": "explorer.widgets.frame_table",
    "DataTable": "textual.widgets._data_table",
    "textual-fastdatatable": "textual_fastdatatable",
}


def main() -> None:
    """`table_apps.py APP ROWS`."""
    kind, rows = sys.argv[1], int(sys.argv[2])
    app = APPS[kind]
    data = frame(rows)
    # Libraries are loaded before the clock starts: the question is what the table costs.
    importlib.import_module(LIBRARIES[kind])
    Path(os.environ["BENCH_READY"]).write_text(str(time.monotonic_ns()), encoding="utf-8")
    app(data).run()


if __name__ == "__main__":
    main()
