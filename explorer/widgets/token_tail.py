"""The end of a text as it streams, told apart by who wrote it, at a bounded number of bytes a second.

A terminal that scrolls repaints every line for each new one. Here the text fills the pane downwards and,
when the pane is full, jumps: the last lines go to the top and the text goes on below them. So each line is
painted about once and a half, and what one update may cost is limited whatever the rate.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import ClassVar, Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from explorer.live.text import Piece
from explorer.widgets.line_pane import printable

BYTES_S: Final = 7000
"""What the tail may write in a second, on average."""

BURST_BYTES: Final = 9000
"""What it may write at once after a pause: a full pane."""

SEGMENT_BYTES: Final = 42
"""Colour sequence and reset around a stretch of one style."""

SETTLE_S: Final = 0.8
"""A pause of the text as long as this fills the pane again."""

LINE_BYTES: Final = 10
"""Moving the cursor to a line."""


class Part(NamedTuple):
    """A stretch of a row from one source."""

    text: str
    accepted: bool


class Rows:
    """A text wrapped to a width, growing at its end."""

    def __init__(self, width: int, brackets: bool = False) -> None:
        self.width = max(1, width)
        self.rows: list[list[Part]] = [[]]
        self._brackets = brackets
        self._column = 0

    @property
    def column(self) -> int:
        """Cells used in the last row."""
        return self._column

    def feed(self, pieces: Sequence[Piece]) -> None:
        """Append pieces. With `brackets` an accepted one is written `[...]`."""
        for piece in pieces:
            text = f"[{piece.text}]" if self._brackets and piece.accepted else piece.text
            first = True
            for stretch in text.split("\n"):
                if not first:
                    self._new_row()
                first = False
                self._put(printable(stretch), piece.accepted)

    def _put(self, text: str, accepted: bool) -> None:
        start = 0
        for place, char in enumerate(text):
            width = cell_len(char)
            if self._column + width > self.width:
                self._part(text[start:place], accepted)
                start = place
                self._new_row()
            self._column += width
        self._part(text[start:], accepted)

    def _part(self, text: str, accepted: bool) -> None:
        if not text:
            return
        row = self.rows[-1]
        if row and row[-1].accepted == accepted:
            row[-1] = Part(row[-1].text + text, accepted)
        else:
            row.append(Part(text, accepted))

    def _new_row(self) -> None:
        self.rows.append([])
        self._column = 0


def cost(row: Sequence[Part]) -> int:
    """Bytes that painting a row takes, about."""
    return LINE_BYTES + sum(len(part.text.encode()) + SEGMENT_BYTES for part in row)


class TokenTail(Widget):
    """Shows the end of a text. `show` is called with the whole text so far and paints what is new."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"tail--accepted"}
    DEFAULT_CSS = """
    TokenTail {
        color: $foreground;
        .tail--accepted { color: $text-accent; text-style: underline; }
    }
    """

    def __init__(self, *, brackets: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.brackets = brackets
        """Write `[...]` around accepted stretches: for terminals that show no underline."""
        self._key: Hashable = None
        self._pieces: Sequence[Piece] = ()
        self._fed = 0
        self._rows = Rows(1, brackets)
        self._top = 0
        self._allowance: float = BURST_BYTES
        self._charged = time.monotonic()
        self._later: Timer | None = None
        self._settling: Timer | None = None

    def show(self, key: Hashable, pieces: Sequence[Piece]) -> None:
        """The whole text so far of the call that `key` names."""
        if key != self._key or len(pieces) < self._fed:
            self._key, self._fed = key, 0
            self._rows = Rows(self.size.width, self.brackets)
            self._top = 0
            self.refresh()
        self._pieces = pieces
        self._flush()

    def on_resize(self, event: events.Resize) -> None:
        self._rows, self._fed, self._top = Rows(event.size.width, self.brackets), 0, 0
        self._allowance = BURST_BYTES
        self._feed()
        self._top = max(0, len(self._rows.rows) - event.size.height)
        self.refresh()

    @property
    def text(self) -> str:
        """What the pane shows, one line a row."""
        rows = self._rows.rows[self._top : self._top + self.size.height]
        return "\n".join("".join(part.text for part in row) for row in rows)

    def render_line(self, y: int) -> Strip:
        rows, at = self._rows.rows, self._top + y
        own = self.rich_style
        accepted = self.get_component_rich_style("tail--accepted")
        row = rows[at] if at < len(rows) else ()
        segments = [Segment(part.text, self._style(part, own, accepted)) for part in row]
        return Strip(segments).adjust_cell_length(self.size.width, own)

    @staticmethod
    def _style(part: Part, own: Style, accepted: Style) -> Style:
        return accepted if part.accepted else own

    def _flush(self) -> None:
        now = time.monotonic()
        self._allowance = min(BURST_BYTES, self._allowance + (now - self._charged) * BYTES_S)
        self._charged = now
        if self._fed == len(self._pieces) or not self.size:
            return
        if self._allowance <= 0:
            # What waits is painted as soon as the allowance is back, with all that came meanwhile.
            if self._later is None:
                self._later = self.set_timer(0.05 - self._allowance / BYTES_S, self._resume)
            return
        self._feed()

    def _resume(self) -> None:
        self._later = None
        self._flush()

    def _feed(self) -> None:
        """Take in what is new and repaint the rows that it touched."""
        row, column = len(self._rows.rows) - 1, self._rows.column
        self._rows.feed(self._pieces[self._fed :])
        self._fed = len(self._pieces)
        rows, height, width = self._rows.rows, self.size.height, self.size.width
        if not height:
            return
        last = len(rows) - 1
        if last - self._top >= height:
            # Slow text keeps half a pane of context; fast text only its last line.
            kept = max(1, height // 2 - 2 * (last - row - 1))
            self._top = last - min(kept, height - 1)
            self.refresh()
            self._allowance -= sum(cost(shown) for shown in rows[self._top :]) + 50 * height
            self._settle_later()
            return
        for at in range(row, last + 1):
            start = column if at == row else 0
            end = self._rows.column if at == last else width
            if end > start:
                self.refresh(Region(start, at - self._top, end - start, 1))
                self._allowance -= cost(rows[at])
        if self._top:
            self._settle_later()

    def _settle_later(self) -> None:
        """Once the text pauses, the pane is filled with its end."""
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_S, self._settle)

    def _settle(self) -> None:
        self._settling = None
        top = max(0, len(self._rows.rows) - self.size.height)
        if top != self._top:
            self._top = top
            self._allowance -= sum(cost(shown) for shown in self._rows.rows[top:])
            self.refresh()
