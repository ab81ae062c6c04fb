"""What every importer shares: rows of the run table from plain values, and honest statistics."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from sweeps.store.schema import RUNS

NOISY_ABOVE: Final = 0.1
"""Relative median absolute deviation of tok_s above which a row is marked noisy."""


class ExchangeError(ValueError):
    """A file that cannot be taken in: one line with the file, the place and what would be right."""


class Imported(NamedTuple):
    """What a file gave: run rows, the tool that wrote it, and what was left out and why."""

    runs: pl.DataFrame
    tool: str
    notes: tuple[str, ...] = ()


def frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Rows as a frame of exactly the columns of RUNS; what a row does not say is null.

    Raises ExchangeError for a column that the run table does not have.
    """
    unknown = sorted({name for row in rows for name in row} - set(RUNS))
    if unknown:
        raise ExchangeError(f"the run table has no column {', '.join(unknown)}")
    schema = {name: column.dtype for name, column in RUNS.items()}
    return pl.DataFrame([{name: row.get(name) for name in RUNS} for row in rows], schema=schema)


def run_id(*parts: object) -> str:
    """10 hex digits that name a configuration of another tool, stable across machines and sessions."""
    text = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:10]


def number(value: object) -> float | None:
    """A finite value of at least 0, or None for what tools write instead (empty, NA, -1, NaN)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        result = float(value)
    except ValueError:
        return None
    return result if math.isfinite(result) and result >= 0 else None


def whole(value: object) -> int | None:
    """Like `number`, for counts; None when there is a fraction."""
    result = number(value)
    return int(result) if result is not None and result.is_integer() else None


def text(value: object) -> str | None:
    """A non-empty string, or None."""
    return value.strip() or None if isinstance(value, str) else None


def known(values: Iterable[float | None]) -> list[float]:
    """The values that are there."""
    return [value for value in values if value is not None]


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, None of nothing."""
    return statistics.fmean(values) if values else None


def sample_sd(values: Sequence[float]) -> float | None:
    """Sample standard deviation; None below two values, where there is no spread to speak of."""
    return statistics.stdev(values) if len(values) > 1 else None


def relative_mad(values: Sequence[float]) -> float | None:
    """Median absolute deviation over the median; None below two values."""
    if len(values) < 2:
        return None
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values) / middle if middle > 0 else None


def rate_columns(rates: Sequence[float]) -> dict[str, object]:
    """`tok_s`, its spread and the noise mark, from one decode rate a rep (tokens per second)."""
    mad = relative_mad(rates)
    return {
        "tok_s": mean(rates),
        "tok_s_sd": sample_sd(rates),
        "rel_mad": mad,
        "noisy": None if mad is None else mad > NOISY_ABOVE,
    }


def properties(values: Mapping[str, object]) -> str | None:
    """The options that a tool recorded, as JSON; None when it recorded none."""
    kept = {name: value for name, value in values.items() if value not in (None, "")}
    return json.dumps(kept, sort_keys=True, ensure_ascii=False) if kept else None
