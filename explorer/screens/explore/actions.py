"""What can be done in Explore, with its keys. Said once; the screen has the methods."""

from __future__ import annotations

from typing import Final

from explorer.actions import Action

ACTIONS: Final[tuple[Action, ...]] = (
    Action("explore.filter", "Filter the rows", "slash", "SQL over the columns, or words.", footer="filter"),
    Action("explore.level", "Runs, reps, rounds", "tab", "To the finer table.", footer="level"),
    Action("explore.level-back", "Rounds, reps, runs", "shift+tab"),
    Action("explore.sort-up", "Sort by this column, smallest first", "left_square_bracket", footer="sort"),
    Action(
        "explore.sort-down", "Sort by this column, largest first", "right_square_bracket",
        "Noisy rows never rank first.",
    ),
    Action("explore.sort-also", "Sort by this column besides the others", "s", "Up, down, off."),
    Action("explore.hide", "Hide this column", "minus"),
    Action("explore.show-all", "Show all columns", "equals_sign", "Again: only those with values."),
    Action("explore.move-left", "Move this column left", "less_than_sign"),
    Action("explore.move-right", "Move this column right", "greater_than_sign"),
    Action("explore.key", "Key column", "exclamation_mark", "Stays at the left; makes the rows of a pivot."),
    Action(
        "explore.aggregate", "Aggregate this column", "plus",
        "In frequency tables; the first one is the value of pivots.",
    ),
    Action("explore.frequency", "Frequency table of this column", "F", footer="freq"),
    Action("explore.pivot", "Pivot: key columns by this column", "W", footer="pivot"),
    Action("explore.describe", "Describe all columns", "I"),
    Action("explore.equal", "Only rows with this cell's value", "comma"),
    Action("explore.open", "The rows behind this cell", "enter", "Runs, reps, rounds.", footer="open"),
    Action("explore.undo", "Back to the view before", "z,backspace", footer="undo"),
    Action("explore.redo", "Forth again", "Z"),
    Action("explore.mark", "Mark the row", "space", "In a summary: the rows behind it.", footer="mark"),
    Action("explore.unmark", "Take all marks away", "u"),
    Action("explore.only-marked", "Only the marked rows", "quotation_mark"),
    Action("explore.compare", "Compare the marked rows", "c", "Settings, metrics, texts.", footer="compare"),
    Action("explore.chart", "Charts of these rows", "g", "Of the marked ones, if any.", footer="chart"),
    Action("explore.cell", "The whole cell", "v"),
    Action("explore.copy", "Copy the cell", "y", "To the terminal's clipboard and a file.", footer="copy"),
    Action("explore.copy-table", "Copy the table as Markdown", "Y"),
    Action("explore.export", "Export the view", "ctrl+e", "CSV, JSON lines, Parquet or Markdown."),
    Action("explore.keep-view", "Name and keep this view", "K", do="keep_view"),
    Action("explore.views", "Open a kept view", "V"),
    Action("explore.reset", "All rows, all columns as at first", "R"),
    Action("explore.reload", "Read the results again", "f5,r"),
)  # fmt: skip
