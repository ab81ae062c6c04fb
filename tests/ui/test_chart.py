"""The chart widget on values that no axis holds."""

from __future__ import annotations

import math

import pytest
from textual.app import App, ComposeResult

from explorer.analysis.charts import ChartData, Line, Point, drawable, y_range
from explorer.widgets.chart import Chart
from tests.ui.snapshot import lines_of

ENDLESS = ChartData(
    "speed-up",
    x_label="NAT",
    lines=(
        Line("measured", (Point(1, 0.9, 0.5, math.inf), Point(3, 1.5, 0.01, 55_768.97), Point(5, math.nan))),
        Line("interval", (Point(1, math.inf), Point(3, 1e300)), faint=True),
    ),
    level=1.0,
)


class ChartApp(App[None]):
    """One chart."""

    def __init__(self, ascii_only: bool) -> None:
        self._ascii = ascii_only
        super().__init__()

    def compose(self) -> ComposeResult:
        yield Chart(self._ascii)


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_endless_intervals_and_missing_values_are_drawn_around(ascii_only: bool) -> None:
    app = ChartApp(ascii_only)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(Chart).show(ENDLESS)
        await pilot.pause()
        text = "\n".join(lines_of(app))
        assert "measured" in text
        # Of the picture every value can be read; the text has the ends as they are.
        assert ("55768.97" in text) is ascii_only
        if not ascii_only:
            assert text.count("o") >= 3  # The two points, and the mark in the legend.


async def test_without_a_finite_point_the_chart_says_so() -> None:
    app = ChartApp(False)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(Chart).show(ChartData("speed-up", lines=(Line("a", (Point(1, math.nan),)),)))
        await pilot.pause()
        assert "No row has these values." in "\n".join(lines_of(app))


def test_the_range_keeps_values_apart_whatever_their_intervals() -> None:
    low, high = y_range(drawable(ENDLESS))
    assert low == pytest.approx(0.01) and 1.5 < high < 3.5
    narrow = ChartData("", lines=(Line("a", (Point(1, 1.0, 0.9, 1.2), Point(2, 2.0, 1.8, 2.1))),))
    assert y_range(narrow) == (0.9, 2.1)
    one = ChartData("", lines=(Line("a", (Point(1, 0.0),)),))
    assert y_range(one) == (0.0, 0.0)
