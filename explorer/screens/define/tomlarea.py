"""The text of the sweep file, each fault said at the end of its line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip
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
        return line

    def render_line(self, y: int) -> Strip:
        """Textual's hook: a fault puts its glyph beside the line's number and its message behind the text.

        Where there is no room for the message it covers the end of the line, except in the line that is
        being typed in.
        """
        strip = super().render_line(y)
        row = y + self.scroll_offset.y
        fault = self._faults.get(row + 1)
        if fault is None or row >= self.document.line_count:
            return strip
        gutter, width = self.gutter_width, strip.cell_length
        style = self.rich_style + Style(bold=True, reverse=True)
        message = f" {self._sign} {fault} "
        end = gutter + cell_len(self.document.get_line(row)) - self.scroll_offset.x + 2
        start = max(end, gutter) if end + len(message) <= width else max(width - len(message), width // 3)
        number = Strip([Segment(f"{row + 1:>{gutter - 2}}{self._sign} ", style)], gutter)
        if start < end and row == self.cursor_location[0]:
            return Strip.join([number, strip.crop(gutter)])
        note = Strip([Segment(message, style)]).crop(0, width - start)
        return Strip.join([number, strip.crop(gutter, start), note, strip.crop(start + note.cell_length)])

    def apply(self, change: Change) -> None:
        """One change of the form, as one step of the text's own undo."""
        text = self.text
        self.history.checkpoint()
        self.replace(change.insert, location(text, change.start), location(text, change.end))
        self.history.checkpoint()
