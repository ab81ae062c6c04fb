"""The form as a list of lines: the cursor stands on a value, `left` and `right` on one chip of an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import BindingType
from textual.message import Message

from explorer.actions import Action, bindings
from explorer.glyphs import Glyphs
from explorer.screens.base import shell_of
from explorer.screens.define.form import Row
from explorer.screens.define.listview import LineList

LABEL = 26
"""Columns of the labels."""


class FormView(LineList):
    """Draws `Row`s and says what the person wants done with one; the screen edits the text."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("form.left", "Previous value of the axis", "left,h", do="chip_left"),
        Action("form.right", "Next value of the axis", "right,l", do="chip_right"),
        Action("form.add", "Add a value, model, prompt or grid", "a,plus", footer="add", do="form_add"),
        Action("form.remove", "Remove this value", "x,delete,backspace", footer="remove", do="form_remove"),
        Action(
            "form.toggle", "Switch between true and false, or to the next choice", "space", do="form_toggle"
        ),
        Action("form.duplicate", "Duplicate this grid", "c", do="form_duplicate"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    class Wish(Message):
        """`add`, `remove`, `toggle` or `duplicate` on a row."""

        def __init__(self, verb: str, row: Row, chip: int) -> None:
            self.verb, self.row, self.chip = verb, row, chip
            super().__init__()

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.rows: Sequence[Row] = ()
        self.chip = 0
        self._by_row: dict[str, str] = {}
        self._facts: Mapping[str, str] = {}

    def fill(self, rows: Sequence[Row], faults: Mapping[str, str], facts: Mapping[str, str]) -> None:
        """New rows; `faults` by place (`grid[0].draft`), `facts` by model name."""
        here = self.row.path if self.row else None
        self.rows, self._facts = rows, facts
        self._by_row = by_row([row.place for row in rows if row.kind not in ("section", "add")], faults)
        glyphs = shell_of(self).glyphs
        cursor = next((i for i, row in enumerate(rows) if row.path == here and row.kind != "section"), None)
        self.show([(self._line(row, glyphs), row.kind != "section") for row in rows], cursor)
        self.chip = min(self.chip, max(len(self.row.chips) - 1, 0) if self.row else 0)

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def fault_of(self, row: Row) -> str:
        """The fault at the row's place, or inside it where no row is nearer."""
        return self._by_row.get(row.place, "") if row.kind not in ("section", "add") else ""

    def _line(self, row: Row, glyphs: Glyphs) -> Text:
        if row.kind == "section":
            return Text(row.label, Style(bold=True, underline=True), end="")
        if row.kind == "add":
            return Text(f"  + {row.label}", Style(dim=True), end="")
        fault = self.fault_of(row)
        mark = glyphs.states["failed"] if fault else " "
        if row.kind == "grid":
            return Text(f"{mark} {row.label}" + (f"  {fault}" if fault else ""), Style(bold=True), end="")
        line = Text(f"{mark}   {row.label:<{LABEL}} ", end="")
        if row.kind == "axis":
            for chip in row.chips:
                line.append(f"[{chip}] ")
        else:
            line.append(row.value or "-", Style(dim=not row.is_set))
        if row.kind == "model" and row.label in self._facts:
            line.append(f"  {self._facts[row.label]}", Style(dim=True))
        if fault:
            line.append(f"  {fault}", Style(bold=True))
        return line

    def decorate(self, index: int, text: Text) -> Text:
        """Under the cursor: underline the chosen chip and say what the row is."""
        row = self.rows[index]
        if index != self.cursor or not self.has_focus:
            return text
        if row.kind == "axis" and row.chips:
            start = LABEL + 5 + sum(len(chip) + 3 for chip in row.chips[: self.chip])
            text.stylize(
                Style(reverse=False, underline=True, bold=True), start, start + len(row.chips[self.chip]) + 2
            )
        if row.about and not self.fault_of(row):
            text.append(f"  {row.about}", Style(italic=True))
        return text

    def watch_cursor(self, old: int, new: int) -> None:
        self.chip = 0
        super().watch_cursor(old, new)

    def why_not(self, action: str) -> str:
        row = self.row
        if row is None:
            return "the form is empty" if action.startswith("form.") else ""
        if action in ("form.left", "form.right") and len(row.chips) < 2:
            return "this row has no second value"
        if action == "form.toggle" and not (
            row.field and row.field.value in ("toggle", "choice") and row.kind == "value"
        ):
            return "this is not a choice"
        if action == "form.remove" and (row.kind == "add" or not row.is_set):
            return "there is nothing to remove"
        if action == "form.duplicate" and row.path[:1] != ("grid",):
            return "this is not a grid"
        return ""

    def _step(self, step: int) -> None:
        if self.row and self.row.chips:
            self.chip = (self.chip + step) % len(self.row.chips)
            self.redraw(self.cursor)

    def action_chip_left(self) -> None:
        self._step(-1)

    def action_chip_right(self) -> None:
        self._step(1)

    def _wish(self, verb: str) -> None:
        if self.row is not None:
            self.post_message(self.Wish(verb, self.row, self.chip))

    def action_form_add(self) -> None:
        self._wish("add")

    def action_form_remove(self) -> None:
        self._wish("remove")

    def action_form_toggle(self) -> None:
        self._wish("toggle")

    def action_form_duplicate(self) -> None:
        self._wish("duplicate")


def by_row(places: Sequence[str], faults: Mapping[str, str]) -> dict[str, str]:
    """Each fault at the nearest row that holds its place; the first one of a row speaks."""
    found: dict[str, str] = {}
    for fault, message in faults.items():
        holders = [p for p in places if p and (fault == p or fault.startswith((f"{p}.", f"{p}[")))]
        if holders:
            found.setdefault(max(holders, key=len), message)
    return found
