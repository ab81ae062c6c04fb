"""One row of bars that moves at most twice a second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from explorer.glyphs import UNICODE, Glyphs
from explorer.widgets.line_pane import Line, LinePane, line

PERIOD_S: Final = 0.5


def spark_line(values: Sequence[float], width: int, glyphs: Glyphs, unit: str) -> Line:
    """The newest values as bars from 0 to their maximum, which is written behind them."""
    if not values:
        return ()
    most = max(values[-width:])
    legend = f" 0..{most:.0f} {unit}"
    room = max(1, width - len(legend))
    return line(glyphs.sparkline(list(values), room), (legend, "dim"))


class Spark(LinePane):
    """A sparkline of a rate."""

    DEFAULT_CSS = "Spark { height: 1; }"

    def __init__(self, unit: str = "", *, glyphs: Glyphs = UNICODE, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.glyphs, self._unit = glyphs, unit
        self._shown = 0.0

    def show(self, values: Sequence[float], now: bool = False) -> None:
        """Show these values; ignored within half a second of the last time unless `now` says otherwise."""
        moment = time.monotonic()
        if now or moment - self._shown >= PERIOD_S:
            self._shown = moment
            self.show_lines([spark_line(values, self.size.width, self.glyphs, self._unit)])
