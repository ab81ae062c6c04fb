"""Where a round's time goes, as bars of parts on one scale: told apart by character and word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from explorer.widgets.line_pane import Line, LinePane, Span, line

MARKS: Final = "█▓░"
ASCII_MARKS: Final = "#=."
STYLES: Final = ("good", "", "dim")
LABEL: Final = 10


class Budget(NamedTuple):
    """Milliseconds of the parts of one round."""

    name: str
    parts: tuple[float, ...]

    @property
    def total(self) -> float:
        """All parts; a part below zero (a fitted term may be) takes away from it."""
        return sum(self.parts)


def cells(parts: Sequence[float], scale: float) -> list[int]:
    """Whole cells for each part, `scale` cells a millisecond; ends are rounded, so errors do not add up."""
    ends, here = [0], 0.0
    for part in parts:
        here += max(part, 0.0)
        ends.append(round(here * scale))
    return [after - before for before, after in pairwise(ends)]


def bar_lines(budgets: Sequence[Budget], names: Sequence[str], width: int, ascii_only: bool) -> list[Line]:
    """A line for each budget, on the scale of the longest, then what the characters mean, in milliseconds."""
    if not budgets:
        return []
    marks = ASCII_MARKS if ascii_only else MARKS
    longest = max(sum(max(part, 0.0) for part in each.parts) for each in budgets)
    room = max(10, width - LABEL - 12)
    scale = room / longest if longest > 0 else 0.0
    lines = []
    for each in budgets:
        spans = [Span(f"{each.name[: LABEL - 1]:<{LABEL}}", "dim")]
        spans += [
            Span(mark * count, style)
            for mark, style, count in zip(marks, STYLES, cells(each.parts, scale), strict=False)
        ]
        lines.append((*(span for span in spans if span.text), Span(f" {each.total:.2f} ms")))
    first = budgets[0]
    legend = [
        f"{mark} {name} {part:.2f} ms   " for mark, name, part in zip(marks, names, first.parts, strict=False)
    ]
    return [*lines, line((" " * LABEL, ""), *legend)]


class BudgetBar(LinePane):
    """Up to three bars and their legend."""

    DEFAULT_CSS = "BudgetBar { height: auto; }"

    def __init__(self, names: Sequence[str], ascii_only: bool = False, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._names, self._ascii = names, ascii_only
        self._budgets: Sequence[Budget] = ()

    def show(self, budgets: Sequence[Budget]) -> None:
        """Draw these, the first one explained in the legend."""
        if len(budgets) != len(self._budgets):
            self.styles.height = len(budgets) + 1
        self._budgets = budgets
        self._paint()

    def on_resize(self) -> None:
        """The scale follows the width."""
        self._paint()

    def _paint(self) -> None:
        self.show_lines(bar_lines(self._budgets, self._names, self.size.width, self._ascii))
