"""A view as a file: CSV, JSON lines, Parquet or Markdown. Values as they are; Markdown as they are shown."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from explorer.analysis.apply import Shown
from explorer.analysis.cells import UNICODE, CellGlyphs, ColumnSpec, format_column
from sweeps import atomic


class ExportError(ValueError):
    """The view cannot be written; one line that says why."""


def visible(shown: Shown) -> pl.DataFrame:
    """Rows and columns of a view in the order in which they are shown."""
    names = visible_columns(shown)
    table = shown.frame.select(names)
    return table if shown.rows is None else table[shown.rows]


def visible_columns(shown: Shown) -> list[str]:
    """Names of the columns that are shown, in order."""
    hidden = set(shown.hidden)
    keys = [key for key in shown.view.keys if key in shown.frame.columns]
    wanted = dict.fromkeys([*keys, *shown.order, *shown.frame.columns])
    return [name for name in wanted if name in shown.frame.columns and (name not in hidden or name in keys)]


def to_csv(shown: Shown) -> bytes:
    """UTF-8, a header line; nested values as JSON."""
    return _flat(_with_companions(shown)).write_csv().encode("utf-8")


def to_jsonl(shown: Shown) -> bytes:
    """One object a line."""
    buffer = io.BytesIO()
    table = _with_companions(shown)
    binary = [name for name, dtype in table.schema.items() if dtype == pl.Binary]
    table.with_columns(pl.col(binary).bin.encode("hex")).write_ndjson(buffer)
    return buffer.getvalue()


def to_parquet(shown: Shown) -> bytes:
    """Types kept."""
    buffer = io.BytesIO()
    _with_companions(shown).write_parquet(buffer)
    return buffer.getvalue()


def to_markdown(shown: Shown, glyphs: CellGlyphs = UNICODE, most_rows: int | None = None) -> str:
    """A table as it stands on the screen: rounded, with units and spread."""
    names = visible_columns(shown)
    table = shown.frame if shown.rows is None else shown.frame[shown.rows]
    left_out = 0
    if most_rows is not None and table.height > most_rows:
        left_out = table.height - most_rows
        table = table.head(most_rows)
    specs = [shown.specs.get(name) or ColumnSpec(name) for name in names]
    texts = [format_column(table, spec, glyphs) for spec in specs]
    lines = [
        _line([spec.header for spec in specs]),
        _line(["---:" if _numeric(table, s) else "---" for s in specs]),
    ]
    lines += [_line([column[row].strip() for column in texts]) for row in range(table.height)]
    if left_out:
        lines.append(f"\n{left_out} more rows.")
    return "\n".join(lines) + "\n"


WRITERS: Final[dict[str, Callable[[Shown], bytes]]] = {
    ".csv": to_csv,
    ".jsonl": to_jsonl,
    ".parquet": to_parquet,
    ".md": lambda shown: to_markdown(shown).encode("utf-8"),
}
"""Suffix -> writer."""


def export(shown: Shown, path: Path, replace: bool = False) -> int:
    """Write a view; the suffix chooses the format. Returns the number of rows.

    Raises:
        ExportError: unknown suffix, a file that is there (unless `replace`), or no permission to write.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ExportError(f"{path.name}: the name must end in {', '.join(WRITERS)}")
    if path.exists() and not replace:
        raise ExportError(f"{path} is there already")
    try:
        atomic.write_bytes(path, writer(shown))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ExportError(f"{path}: {error}") from error
    return shown.height


def _with_companions(shown: Shown) -> pl.DataFrame:
    """The visible columns and the spreads, devices and counts that stand inside their cells."""
    names: dict[str, None] = {}
    for name in visible_columns(shown):
        spec = shown.specs.get(name)
        names[name] = None
        if spec is not None:
            keep = (spec.device, spec.low, spec.high, spec.sd, spec.count, spec.detail, spec.noisy)
            names.update(dict.fromkeys(other for other in keep if other in shown.frame.columns))
    table = shown.frame.select(list(names))
    return table if shown.rows is None else table[shown.rows]


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Nested and binary columns as text: CSV has no place for them."""
    made = []
    for name, dtype in table.schema.items():
        if isinstance(dtype, pl.Struct):
            made.append(pl.col(name).struct.json_encode())
        elif isinstance(dtype, pl.List | pl.Array):
            wrapped = pl.struct(pl.col(name).alias("v")).struct.json_encode()
            inner = wrapped.str.strip_prefix('{"v":').str.strip_suffix("}")
            made.append(pl.when(pl.col(name).is_not_null()).then(inner).alias(name))
        elif dtype == pl.Binary:
            made.append(pl.col(name).bin.encode("hex"))
        elif dtype == pl.Duration:
            made.append(pl.col(name).dt.total_microseconds().alias(name))
        elif dtype == pl.Null:
            made.append(pl.col(name).cast(pl.String))
    return table.with_columns(made)


def _numeric(table: pl.DataFrame, spec: ColumnSpec) -> bool:
    return spec.kind != "bar" and table.schema[spec.name].is_numeric()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
