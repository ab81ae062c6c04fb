"""A scenario as Markdown: terms with where they came from, the answers, the curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from explorer.glyphs import UNICODE
from explorer.screens.whatif.fields import FIELDS
from explorer.screens.whatif.lines import interval, percent, unknown_terms
from explorer.screens.whatif.lines import plain_values as values
from explorer.screens.whatif.outcome import FORMULA_TITLES, Outcome


def markdown(outcome: Outcome, pinned: Outcome | None = None) -> str:
    """The whole of it; with a pinned scenario its answers beside."""
    scenario = outcome.scenario
    base = scenario.base
    lines = [f"## What if: {base.title}, NAT {scenario.nat}", ""]
    rows = []
    for field in FIELDS:
        value, origin = scenario.value(field.name), scenario.origin(field.name)
        if math.isnan(value) or origin.word == "none":
            continue
        error = f" ± {field.show(origin.error)}" if origin.error and field.unit == "ms" else ""
        rows.append(
            (field.label, f"{field.show(value)}{error} {field.unit}".strip(), origin.word, origin.words)
        )
    lines += _table(("term", "value", "from", "more"), rows)
    titles = (
        ("answer", "now") if pinned is None else ("answer", "now", f"pinned: {pinned.scenario.base.title}")
    )
    before = dict(values(pinned, UNICODE)) if pinned is not None else {}
    answers = [
        (label, value) if pinned is None else (label, value, before.get(label, "-"))
        for label, value in values(outcome, UNICODE)
    ]
    lines += ["", *_table(titles, answers), ""]
    measured = {point.nat: point for point in base.points}
    formulas = {name: dict(points) for name, points in outcome.formulas.items()}
    curve = []
    for point in outcome.curve:
        seen = measured.get(point.nat)
        found = "" if seen is None else f"{seen.speedup:.2f} {interval(seen.lo, seen.hi)}".strip()
        error = "" if seen is None else percent(point.speedup / seen.speedup - 1)
        own = f"{point.speedup:.2f}" + ("*" if point.beyond else "")
        others = [f"{formulas[name][point.nat]:.2f}" for name in FORMULA_TITLES]
        curve.append((str(point.nat), own, interval(point.lo, point.hi), found, error, *others))
    head = ("NAT", "predicted", "90 %", "measured", "difference", *FORMULA_TITLES.values())
    lines += _table(head, curve)
    if any(point.beyond for point in outcome.curve):
        lines += ["", "\\* takes something from outside of what was measured"]
    if unknown := unknown_terms(scenario):
        lines += ["", f"Not known from rows, so assumed: {', '.join(unknown)}."]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(head), line(["---"] * len(head)), *(line(row) for row in rows)]
