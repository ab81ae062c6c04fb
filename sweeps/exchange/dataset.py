"""A folder that others can use without this program: runs as CSV, JSONL and Parquet, and a card."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from sweeps import atomic
from sweeps.exchange import rows
from sweeps.exchange.reading import objects, read_text
from sweeps.exchange.rows import ExchangeError, Imported
from sweeps.store.schema import RUNS

FILES: Final = ("runs.csv", "runs.jsonl", "runs.parquet", "README.md")
MEASURED: Final = "measured"
"""The `source` of rows measured by this program on this machine."""
_KEY: Final = ("run", "kind", "target", "tok_s")
"""Columns without which a table is not taken for a run table."""


def write(
    folder: Path,
    runs: pl.DataFrame,
    *,
    title: str,
    about: str = "",
    licence: str = "unknown",
    host: str | None = None,
) -> tuple[Path, ...]:
    """Write the data set and return its files.

    Columns are those of RUNS, in that order. The home folder is written as `~` wherever a text names it, and
    `host`, when given, stands for every machine name measured here: a data set is for others to read.
    Raises ExchangeError when there is no row, or when the folder holds anything but an earlier data set.
    """
    if runs.is_empty():
        raise ExchangeError(f"{folder}: no run to write")
    if folder.exists():
        if not folder.is_dir():
            raise ExchangeError(f"{folder}: is a file, not a folder")
        others = sorted(path.name for path in folder.iterdir() if path.name not in FILES)
        if others:
            raise ExchangeError(f"{folder}: holds other files ({others[0]}): name a new or empty folder")
    table = _public(conform(runs, str(folder)), host)
    lines = io.BytesIO()
    table.write_ndjson(lines)
    contents = (
        table.write_csv().encode("utf-8"),
        lines.getvalue(),
        parquet(table),
        card(table, title=title, about=about, licence=licence).encode("utf-8"),
    )
    for name, content in zip(FILES, contents, strict=True):
        atomic.write_bytes(folder / name, content)
    return tuple(folder / name for name in FILES)


def recognises(found: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are rows of a run table."""
    return bool(found) and all(set(_KEY) <= item.keys() for item in found)


def read(path: Path) -> Imported:
    """The run rows of a data-set folder, or of one of its files.

    Raises ExchangeError for a file that is no run table, a column that RUNS lacks, or a value of the
    wrong type.
    """
    if path.is_dir():
        path = next((path / name for name in reversed(FILES[:3]) if (path / name).is_file()), path)
    try:
        if path.suffix == ".parquet":
            table = pl.read_parquet(path)
        elif path.suffix == ".csv":
            table = pl.read_csv(io.StringIO(read_text(path)), infer_schema=False)
        elif path.is_dir():
            raise ExchangeError(f"{path}: no runs.parquet, runs.jsonl or runs.csv in it")
        else:
            table = rows.frame(objects(path, read_text(path)))
    except (pl.exceptions.PolarsError, TypeError, OSError) as error:
        raise ExchangeError(f"{path}: not a run table: {_first_line(error)}") from error
    missing = [name for name in _KEY if name not in table.columns]
    if missing:
        raise ExchangeError(f"{path}: not a run table: no column {', '.join(missing)}")
    return Imported(conform(table, str(path)), "data set")


def card(runs: pl.DataFrame, *, title: str, about: str = "", licence: str = "unknown") -> str:
    """The data-set card (Markdown with the front matter that data-set hubs read)."""
    parts = [
        "---",
        f"license: {licence}",
        f'pretty_name: "{_plain(title)}"',
        "tags: [openvino, speculative-decoding, benchmark]",
        "configs:",
        "- config_name: runs",
        "  data_files: runs.parquet",
        "---",
        f"# {_plain(title)}",
        "",
        *([about.strip(), ""] if about.strip() else []),
        f"{runs.height} rows, one a configuration and prompt, in three equal forms:",
        "`runs.csv`, `runs.jsonl`, `runs.parquet`. Written by specdec-explorer.",
        "",
        "## Where the rows come from",
        *_table(
            runs,
            ("source", "host", "openvino", "genai"),
            "source | machine | OpenVINO | OpenVINO GenAI | rows",
        ),
        "",
        "## What was run",
        *_table(runs, ("kind", "path", "status"), "kind | engine (path) | status | rows"),
        "",
        "## Protocol",
        *_table(
            runs,
            ("reps", "max_new_tokens", "prefix_caching"),
            "counted reps | new tokens asked for | prefix caching | rows",
        ),
        "",
        "In rows measured here: greedy decoding, one fresh process a configuration, warm-ups not counted;",
        "`tok_s` is (tokens - 1) / (time of the last token - time of the first), `speedup` is over the same",
        "target, device, prompt and engine, `acceptance` is accepted / proposed tokens. A row whose `status`",
        "is not `ok` says why in `reason`.",
        "Rows of other sources keep what their tool or author stated; empty is unknown.",
        "",
        "## Columns",
        "| column | type | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {column.dtype} | {_plain(column.about)} |" for name, column in RUNS.items()),
        "",
    ]
    return "\n".join(parts)


def parquet(runs: pl.DataFrame) -> bytes:
    """The rows as a Parquet file."""
    buffer = io.BytesIO()
    runs.write_parquet(buffer)
    return buffer.getvalue()


def conform(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """Exactly the columns of RUNS, in their order and types; a column that is not there is null.

    Raises ExchangeError, beginning with `where`, for an unknown column or a value of another type.
    """
    unknown = [name for name in table.columns if name not in RUNS]
    if unknown:
        raise ExchangeError(f"{where}: the run table has no column {', '.join(unknown)}")
    columns = []
    for name, column in RUNS.items():
        if name not in table.columns:
            columns.append(pl.lit(None, dtype=column.dtype).alias(name))
        elif table.schema[name] == pl.String and column.dtype == pl.Boolean:
            # Text has no cast to Boolean: CSV writes the two words.
            columns.append(
                pl.col(name).replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
            )
        else:
            columns.append(pl.col(name).cast(column.dtype))
    try:
        return table.select(columns)
    except pl.exceptions.PolarsError as error:
        raise ExchangeError(
            f"{where}: a value has another type than its column: {_first_line(error)}"
        ) from error


def _public(table: pl.DataFrame, host: str | None) -> pl.DataFrame:
    home = str(Path.home())
    strings = pl.selectors.string()
    # Short homes such as "/" would be found everywhere.
    forms = [home, home.replace("\\", "\\\\")] if len(home) > 3 else []
    for form in dict.fromkeys(forms):
        table = table.with_columns(strings.str.replace_all(form, "~", literal=True))
    if host is None:
        return table
    measured_here = pl.col("source").is_null() | (pl.col("source") == MEASURED)
    return table.with_columns(
        pl.when(measured_here).then(pl.lit(host)).otherwise(pl.col("host")).alias("host")
    )


def _table(runs: pl.DataFrame, by: tuple[str, ...], head: str) -> list[str]:
    counts = runs.group_by(by, maintain_order=True).len().rows()
    lines = [f"| {head} |", "|" + "---|" * (len(by) + 1)]
    return lines + [
        "| " + " | ".join("" if v is None else _plain(str(v)) for v in row) + " |" for row in counts
    ]


def _plain(value: str) -> str:
    return " ".join(value.replace("|", "/").replace('"', "'").split())


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
