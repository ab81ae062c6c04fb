"""What the table shows, without a widget: columns, widths, and the texts of a window of rows.

The frame may hold millions of rows, so nothing here looks at all of them: widths come from a sample and texts
are made a block of rows and a column at a time, when a line is drawn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from explorer.analysis.cells import (
    UNICODE,
    Align,
    CellGlyphs,
    ColumnSpec,
    alignment,
    decimals_of,
    fit,
    format_column,
    width_of,
)

BLOCK: Final = 256
"""Rows that are cut from the frame and formatted together: a page and its neighbours."""
KEPT_BLOCKS: Final = 6
SAMPLE: Final = 200

Tones = Callable[[pl.DataFrame], list[str]]
"""Window -> a tone for each row ('' for none)."""


@dataclass(frozen=True)
class Column:
    """A column as laid out."""

    spec: ColumnSpec
    width: int
    start: int
    """First cell, counted from the left end of all columns."""
    align: Align
    decimals: int | None
    sort: str = ""
    """Sort mark behind the title."""

    @property
    def name(self) -> str:
        """Name of the frame's column."""
        return self.spec.name

    @property
    def end(self) -> int:
        """The cell after the last."""
        return self.start + self.width


@dataclass
class _Block:
    window: pl.DataFrame
    texts: dict[str, list[str]] = field(default_factory=dict)
    tones: list[str] | None = None
    ids: list[int] | None = None


class TableModel:
    """A frame, the order of its rows, and the columns that are shown of it.

    Args:
        frame: All rows.
        rows: Positions of the shown rows in `frame`, in their order; None: every row as it stands.
        specs: How columns are shown; a column without one is shown by its type.
        hidden: Columns that are not shown.
        order: Columns to show first; the others follow in the frame's order.
        frozen: Columns that stay at the left while the others scroll.
        decisive: Columns that should be in view at once: flexible columns before them give way; empty: all.
        sorts: Column -> sort mark.
        tones: Tone of each row of a window.
        glyphs: Characters.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        rows: pl.Series | None = None,
        specs: Mapping[str, ColumnSpec] | None = None,
        hidden: Sequence[str] = (),
        order: Sequence[str] = (),
        frozen: Sequence[str] = (),
        decisive: Sequence[str] = (),
        sorts: Mapping[str, str] | None = None,
        tones: Tones | None = None,
        glyphs: CellGlyphs = UNICODE,
    ) -> None:
        self.frame = frame
        self.rows = rows
        self.glyphs = glyphs
        self.height = frame.height if rows is None else len(rows)
        self._tones = tones
        self._blocks: OrderedDict[int, _Block] = OrderedDict()
        names = column_order(frame.columns, order, frozen, hidden)
        self.frozen_count = sum(1 for name in names if name in set(frozen))
        self._natural = self._measure(
            [(specs or {}).get(name) or ColumnSpec(name) for name in names], sorts or {}
        )
        wanted = set(decisive)
        self._leading = max(
            (at + 1 for at, name in enumerate(names) if name in wanted or not wanted), default=0
        )
        self._available = -1
        self.columns: list[Column] = list(self._natural)
        self.fit_to(0)

    @property
    def width(self) -> int:
        """Cells of all columns, separators included."""
        return self.columns[-1].end if self.columns else 0

    @property
    def frozen_width(self) -> int:
        """Cells of the frozen columns and the rule behind them."""
        return self.columns[self.frozen_count - 1].end + 1 if self.frozen_count else 0

    def index_of(self, name: str) -> int | None:
        """Place of a column among the shown ones."""
        return next((at for at, column in enumerate(self.columns) if column.name == name), None)

    def fit_to(self, available: int) -> bool:
        """Narrow flexible columns until the decisive ones fit into `available`; True when widths changed."""
        if available == self._available:
            return False
        self._available = available
        before = [column.width for column in self.columns]
        widths = [column.width for column in self._natural]
        if available > 0:
            _shrink(widths, self._natural, available, self._leading)
        self.columns = _placed(self._natural, widths)
        if widths != before:
            for block in self._blocks.values():
                block.texts.clear()
        return widths != before

    def text(self, row: int, column: Column) -> str:
        """The cell's text, exactly as wide as its column."""
        block = self._block(row // BLOCK)
        texts = block.texts.get(column.name)
        if texts is None:
            raw = format_column(block.window, column.spec, self.glyphs, column.decimals)
            ellipsis, middle = self.glyphs.ellipsis, column.spec.middle
            texts = [fit(text, column.width, column.align, ellipsis, middle) for text in raw]
            block.texts[column.name] = texts
        return texts[row % BLOCK]

    def full_text(self, row: int, column: Column) -> str:
        """The cell's text uncut."""
        return format_column(self.window(row, 1), column.spec, self.glyphs, column.decimals)[0].strip()

    def tone(self, row: int) -> str:
        """Tone of a row."""
        if self._tones is None:
            return ""
        block = self._block(row // BLOCK)
        if block.tones is None:
            block.tones = self._tones(block.window)
        return block.tones[row % BLOCK]

    def shade(self, row: int, column: Column) -> float | None:
        """The heat value behind a cell, if its column has one."""
        if not column.spec.shade:
            return None
        value = self._block(row // BLOCK).window[column.spec.shade][row % BLOCK]
        return None if value is None else float(value)

    def value(self, row: int, name: str) -> Any:
        """The value itself."""
        return self._block(row // BLOCK).window[name][row % BLOCK]

    def row_id(self, row: int) -> int:
        """Position of a shown row in the whole frame: stays the same under filters and sorts."""
        if self.rows is None:
            return row
        block = self._block(row // BLOCK)
        if block.ids is None:
            block.ids = self.rows.slice(row // BLOCK * BLOCK, BLOCK).to_list()
        return block.ids[row % BLOCK]

    def position_of(self, row_id: int) -> int | None:
        """Where a row of the frame is shown, or None."""
        if self.rows is None:
            return row_id if 0 <= row_id < self.height else None
        return self.rows.index_of(row_id)

    def window(self, start: int, count: int) -> pl.DataFrame:
        """Rows as shown, all columns."""
        if self.rows is None:
            return self.frame.slice(start, count)
        return self.frame[self.rows.slice(start, count)]

    def _block(self, number: int) -> _Block:
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = _Block(self.window(number * BLOCK, BLOCK))
            while len(self._blocks) > KEPT_BLOCKS:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(number)
        return block

    def _sample(self) -> pl.DataFrame:
        """First rows, last rows and some between: the widest of a sorted column may stand at either end."""
        if self.height <= 2 * SAMPLE:
            return self.window(0, self.height)
        step = self.height // 50
        parts = [self.window(0, SAMPLE), self.window(self.height - 50, 50)]
        if self.rows is None:
            parts.append(self.frame.gather_every(step))
        else:
            parts.append(self.frame[self.rows.gather_every(step)])
        return pl.concat(parts)

    def _measure(self, specs: list[ColumnSpec], sorts: Mapping[str, str]) -> list[Column]:
        sample = self._sample()
        columns = []
        for spec in specs:
            series = sample[spec.name]
            decimals = spec.decimals
            if decimals is None and series.dtype.is_float():
                decimals = decimals_of(series)
            texts = format_column(sample, spec, self.glyphs, decimals)
            mark = sorts.get(spec.name, "")
            width = max(width_of(texts), spec.min_width)
            # A reason in place of a number may be long; it must not widen a column of numbers without end.
            width = min(width, spec.max_width)
            width = max(width, width_of([spec.header]) + width_of([mark]))
            columns.append(Column(spec, width, 0, alignment(series.dtype, spec), decimals, mark))
        return columns


def column_order(
    names: Sequence[str], order: Sequence[str], frozen: Sequence[str], hidden: Sequence[str]
) -> list[str]:
    """Frozen columns, then the ordered ones, then the rest as they stand; hidden ones left out."""
    known, gone = set(names), set(hidden)
    wanted = dict.fromkeys([*frozen, *order, *names])
    return [name for name in wanted if name in known and (name not in gone or name in frozen)]


def _shrink(widths: list[int], columns: Sequence[Column], available: int, leading: int) -> None:
    """Take cells from the widest flexible column among the leading ones until they end inside `available`."""
    excess = sum(widths[:leading]) + leading - 1 - available
    floors = [max(8, width_of([column.spec.header]) + width_of([column.sort])) for column in columns]
    while excess > 0:
        choices = [at for at in range(leading) if columns[at].spec.flexible and widths[at] > floors[at]]
        if not choices:
            return
        widest = max(choices, key=lambda at: widths[at])
        widths[widest] -= 1
        excess -= 1


def _placed(columns: Sequence[Column], widths: Sequence[int]) -> list[Column]:
    placed, start = [], 0
    for column, width in zip(columns, widths, strict=True):
        placed.append(Column(column.spec, width, start, column.align, column.decimals, column.sort))
        start += width + 1
    return placed
