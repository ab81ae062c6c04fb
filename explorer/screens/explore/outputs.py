"""What leaves the table: cells, comparisons, charts, copies, files, kept views."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from explorer.analysis.apply import conditions_of
from explorer.analysis.charts import KINDS, ChartKind
from explorer.analysis.compare import MOST, Comparison, compare, to_markdown
from explorer.analysis.export import WRITERS, ExportError, export
from explorer.analysis.export import to_markdown as table_markdown
from explorer.analysis.view import ViewError, ViewState, load_views, save_views
from explorer.screens.explore import loading
from explorer.screens.explore.dialogs import Charts, Pick, Read, TypeLine
from explorer.screens.explore.drilling import Drilling
from explorer.screens.explore.spelling import spellings
from sweeps import paths

MOST_COPIED: Final = 1000
"""Rows of a table that are copied: terminals drop longer OSC 52 texts."""


def views_file() -> Path:
    """Where kept views lie."""
    return paths.config() / "views.json"


class Outputs(Drilling):
    """Keys that show, copy or write what the table holds."""

    def action_cell(self) -> None:
        """The cell as it is: lists and texts in full."""
        value = self.table.cursor_value
        if isinstance(value, pl.Series):
            text = f"{len(value)} values\n\n" + " ".join(str(item) for item in value.to_list())
        else:
            text = self.table.cursor_text if not isinstance(value, str) else value
        self.app.push_screen(Read(self.column, text))

    def action_compare(self) -> None:
        rows = self.chosen_rows()
        try:
            reps = loading.load("reps", self.data)
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            self.notify(f"Texts are not compared: {error}", severity="warning")
            reps = None
        spelled = spellings(rows.head(MOST).select("sweep", "run").rows(), self.data)
        found = compare(rows, self.view.level, reps, self.table.cells, spelled)
        left = max(0, rows.height - len(found.names))
        title = f"{len(found.names)} rows compared" + (f", {left} more are left out" if left else "")
        self.app.push_screen(
            Read(title, side_by_side(found, max(40, self.size.width - 8)), to_markdown(found))
        )

    def action_chart(self) -> None:
        """Of the marked rows, else of all rows of the view."""
        if self.shown is None:
            return
        rows = self.chosen_rows() if self.marks.get(self.view.level) else self._rows_of_view()
        first: ChartKind = "speedup" if self.view.level == "runs" else "tok_s"
        kept = self.kept.get("chart")
        charts = Charts(rows, next((kind for kind in KINDS if kind == kept), first), self.shell.ascii_only)

        def closed(_: None) -> None:
            self.kept["chart"] = charts.kind

        self.app.push_screen(charts, closed)

    def _rows_of_view(self) -> pl.DataFrame:
        """All rows of the level that the view's filter leaves."""
        assert self.shown is not None
        if self.view.kind == "table":
            return self.shown.frame if self.shown.rows is None else self.shown.frame[self.shown.rows]
        frame = self.frames[self.view.level]
        return frame.filter(*conditions_of(frame, self.view))

    def action_copy(self) -> None:
        self.shell.copy(self.table.cursor_text, f"{self.column} of this row")

    def action_copy_table(self) -> None:
        """Markdown: how results are posted."""
        if self.shown is not None:
            text = table_markdown(self.shown, self.table.cells, MOST_COPIED)
            self.shell.copy(text, f"{min(self.shown.height, MOST_COPIED):,} rows as Markdown")

    def action_export(self) -> None:
        """Ask for a path; its suffix chooses the format."""
        shown = self.shown
        if shown is None:
            return
        kept = self.kept.get("export")
        suffix = kept if kept in WRITERS else ".csv"
        name = f"specdec-{self.view.level}-{self.view.kind}-{time.strftime('%Y%m%d-%H%M%S')}{suffix}"
        overwrite: set[str] = set()

        def check(text: str) -> str:
            path = Path(text).expanduser()
            try:
                rows = export(shown, path, replace=text in overwrite)
            except ExportError as error:
                if path.is_file() and path.suffix.lower() in WRITERS:
                    overwrite.add(text)
                    return f"{error}; enter again replaces it"
                return str(error)
            self.kept["export"] = path.suffix.lower()
            self.notify(f"{rows:,} rows written to {path.absolute()}")
            return ""

        about = f"The name's end chooses the format: {', '.join(WRITERS)}. Enter writes, esc cancels."
        self.app.push_screen(TypeLine("Export the view", str(Path.cwd() / name), about, check))

    # Kept views

    def kept_views(self) -> dict[str, ViewState]:
        """Named views; a broken file holds none."""
        if self._kept_views is None:
            try:
                self._kept_views = load_views(views_file())
            except ViewError as error:
                self.notify(str(error), severity="warning")
                self._kept_views = {}
        return self._kept_views

    def action_keep_view(self) -> None:
        def check(name: str) -> str:
            name = name.strip()
            if not name:
                return "a view needs a name"
            view = replace(self.view, name=name)
            try:
                views = {**load_views(views_file()), name: view}
                save_views(views_file(), views)
            except (ViewError, OSError) as error:
                return str(error)
            self._kept_views = views
            self.history.amend(view)
            self.render_view()
            self.notify(f"Kept as {name} in {views_file()}; V opens it.")
            return ""

        about = "Filter, sorts, columns and summary are kept, not the rows. Enter keeps, esc cancels."
        self.app.push_screen(TypeLine("Name of this view", self.view.name, about, check))

    def action_views(self) -> None:
        views = self.kept_views()

        def take(name: str | None) -> None:
            if name is not None:
                self.go_to(views[name])

        choices = [
            (name, f"{name}   {replace(view, name='').title}  {view.filter}") for name, view in views.items()
        ]
        self.app.push_screen(Pick("Kept views", choices), take)


def side_by_side(found: Comparison, width: int) -> str:
    """A comparison as lines: labels at the left, one column a row, as many as fit; the others below."""
    label = max((len(name) for name, _ in [*found.differing, *found.metrics]), default=8)
    blocks = []
    cell = max(
        (len(value) for _, values in [*found.differing, *found.metrics] for value in values), default=8
    )
    cell = min(cell, 28)
    each = max(1, (width - label - 2) // (cell + 2))
    for start in range(0, len(found.names), each):
        part = slice(start, start + each)

        def line(name: str, values: list[str], part: slice = part) -> str:
            return f"{name:<{label}}  " + "  ".join(f"{value[:cell]:<{cell}}" for value in values[part])

        lines = [line("", found.names), "Settings that differ"]
        lines += [line(name, values) for name, values in found.differing] or ["none"]
        lines += ["", "Metrics"] + [line(name, values) for name, values in found.metrics]
        blocks.append("\n".join(text.rstrip() for text in lines))
    if found.texts:
        blocks.append("\n".join(["Texts", *found.texts]))
    if found.common:
        blocks.append(
            "Settings in common\n" + "\n".join(f"{name:<{label}}  {value}" for name, value in found.common)
        )
    return "\n\n".join(blocks)
