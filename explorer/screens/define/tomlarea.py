"""The text of the sweep file, each fault said at the end of its line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.style import Style
from rich.text import Text
from textual.widgets import TextArea

from explorer.screens.define.textedit import Change, location

_COMMENT = re.compile(r"""^(?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*?(#.*)$""")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.-]+|\"[^\"]*\")\s*=")
_HEADER = re.compile(r"^\s*\[.*?\]+\s*(?:#.*)?$")


class TomlArea(TextArea):
    """A text area that marks keys, headers and comments by weight, not by colour, and shows faults."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__("", soft_wrap=False, show_line_numbers=True, id=id, classes=classes)
        self.cursor_blink = False
        self._faults: Mapping[int, str] = {}
        self._sign = "x"

    def mark(self, faults: Mapping[int, str], sign: str) -> None:
        """Faults by line (from 1), and the glyph in front of them."""
        if dict(faults) != dict(self._faults):
            self._faults, self._sign = faults, sign
            self.notify_style_update()
            self.refresh()

    def get_line(self, line_index: int) -> Text:
        """Textual's hook: the line as it is drawn."""
        line = super().get_line(line_index)
        if _HEADER.match(line.plain):
            line.stylize(Style(bold=True, underline=True))
        elif key := _KEY.match(line.plain):
            line.stylize(Style(bold=True), key.start(1), key.end(1))
        if comment := _COMMENT.match(line.plain):
            line.stylize(Style(dim=True, bold=False, underline=False), comment.start(1), comment.end(1))
        fault = self._faults.get(line_index + 1)
        if fault:
            line.append(f"  {self._sign} {fault}", Style(bold=True, reverse=True))
        return line

    def apply(self, change: Change) -> None:
        """One change of the form, as one step of the text's own undo."""
        text = self.text
        self.history.checkpoint()
        self.replace(change.insert, location(text, change.start), location(text, change.end))
        self.history.checkpoint()
