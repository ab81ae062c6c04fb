"""Lines of the table: which text in which style. As few styled runs as there are styles: each costs a
terminal about 40 bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from explorer.analysis.cells import fit, shade_level
from explorer.widgets.frame_table.model import Column, TableModel

GUTTER: Final = 1
"""Cells at the left for the mark of marked rows."""
SHADES: Final = 5

Run = tuple[str, Style]
StyleOf = Callable[..., Style]
"""Names of component styles -> the widget's style with these over it."""


@dataclass(frozen=True)
class View:
    """The part of the table that is on the screen."""

    scroll: int
    """Cells that the columns that are not frozen are scrolled by."""
    width: int
    more: bool
    """Whether there is more on the right."""


def header_line(model: TableModel, view: View, style_of: StyleOf) -> Strip:
    """The titles; arrows at the ends tell that there is more."""
    style, glyphs = style_of("header"), model.glyphs

    def title(column: Column) -> Run:
        return fit(column.spec.header + column.sort, column.width, column.align, glyphs.ellipsis), style

    runs = _laid_out(model, view, title, style)
    if view.more:
        runs = [(strip(runs, view.width - 2 * GUTTER, style).text, style), (glyphs.right, style)]
    return strip([(glyphs.left if view.scroll else " ", style), *runs], view.width, style)


def row_line(
    model: TableModel,
    view: View,
    style_of: StyleOf,
    row: int,
    cursor: str | None,
    focused: bool,
    marked: bool,
) -> Strip:
    """A row.

    Args:
        model: The table.
        view: What is on the screen.
        style_of: The styles.
        row: Number of the row.
        cursor: The cursor's column when the cursor is in this row.
        focused: Whether the table has the focus.
        marked: Whether the row is marked.
    """
    tone = model.tone(row)
    base = style_of(tone) if cursor is None else style_of("row", tone)
    if marked:
        base += Style(bold=True)

    def cell(column: Column) -> Run:
        style = base
        if column.spec.shade:
            shade = style_of(f"shade-{shade_level(model.shade(row, column), SHADES)}")
            style = base + Style(color=shade.color, bold=shade.bold)
        if column.name == cursor:
            style += Style(reverse=True, underline=not focused)
        return model.text(row, column), style

    gutter = (model.glyphs.mark if marked else " ", base)
    return strip([gutter, *_laid_out(model, view, cell, base)], view.width, base)


def _laid_out(model: TableModel, view: View, cell: Callable[[Column], Run], between: Style) -> list[Run]:
    """Runs of the frozen columns, a rule, and the part of the others that is in view."""
    frozen, left = model.frozen_count, model.frozen_width
    runs: list[Run] = []
    for column in model.columns[:frozen]:
        last = column is model.columns[frozen - 1]
        runs += [cell(column), (model.glyphs.rule if last else " ", between)]
    start = view.scroll + left
    end = view.scroll + view.width - GUTTER
    for column in model.columns[frozen:]:
        if column.end + 1 <= start:
            continue
        if column.start >= end:
            break
        text, style = cell(column)
        text = _in_view(text, start - column.start, end - column.start, model.glyphs.ellipsis)
        runs += [(text, style), (" ", between)]
    return runs


def _in_view(text: str, start: int, end: int, ellipsis: str) -> str:
    """The cells `start..end` of a column's text. What is cut says so: half a number is another number."""
    if start > 0:
        part = Strip([Segment(text)]).crop(start).text
        text = ellipsis + Strip([Segment(part)]).crop(1).text if part.strip() else part
    room = end - max(0, start)
    return fit(text.strip(), room, "left", ellipsis) if cell_len(text) > room else text


def strip(runs: Sequence[Run], width: int, blank: Style) -> Strip:
    """Join neighbours of one style; cut or fill up to `width`."""
    segments: list[Segment] = []
    texts: list[str] = []
    current: Style | None = None
    for text, style in runs:
        if style == current:
            texts.append(text)
            continue
        if current is not None:
            segments.append(Segment("".join(texts), current))
        texts, current = [text], style
    if current is not None:
        segments.append(Segment("".join(texts), current))
    return Strip(segments).adjust_cell_length(width, blank)
