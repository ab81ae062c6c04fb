"""What a chart of rows shows: lines of points with intervals, or bars of parts. No drawing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import polars as pl

from sweeps.plan.routing import marked

ChartKind = Literal["speedup", "tok_s", "acceptance", "budget"]
KINDS: Final[tuple[ChartKind, ...]] = ("speedup", "tok_s", "acceptance", "budget")
TITLES: Final[dict[ChartKind, str]] = {
    "speedup": "speed-up against NAT",
    "tok_s": "tok/s against NAT",
    "acceptance": "acceptance against NAT",
    "budget": "where a round's time goes (ms)",
}
MOST_BARS: Final = 40
MOST_LINES: Final = 8
"""Lines of a chart that can still be told apart."""


@dataclass(frozen=True)
class Point:
    """A value, and its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """Points of one name, in the order of x; `joined` draws a line through them, `faint` only that."""

    name: str
    points: tuple[Point, ...]
    joined: bool = True
    faint: bool = False


@dataclass(frozen=True)
class Bar:
    """Parts that add up."""

    name: str
    parts: tuple[float, ...]


@dataclass(frozen=True)
class ChartData:
    """Either lines or bars."""

    title: str
    x_label: str = ""
    y_label: str = ""
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    part_names: tuple[str, ...] = ()
    level: float | None = None
    """A line to compare with, such as speed-up 1."""
    note: str = ""
    """What was left out."""
    rows: int = field(default=0)


def chart(frame: pl.DataFrame, kind: ChartKind) -> ChartData:
    """The chart of run rows (for `budget` of rows that have draft and verify times).

    Rows without a value, and rows whose status is not ok, are left out and counted in `note`.
    """
    if kind == "budget":
        return _budget(frame)
    title = TITLES[kind]
    if any(name not in frame.columns for name in ("num_assistant_tokens", kind)):
        return ChartData(title, note=f"These rows have no {kind}.")
    usable = _usable(frame, ["num_assistant_tokens", kind])
    note = _left_out(frame.height - usable.height)
    groups, folded = _groups(usable)
    lines = tuple(Line(name, tuple(_points(part, kind))) for name, part in groups)
    if folded:
        note += f" Medians over {' and '.join(folded)}, bars from the lowest to the highest value."
    level = 1.0 if kind == "speedup" else None
    noisy = int(usable["noisy"].cast(pl.Boolean).sum()) if "noisy" in usable.columns else 0
    if noisy:
        note += f" {noisy} of the drawn rows are noisy."
    return ChartData(title, "NAT", kind, lines, level=level, note=note.strip(), rows=usable.height)


def _groups(usable: pl.DataFrame) -> tuple[list[tuple[str, pl.DataFrame]], list[str]]:
    """Rows by what their lines are called, and the columns over which lines were folded to keep them few.

    The name of a line holds only what tells it from the others; its device always.
    """
    telling = [
        name
        for name in ("draft", "draft_device", "path", "target", "target_device", "sweep", "prompt")
        if name in usable.columns and (usable[name].n_unique() > 1 or name == "draft_device")
    ]
    folded: list[str] = []
    for name in ("prompt", "sweep", "path", "target_device", "target"):
        if telling and usable.select(telling).n_unique() > MOST_LINES and name in telling:
            telling.remove(name)
            folded.append(name)
    lines = usable.select(telling).n_unique() if telling else 0
    for name in ("sweep", "path", "target_device", "target"):
        rest = [other for other in telling if other != name]
        if name in telling and rest and usable.select(rest).n_unique() == lines:
            telling = rest
    if not telling or usable.is_empty():
        return ([("all", usable)] if usable.height else []), folded
    found = [
        (_line_name(dict(zip(telling, key, strict=True))), part) for key, part in usable.group_by(telling)
    ]
    return sorted(found, key=lambda item: item[0]), folded


def _line_name(telling: dict[str, object]) -> str:
    """`draft-s NPU`; lines without a draft (prompt lookup, a model alone) say so."""
    alone = all(telling.get(name) is None for name in ("draft", "draft_device"))
    values = [value for name, value in telling.items() if not (alone and name in ("draft", "draft_device"))]
    words = ["-" if value is None else str(value) for value in values]
    return " ".join(["no draft", *words] if alone else words)


def _points(part: pl.DataFrame, kind: ChartKind) -> list[Point]:
    """One point for each NAT: the row's own with its interval, or the median of several with their range."""
    points = []
    for (x,), rows in part.group_by("num_assistant_tokens"):
        if rows.height == 1:
            points.append(_point(rows.row(0, named=True), kind))
        else:
            values = rows[kind].cast(pl.Float64)
            median, low, high = values.median(), values.min(), values.max()
            points.append(Point(_number(x), _number(median), _known(low), _known(high)))
    return sorted(points, key=lambda point: point.x)


def _point(row: dict[str, object], kind: ChartKind) -> Point:
    x, y = _number(row["num_assistant_tokens"]), _number(row[kind])
    low = high = None
    if kind == "speedup":
        low, high = _known(row.get("speedup_lo")), _known(row.get("speedup_hi"))
    elif kind == "tok_s":
        sd = _known(row.get("tok_s_sd"))
        low, high = (None, None) if sd is None else (y - sd, y + sd)
    elif kind == "acceptance":
        low, high = _wilson(_known(row.get("accepted")), _known(row.get("proposals")))
    return Point(x, y, low, high)


def _budget(frame: pl.DataFrame) -> ChartData:
    needed = (
        ["draft_ms", "verify_ms", "proposals_per_round"] if "proposals_per_round" in frame.columns else []
    )
    names = needed or ["draft_ms", "verify_ms"]
    usable = _usable(frame, names)
    bars = []
    for row in usable.head(MOST_BARS).to_dicts():
        # In run rows the draft's time is per proposal, in round rows it is the round's.
        draft = _number(row["draft_ms"]) * _number(row.get("proposals_per_round") or 1.0)
        rest = _known(row.get("rest_ms")) or 0.0
        device = marked(row.get("draft_device"), row.get("emulated"))
        label = f"{row.get('draft')}@{device} NAT {row.get('num_assistant_tokens')}"
        bars.append(
            Bar(
                f"{label} {row.get('prompt') or ''}".strip(),
                (draft, _number(row["verify_ms"]), max(0.0, rest)),
            )
        )
    note = _left_out(frame.height - usable.height)
    if usable.height > MOST_BARS:
        note = f"{note} {usable.height - MOST_BARS} rows beyond the first {MOST_BARS} are not drawn.".strip()
    return ChartData(
        TITLES["budget"],
        "ms",
        bars=tuple(bars),
        part_names=("draft", "verify", "rest"),
        note=note,
        rows=len(bars),
    )


def _usable(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Rows that can be trusted and have finite values in the named columns."""
    if any(name not in frame.columns for name in names):
        return frame.head(0)
    wanted = [pl.col(name).is_not_null() & pl.col(name).cast(pl.Float64).is_finite() for name in names]
    if "status" in frame.columns:
        wanted.append(pl.col("status") == "ok")
    return frame.filter(*wanted)


def _left_out(count: int) -> str:
    return f"{count} rows without these values, or not ok, are left out." if count else ""


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _known(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _wilson(
    accepted: float | None, proposals: float | None, z: float = 1.96
) -> tuple[float | None, float | None]:
    """95 % interval of a proportion (Wilson 1927); None without counts."""
    if accepted is None or not proposals:
        return None, None
    share, spread = accepted / proposals, z * z / proposals
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / proposals + spread / (4 * proposals))
    return middle - half, middle + half


def drawable(data: ChartData) -> ChartData:
    """Without what no axis holds: a point that is not finite, an interval with an end that is not."""

    def ends(point: Point) -> Point:
        if all(math.isfinite(end) for end in (point.low, point.high) if end is not None):
            return point
        return replace(point, low=None, high=None)

    def points(line: Line) -> tuple[Point, ...]:
        return tuple(ends(p) for p in line.points if math.isfinite(p.x) and math.isfinite(p.y))

    return replace(data, lines=tuple(replace(line, points=points(line)) for line in data.lines))


def y_range(data: ChartData) -> tuple[float, float]:
    """What the y axis of lines is to cover: all values, and their intervals as far as they leave the values
    readable. An interval of two noisy reps can be ten thousand times as wide as the values lie apart.

    Raises:
        ValueError: There is no point.
    """
    values = [point.y for line in data.lines if not line.faint for point in line.points]
    values = values or [point.y for line in data.lines for point in line.points]
    values += [] if data.level is None else [data.level]
    low, high = min(values), max(values)
    reach = 2 * max(high - low, max(abs(low), abs(high)) / 4)
    around = [value for line in data.lines for p in line.points for value in (p.y, p.low, p.high)]
    whole = [value for value in around if value is not None]
    return max(min(low, *whole), low - reach), min(max(high, *whole), high + reach)


def to_text(
    data: ChartData, width: int, bar: str = "■", marks: str = "█▓░", to: str = "–", level: str = "│"
) -> list[str]:
    """The chart as lines of text: a bar for each point or row; for ASCII terminals and screen readers.

    Args:
        data: The chart.
        width: Cells of a line.
        bar: Character of a bar.
        marks: Characters of the parts.
        to: Between the ends of an interval.
        level: Marks the level to compare with.
    """
    lines = [data.title] + ([data.note] if data.note else [])
    if data.bars:
        lines.append("  ".join(f"{mark} {name}" for mark, name in zip(marks, data.part_names, strict=False)))
        label = min(max(len(each.name) for each in data.bars), max(10, width // 3))
        top = max(sum(each.parts) for each in data.bars) or 1.0
        room = max(5, width - label - 10)
        for each in data.bars:
            drawn = "".join(
                mark * round(part / top * room) for mark, part in zip(marks, each.parts, strict=False)
            )
            lines.append(f"{each.name[:label]:<{label}} {drawn} {sum(each.parts):.1f}")
        return lines
    points = [point for line in data.lines for point in line.points]
    if not points:
        return [*lines, "No row has these values."]
    top = max([*(point.y for point in points), data.level or 0.0]) or 1.0
    room = max(5, width - 36)
    mark = round((data.level or 0.0) / top * room)
    if data.level is not None:
        lines.append(f"{level} stands at {data.level:g}")
    for line in data.lines:
        lines.append(line.name)
        for point in line.points:
            drawn = (bar * max(0, round(point.y / top * room))).ljust(room + 1)
            if data.level is not None and drawn[mark] == " ":
                drawn = drawn[:mark] + level + drawn[mark + 1 :]
            spread = (
                f"{point.low:.2f}{to}{point.high:.2f}"
                if point.low is not None and point.high is not None
                else ""
            )
            lines.append(f"  {data.x_label} {point.x:<4g} {drawn} {point.y:.2f} {spread}".rstrip())
    return lines
