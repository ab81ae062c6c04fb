"""What can be done in What-if, with its keys. Said once; the screen has the methods."""

from __future__ import annotations

from typing import Final

from explorer.actions import Action

ACTIONS: Final[tuple[Action, ...]] = (
    Action("whatif.reset", "Take all edits back", "R", "The row's own terms and NAT.", footer="reset"),
    Action("whatif.pin", "Pin this scenario, or let the pinned one go", "p",
           "Further changes are compared with it.", footer="pin"),
    Action("whatif.unpin", "Go back to the pinned scenario", "P"),
    Action("whatif.best", "Take the best NAT", "b", footer="best"),
    Action("whatif.formulas", "Published formulas as faint curves", "f", footer="formulas"),
    Action("whatif.own", "Learn from this row too, or not", "o",
           "Without it the prediction is one; with it the terms are as good as they get."),
    Action("whatif.missed", "Predicted against measured, all rows", "v",
           "Each miss with its worst term.", footer="misses"),
    Action("whatif.copy", "Copy the scenario as Markdown", "y",
           "To the terminal's clipboard and a file.", footer="copy"),
    Action("whatif.next-row", "Next row", "right_square_bracket", footer="next"),
    Action("whatif.previous-row", "Previous row", "left_square_bracket"),
)  # fmt: skip

MISSED: Final[tuple[Action, ...]] = (
    Action("missed.close", "Close", "escape,q,v", footer="close"),
    Action("missed.next", "The next way to leave rows out", "right,l,space", footer="way"),
    Action("missed.previous", "The way before", "left,h"),
    Action("missed.chart", "Chart, or the rows", "c", "In a narrow terminal one of the two.", footer="chart"),
    Action("missed.copy", "Copy as text", "y", "To the terminal's clipboard and a file.", footer="copy"),
)  # fmt: skip
