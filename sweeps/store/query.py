"""The one filter language: a Polars SQL expression over a table's columns; words without an operator search
the text columns. Also sorting, with noisy rows never ranked first."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import polars as pl

Schema = Mapping[str, "pl.DataType | type[pl.DataType]"]

T = TypeVar("T")

_OPERATOR: Final = re.compile(
    r"[=<>!()+*/%~'|]|\b(?:is|in|like|ilike|rlike|between|not|and|or|case)\b", re.IGNORECASE
)
_JOINED: Final = re.compile(r"'[^']*'|\([^()]*\)|\b(and|or)\b", re.IGNORECASE)
_PLACE: Final = re.compile(r" at Line: (\d+), Column: (\d+)")
_PREFIX: Final = "SELECT * FROM self WHERE "

MEASURES: Final = frozenset(
    (
        "tok_s", "wall_tok_s", "speedup", "speedup_default", "speedup_lo", "speedup_hi", "identity_speedup",
        "ttft_ms", "tpot_ms", "draft_ms", "verify_ms", "rest_ms",
    )
)  # fmt: skip
"""Columns by which rows are ranked: noisy rows then come after all others."""


SHORT: Final = {
    "nat": "num_assistant_tokens",
    "tau": "tokens_per_round",
    "r": "acceptance",
    "acc": "acceptance",
    "k": "proposals_per_round",
}
"""What the field, and the heads of our own tables, call some columns."""


class FilterError(ValueError):
    """A filter or a column name that means nothing; `position` is the index of the offending character in
    the text, None where it is not known."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


def compile_filter(text: str, columns: Schema) -> pl.Expr:
    """A boolean expression for `text` over `columns` (name -> Polars type).

    Empty text keeps every row. Words without an operator must each occur in some text column (case is
    ignored; quotation marks keep words together). Otherwise the text is a Polars SQL expression.

    Raises:
        FilterError: the text cannot be understood, names a column that does not exist, compares what
            cannot be compared, or is no condition.
    """
    text = text.strip()
    if not text:
        return pl.lit(True)
    if not _OPERATOR.search(text):
        alone = columns.get(text)
        return pl.col(text) if alone == pl.Boolean else _search(text, columns)
    expression = _parse(text, columns)
    for name in expression.meta.root_names():
        if name not in columns:
            raise FilterError(_unknown(name, text, columns), _find(name, text))
    try:
        _try_out(expression, columns)
    except FilterError as error:
        raise FilterError(str(error), _wrong_part(text, columns)) from None
    return expression


def filter_rows(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """The rows of `frame` that meet the filter. Raises FilterError."""
    expression = compile_filter(text, frame.schema)
    rows, fault = _guarded(lambda: frame.filter(expression))
    if rows is None:
        raise FilterError(fault)
    return rows


def sort_rows(frame: pl.DataFrame, sorts: Sequence[tuple[str, bool]]) -> pl.DataFrame:
    """Sort by (column, descending) pairs, the most important first; nulls come last, equal rows keep their
    order. A ranking by a measure puts noisy rows after all others. Raises FilterError."""
    for name, _ in sorts:
        if name not in frame.columns:
            raise FilterError(_no_column(name, frame.columns))
    if not sorts:
        return frame
    keys = [pl.col(name) for name, _ in sorts]
    descending = [down for _, down in sorts]
    if "noisy" in frame.columns and any(name in MEASURES for name, _ in sorts):
        keys.insert(0, pl.col("noisy").fill_null(False))
        descending.insert(0, False)
    return frame.sort(keys, descending=descending, nulls_last=True, maintain_order=True)


def parse_sort(text: str) -> list[tuple[str, bool]]:
    """`speedup` or `-speedup,prompt`: a minus sorts descending."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    return [(name.lstrip("+-"), name.startswith("-")) for name in names]


def known_columns(names: Iterable[str], frame: pl.DataFrame) -> list[str]:
    """`names` as they are if the frame has all of them. Raises FilterError."""
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in frame.columns:
            raise FilterError(_no_column(name, frame.columns))
    return chosen


def _search(text: str, columns: Schema) -> pl.Expr:
    words = [quoted or bare for quoted, bare in re.findall(r'"([^"]+)"|([^\s"]+)', text)]
    searched = [pl.col(name) for name, dtype in columns.items() if dtype == pl.String]
    if not searched:
        raise FilterError("there is no text column to search")
    hits = [
        pl.any_horizontal(
            *(
                column.str.to_lowercase().str.contains(word.lower(), literal=True).fill_null(False)
                for column in searched
            )
        )
        for word in words
    ]
    return pl.all_horizontal(*hits) if hits else pl.lit(True)


def _parse(text: str, columns: Schema) -> pl.Expr:
    # The parser of whole statements says where a fault is and refuses a stray word at the end, which that
    # of expressions takes for a new name; that one refuses clauses after the condition.
    expression, fault = _guarded(lambda: pl.sql_expr(text))
    _, at_place = _guarded(lambda: _row(columns).lazy().sql(_PREFIX + text))
    if expression is not None and not (at_place and _PLACE.search(at_place)):
        return expression
    message = at_place or fault
    position: int | None = None
    place = _PLACE.search(message)
    if place:
        line, column = int(place[1]), int(place[2])
        before = sum(len(part) + 1 for part in (_PREFIX + text).split("\n")[: line - 1])
        position = min(max(before + column - 1 - len(_PREFIX), 0), len(text))
    elif message.endswith("found: EOF"):
        position = len(text)
        message = message.replace("found: EOF", "found the end")
    raise FilterError(_PLACE.sub("", message).removeprefix("sql parser error: "), position)


def _guarded(make: Callable[[], T]) -> tuple[T | None, str]:
    """What `make` gives, or the first line of what Polars has against it."""
    try:
        return make(), ""
    except (pl.exceptions.PolarsError, ValueError) as error:
        return None, _first_line(error)
    except BaseException as error:
        # Polars' Rust panics are no `Exception`; anything else of that kind (Ctrl-C) goes on its way.
        if type(error).__name__ != "PanicException":
            raise
        return None, "not understood"


def _try_out(expression: pl.Expr, columns: Schema) -> None:
    """Run the expression over one row of nulls: types, functions and patterns are checked that way."""
    result, fault = _value(expression, columns)
    if result is None:
        raise FilterError(fault)
    if result.dtype != pl.Boolean:
        raise FilterError(f"not a condition: it gives {result.dtype}, not true or false")


def _value(expression: pl.Expr, columns: Schema) -> tuple[pl.Series | None, str]:
    def run() -> pl.Series:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _row(columns).select(expression.alias("condition"))["condition"]

    return _guarded(run)


def _wrong_part(text: str, columns: Schema) -> int | None:
    """Where the first of the conditions joined by AND and OR begins that alone is wrong as well."""
    start = 0
    for part in [*_JOINED.finditer(text), None]:
        if part is not None and part[1] is None:
            continue  # a text in quotation marks or a bracketed group, in which the words join nothing
        end = part.start() if part else len(text)
        piece = text[start:end]
        expression, _ = _guarded(lambda piece=piece: pl.sql_expr(piece))  # type: ignore[misc]
        if expression is not None and _value(expression, columns)[0] is None:
            return start + len(piece) - len(piece.lstrip())
        start = part.end() if part else end
    return None


def _row(columns: Schema) -> pl.DataFrame:
    return pl.DataFrame({name: [None] for name in columns}, schema=dict(columns))


def _unknown(name: str, text: str, columns: Schema) -> str:
    if f'"{name}"' in text:
        return f"no column {name}; texts stand in single quotes: '{name}'"
    return _no_column(name, columns)


def _no_column(name: str, columns: Iterable[str]) -> str:
    known, meant = list(columns), SHORT.get(name.lower(), "")
    close = [meant] if meant in known else difflib.get_close_matches(name, known, n=3)
    return f"no column {name}" + (f"; did you mean {' or '.join(close)}?" if close else "")


def _find(name: str, text: str) -> int | None:
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return found.start() if found else None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["not understood"])[0]
