"""Tables on standard output: text, json, jsonl, csv, md."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from explorer.cli.layout import ASCII, UNICODE, Cell, Row, Signs, reps_layout, rounds_layout, runs_layout
from sweeps.plan.routing import NPU

if TYPE_CHECKING:
    import polars as pl

    from sweeps.store.pivot import Pivot

UNITS = {"_ms": "ms", "_s": "s", "_mb": "MB", "_us": "us"}


def print_frame(frame: pl.DataFrame, format_: str = "text", *, all_columns: bool = False) -> None:
    """Print a frame to standard output. As text and Markdown the run, rep and round tables come in a compact
    layout (text: as many cells as the terminal is wide) unless `all_columns`; every other format, and every
    other frame, has all columns."""
    click.echo(render(frame, format_, width=terminal_width(), signs=signs(), all_columns=all_columns))
    sys.stdout.flush()


def marked_devices(frame: pl.DataFrame) -> pl.DataFrame:
    """`NPU(emu)` where the NPU code path ran on another device, in a frame with the column `emulated`."""
    import polars as pl

    names = ("target_device", "draft_device")
    return frame.with_columns(
        pl.when(pl.col("emulated") & (pl.col(name) == NPU))
        .then(pl.lit(f"{NPU}(emu)"))
        .otherwise(name)
        .alias(name)
        for name in names
    )


def print_pivot(pivot: Pivot, format_: str = "text") -> None:
    """Print a cross table; as text and Markdown with `n` in each cell, else as a column of its own."""
    if format_ in ("text", "md"):
        click.echo(pivot_text(pivot, format_, signs()))
    else:
        click.echo(render(pivot.flat(), format_))
    sys.stdout.flush()


def terminal_width() -> int:
    """Columns of the terminal (COLUMNS overrides); 120 where there is none."""
    return shutil.get_terminal_size((120, 40)).columns


def signs() -> Signs:
    """ASCII when asked for, or when the output's encoding has nothing else."""
    context = click.get_current_context(silent=True)
    asked = bool(context and context.find_root().params.get("ascii_only"))
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower()
    return ASCII if asked or not encoding.startswith("utf") else UNICODE


def render(
    frame: pl.DataFrame,
    format_: str,
    *,
    width: int = 0,
    signs: Signs = UNICODE,
    all_columns: bool = False,
) -> str:
    """A frame in one of the formats. `width` 0: as wide as it gets."""
    if format_ == "json":
        lines = ",\n".join(_objects(frame))
        return f"[\n{lines}\n]" if lines else "[]"
    if format_ == "jsonl":
        return "\n".join(_objects(frame))
    if format_ == "csv":
        return _flat(frame).write_csv().rstrip("\n")
    reasons = _Reasons()
    cells = _generic(frame) if all_columns else _layout(frame, reasons)
    rows = frame.to_dicts()
    if format_ == "md":
        return _markdown(cells, rows, signs) + reasons.below(markdown=True)
    return _text(cells, rows, signs, width) + reasons.below()


def pivot_text(pivot: Pivot, format_: str, signs: Signs = UNICODE) -> str:
    """A cross table as text or Markdown: `1.35 n=3` in each cell."""
    names = [*pivot.rows, *pivot.labels]
    table = []
    for values, counts in zip(pivot.values.to_dicts(), pivot.counts.to_dicts(), strict=True):
        row = {name: signs.null if values[name] is None else str(values[name]) for name in pivot.rows}
        for name in pivot.labels:
            row[name] = "" if counts[name] is None else f"{_plain(values[name], signs)} n={counts[name]}"
        table.append(row)
    cells = [Cell(name, _get(name), right=name in pivot.labels) for name in names]
    return _markdown(cells, table, signs) if format_ == "md" else _text(cells, table, signs, 0)


class _Reasons:
    """Reasons by number, so that a table stays narrow and nothing is cut off."""

    def __init__(self) -> None:
        self._marks: dict[str, int] = {}

    def mark(self, reason: str) -> str:
        number = self._marks.setdefault(reason, len(self._marks) + 1)
        return f"[{number}]"

    def below(self, markdown: bool = False) -> str:
        if not self._marks:
            return ""
        lines = [f"[{number}] {' '.join(reason.split())}" for reason, number in self._marks.items()]
        return "\n\n" + ("  \n" if markdown else "\n").join(lines)


def _layout(frame: pl.DataFrame, reasons: _Reasons) -> list[Cell]:
    from sweeps.store.schema import REPS, ROUNDS, RUNS

    columns = set(frame.columns)
    if columns >= set(RUNS):
        return runs_layout(reasons.mark)
    if columns == set(REPS):
        return reps_layout(reasons.mark)
    if columns == set(ROUNDS):
        return rounds_layout()
    return _generic(frame)


def _generic(frame: pl.DataFrame) -> list[Cell]:
    return [
        Cell(_header(name), _get(name), rank=0, right=dtype.is_numeric())
        for name, dtype in frame.schema.items()
    ]


def _header(name: str) -> str:
    """`ttft_ms` -> `ttft ms`; a rate keeps its name."""
    if name.endswith("tok_s"):
        return name.removesuffix("tok_s").replace("_", " ") + "tok/s"
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending)} {unit}"
    return name


def _get(name: str) -> Callable[[Row, Signs], str]:
    return lambda row, signs: _plain(row[name], signs)


def _plain(value: Any, signs: Signs) -> str:
    if value is None:
        return signs.null
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    if isinstance(value, list):
        return json.dumps(value)
    return " ".join(str(value).split())


def _text(cells: Sequence[Cell], rows: Sequence[Row], signs: Signs, width: int) -> str:
    """Columns side by side. What is the same in every row is said once, above."""
    texts = {id(cell): [_printable(cell.text(row, signs)) for row in rows] for cell in cells}
    said: list[str] = []
    shown = list(cells)
    if len(rows) > 1 and any(cell.rank for cell in cells):
        for cell in cells:
            values = set(texts[id(cell)])
            if len(values) == 1 and cell.header != "status":
                shown.remove(cell)
                value = values.pop()
                if value != signs.null:
                    said.append(f"{cell.header} {value}")
    shown = _fitting(shown, texts, width)
    sizes = {id(cell): _size(cell, texts[id(cell)]) for cell in shown}
    lines = [f"all rows: {', '.join(said)}"] if said else []
    lines.append(_line([(cell, cell.header) for cell in shown], sizes))
    lines.append("  ".join("-" * sizes[id(cell)] for cell in shown))
    for number in range(len(rows)):
        lines.append(_line([(cell, texts[id(cell)][number]) for cell in shown], sizes))
    if not rows:
        lines.append("no rows")
    return "\n".join(lines)


def _fitting(cells: list[Cell], texts: dict[int, list[str]], width: int) -> list[Cell]:
    """Drop cells of the highest rank until the line fits; those of rank 0 stay."""
    shown = list(cells)
    while width and sum(_size(cell, texts[id(cell)]) + 2 for cell in shown) - 2 > width:
        droppable = [cell for cell in shown if cell.rank]
        if not droppable:
            break
        shown.remove(max(reversed(droppable), key=lambda cell: cell.rank))
    return shown


def _size(cell: Cell, texts: Sequence[str]) -> int:
    return max(map(len, (cell.header, *texts)))


def _line(parts: Sequence[tuple[Cell, str]], sizes: dict[int, int]) -> str:
    padded = [
        text.rjust(sizes[id(cell)]) if cell.right else text.ljust(sizes[id(cell)]) for cell, text in parts
    ]
    return "  ".join(padded).rstrip()


def _markdown(cells: Sequence[Cell], rows: Sequence[Row], signs: Signs) -> str:
    lines = [
        "| " + " | ".join(cell.header for cell in cells) + " |",
        "|" + "|".join(" ---: " if cell.right else " --- " for cell in cells) + "|",
    ]
    for row in rows:
        texts = [_printable(cell.text(row, signs)).replace("|", "\\|") for cell in cells]
        lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _printable(text: str) -> str:
    """A name from a file must not move the cursor."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _objects(frame: pl.DataFrame) -> list[str]:
    """One JSON object a row. JSON has no NaN: where there is no number there is null."""
    return [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in frame.fill_nan(None).to_dicts()]


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists as JSON texts: CSV has no lists."""
    import polars as pl

    lists = [
        name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List | pl.Array | pl.Struct)
    ]
    texts = [
        pl.Series(
            name, [None if value is None else json.dumps(value) for value in frame[name].to_list()], pl.String
        )
        for name in lists
    ]
    return frame.with_columns(texts)
