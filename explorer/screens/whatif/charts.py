"""The charts of the pane as values: the curve over NAT, and predicted against measured."""

from __future__ import annotations

from explorer.analysis.charts import ChartData, Line, Point
from explorer.screens.whatif.outcome import FORMULA_TITLES, Outcome


def curve_chart(outcome: Outcome, pinned: Outcome | None, formulas: bool, text: bool) -> ChartData:
    """Predicted speed-up against NAT, with the measured points.

    Args:
        formulas: the published formulas too.
        text: for a chart of text lines: intervals stand at the points instead of being curves.
    """
    curve = outcome.curve
    predicted = tuple(Point(p.nat, p.speedup, *((p.lo, p.hi) if text else (None, None))) for p in curve)
    lines = [Line("predicted", predicted)]
    base = outcome.scenario.base
    if base.points:
        points = tuple(Point(p.nat, p.speedup, p.lo, p.hi) for p in base.points)
        lines.append(Line("measured", points, joined=False))
    beyond = tuple(Point(p.nat, p.speedup) for p in curve if p.beyond)
    if beyond and len(beyond) < len(curve):
        lines.append(Line("extrapolated", beyond, joined=False))
    if pinned is not None:
        lines.append(Line("pinned", tuple(Point(p.nat, p.speedup) for p in pinned.curve)))
    if not text:
        lines.append(Line("90 % interval", tuple(Point(p.nat, p.lo) for p in curve), faint=True))
        lines.append(Line("", tuple(Point(p.nat, p.hi) for p in curve), faint=True))
    if formulas:
        for name, values in outcome.formulas.items():
            lines.append(Line(FORMULA_TITLES[name], tuple(Point(n, v) for n, v in values), faint=True))
    note = "all extrapolated" if len(beyond) == len(curve) else ""
    return ChartData("speed-up", "NAT", "speed-up", tuple(lines), level=1.0, note=note, rows=len(base.points))
