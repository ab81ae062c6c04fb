"""Predicted against measured over all rows, each miss with the term that explains most of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from explorer.analysis.charts import ChartData, Line, Point
from explorer.glyphs import Glyphs
from explorer.screens.whatif.lines import Parts, interval, percent, times, wrapped
from explorer.screens.whatif.outcome import FORMULA_TITLES
from sweeps.plan.routing import marked

if TYPE_CHECKING:
    from explorer.screens.whatif.workbench import Workbench
    from sweeps.costmodel.cases import Case
    from sweeps.costmodel.validate import HoldOut


class Way(NamedTuple):
    """How rows are predicted from others."""

    name: str
    hold_out: HoldOut
    fit_nat: int | None = None


WAYS: Final[tuple[Way, ...]] = (
    Way("learned from NAT 3 only", "run", 3),
    Way("each NAT from the others", "nat"),
    Way("each prompt from the others", "prompt"),
    Way("each draft from the others", "draft"),
    Way("each device from the others", "device"),
    Way("each run from all others", "run"),
)
"""The first needs one fit, the last one for each run."""

CUT: Final = 1.5
UNKNOWN: Final = "not known"
"""The cause of rows without rounds."""


@dataclass(frozen=True)
class Miss:
    """One predicted row."""

    name: str
    measured: float
    predicted: float
    lo: float
    hi: float
    cause: str
    because: str
    beyond: str

    @property
    def error(self) -> float:
        """predicted / measured - 1."""
        return self.predicted / self.measured - 1

    @property
    def covered(self) -> bool:
        """The interval holds what was measured."""
        return self.lo <= self.measured <= self.hi


@dataclass(frozen=True)
class Validation:
    """All predicted rows, and how well each method did."""

    way: Way
    misses: tuple[Miss, ...]
    """The largest first."""
    summary: tuple[dict[str, Any], ...]
    """Rows of `sweeps.costmodel.validate.summary`."""


def run(bench: Workbench, way: Way) -> Validation:
    """Predict every row of a workbench in this way; takes seconds."""
    from sweeps.costmodel.validate import summary, validate

    fitted: Callable[[Case], bool] | None = None
    if way.fit_nat is not None:
        fitted = lambda case: case.nat == way.fit_nat  # noqa: E731 - a name for the type
    frame = validate(
        bench.runs,
        bench.rounds,
        hold_out=way.hold_out,
        fitted=fitted,
        strings=bench.strings,
        probes=bench.probes,
        nats=False,
    )
    misses = sorted((_miss(row) for row in frame.to_dicts()), key=lambda m: -abs(m.error))
    return Validation(way, tuple(misses), tuple(summary(frame).to_dicts()))


def _miss(row: dict[str, Any]) -> Miss:
    because = row["because"] or ""
    device = marked(row["draft_device"], row["emulated"])
    draft = row["draft"] if row["kind"] == "prompt-lookup" else f"{row['draft']}@{device}"
    return Miss(
        f"{draft} {row['path']} NAT {row['num_assistant_tokens']} {row['prompt'] or ''}".rstrip(),
        row["speedup"],
        row["predicted_speedup"],
        row["predicted_lo"],
        row["predicted_hi"],
        because.partition(" (")[0] or UNKNOWN,
        because or "no rounds were recorded",
        row["extrapolates"] or "",
    )


def scatter(found: Validation) -> ChartData:
    """Predicted (with its interval) over measured: a mark for each cause, and the line where both agree.

    Wide intervals are cut where they would press all points together; the list has them whole.
    """
    values = [v for m in found.misses for v in (m.measured, m.predicted)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    top = CUT * high

    def points(cause: str) -> tuple[Point, ...]:
        mine = [m for m in found.misses if m.cause == cause]
        return tuple(Point(m.measured, m.predicted, m.lo, min(m.hi, top)) for m in mine)

    causes = sorted({miss.cause for miss in found.misses})
    lines = [Line(cause, points(cause), joined=False) for cause in causes]
    lines.append(Line("agreement", (Point(low, low), Point(high, high)), faint=True))
    cut = sum(m.hi > top for m in found.misses)
    note = f"{cut} intervals are cut at {top:.1f}" if cut else ""
    return ChartData(
        "by worst term", "measured", "predicted", tuple(lines), note=note, rows=len(found.misses)
    )


def summary_lines(found: Validation) -> list[Parts]:
    """One line a method: rows, median and worst error, coverage."""
    lines: list[Parts] = [
        ((f"{'':36}{'rows':>5}{'median':>9}{'worst':>10}   90 % interval", "dim"),),
    ]
    for row in found.summary:
        if row["rows_of"] != "all":
            continue
        name = FORMULA_TITLES.get(row["method"], row["method"])
        held = "" if row["coverage"] is None else f"   holds {row['coverage']:.0%}".replace("%", " %")
        numbers = f"{row['rows']:>5}{row['median_error']:>9.1%}{row['worst_error']:>10.1%}{held}"
        lines.append((f"{name:<36}" + numbers if name != "ours" else (f"{name:<36}" + numbers, "strong"),))
    return lines


def miss_lines(misses: Sequence[Miss], width: int, glyphs: Glyphs) -> list[Parts]:
    """Every row, the largest miss first, with its worst term in words."""
    lines: list[Parts] = []
    for miss in misses:
        mark = " " if miss.covered else glyphs.states["warned"]
        lines.append(
            (
                f"{mark} {percent(miss.error):>8}  ",
                (miss.name, "strong"),
            )
        )
        numbers = (
            f"measured {times(miss.measured, glyphs)}, predicted {times(miss.predicted, glyphs)} "
            f"({interval(miss.lo, miss.hi)})"
        )
        lines += [(" " * 12 + piece,) for piece in wrapped(numbers, width - 12)]
        detail = miss.because + (f"; {miss.beyond}" if miss.beyond else "")
        lines += [((" " * 12 + piece, "dim"),) for piece in wrapped(detail, width - 12)]
    return lines
