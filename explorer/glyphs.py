"""Every character that is not a letter: one table for Unicode terminals, one for ASCII.

State is always a glyph and a word, so that nothing depends on colour. No Textual import here: the
command line draws with the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Glyphs:
    """One table. All strings are one cell wide unless said otherwise."""

    states: dict[str, str]
    """Status of a run or a sweep -> glyph."""
    bars: str
    """Heights of a vertical bar, empty to full."""
    eighths: str
    """Lengths of the last cell of a horizontal bar, empty to full."""
    block: str
    shade: str
    """The rest of a progress bar."""
    ascending: str
    descending: str
    cursor: str
    """Marks the current entry of a list."""
    marked: str
    unmarked: str
    bullet: str
    ellipsis: str
    plus_minus: str
    """May be several cells wide."""
    times: str
    rule: str
    arrow: str

    def state(self, status: str) -> str:
        """Glyph and word, `● running`; an unknown word gets a neutral glyph."""
        return f"{self.states.get(status, self.bullet)} {status.replace('_', ' ')}"

    def bar(self, fraction: float, width: int) -> str:
        """A horizontal bar of exactly `width` cells; `fraction` is clamped to 0..1."""
        steps = len(self.eighths) - 1
        filled = round(max(0.0, min(1.0, fraction)) * width * steps)
        whole, part = divmod(filled, steps)
        last = self.eighths[part] if part else ""
        return (self.block * whole + last).ljust(width, self.shade if self.shade else " ")[:width]

    def sparkline(self, values: Sequence[float], width: int | None = None) -> str:
        """The last `width` values as one row of bars, scaled from 0 to their maximum."""
        shown: Iterable[float] = values if width is None else values[-width:] if width else ()
        shown = list(shown)
        top = max(shown, default=0.0)
        steps = len(self.bars) - 1
        if top <= 0:
            return self.bars[0] * len(shown)
        return "".join(self.bars[max(0, min(steps, round(value / top * steps)))] for value in shown)


UNICODE: Final = Glyphs(
    states={
        "ok": "✓",
        "running": "●",
        "queued": "○",
        "failed": "✗",
        "refused": "⊘",
        "skipped": "◌",
        "cancelled": "◌",
        "budget_not_met": "▲",
        "not_speculative": "▲",
        "metric_suspect": "▲",
        "finished": "✓",
        "crashed": "✗",
        "stalled": "▲",
        "stopped": "◌",
        "warned": "▲",
        "noted": "·",
        "added": "+",
    },
    bars=" ▁▂▃▄▅▆▇█",
    eighths=" ▏▎▍▌▋▊▉█",
    block="█",
    shade="░",
    ascending="▲",
    descending="▼",
    cursor="▸",
    marked="◉",
    unmarked="○",
    bullet="·",
    ellipsis="…",
    plus_minus="±",
    times="×",
    rule="─",
    arrow="→",
)

ASCII: Final = Glyphs(
    states={
        "ok": "+",
        "running": "*",
        "queued": "o",
        "failed": "x",
        "refused": "/",
        "skipped": "-",
        "cancelled": "-",
        "budget_not_met": "!",
        "not_speculative": "!",
        "metric_suspect": "!",
        "finished": "+",
        "crashed": "x",
        "stalled": "!",
        "stopped": "-",
        "warned": "!",
        "noted": ".",
        "added": "+",
    },
    bars=" .:-=+*#",
    eighths=" #",
    block="#",
    shade=".",
    ascending="^",
    descending="v",
    cursor=">",
    marked="*",
    unmarked="o",
    bullet=".",
    ellipsis="~",
    plus_minus="+/-",
    times="x",
    rule="-",
    arrow=">",
)


def table(ascii_only: bool) -> Glyphs:
    """The table to draw with."""
    return ASCII if ascii_only else UNICODE
