"""Messages that cross from one place to another. What stays inside a place is declared there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.message import Message


class ShowSweep(Message):
    """Show this sweep's results folder in Watch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__()


class ShowRows(Message):
    """Show the rows that this filter (the project's filter language) lets through in Explore."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__()


class AskWhatIf(Message):
    """Open What-if on these run rows (mappings by column name); none: on its defaults."""

    def __init__(self, rows: Sequence[dict[str, Any]] = ()) -> None:
        self.rows = tuple(rows)
        super().__init__()


class Say(Message):
    """Tell the person something, from a thread."""

    def __init__(self, text: str, error: bool = False) -> None:
        self.text, self.error = text, error
        super().__init__()
