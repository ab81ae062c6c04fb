"""How a value becomes the text of a cell. Pure: the table widget, Markdown and the clipboard share it.

A column is formatted a window at a time (a few hundred rows), never as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

import polars as pl
from rich.cells import cell_len, set_cell_size

from explorer.numbers import bounded
from sweeps.plan.routing import marked

Kind = Literal["auto", "status", "bar", "heat", "general"]
"""`general`: numbers of very different size in one column, four figures each."""
Align = Literal["left", "right"]


@dataclass(frozen=True)
class CellGlyphs:
    """The characters that cells are drawn with."""

    null: str = "–"
    true: str = "✓"
    false: str = "·"
    ellipsis: str = "…"
    plus_minus: str = "±"
    to: str = "–"
    newline: str = "⏎"
    unprintable: str = "·"
    bar: str = "■"
    heat: str = "▁▂▄▆█"
    up: str = "▲"
    down: str = "▼"
    left: str = "‹"
    right: str = "›"
    mark: str = "●"
    rule: str = "│"
    ok: str = "✓"
    bad: str = "✗"
    warn: str = "!"
    idle: str = "○"
    busy: str = "●"


UNICODE: Final = CellGlyphs()
ASCII: Final = CellGlyphs(
    null="-", true="y", false=".", ellipsis="~", plus_minus="+-", to="..", newline="\\", unprintable="?",
    bar="#", heat=".:+*#", up="^", down="v", left="<", right=">", mark="*", rule="|",
    ok="+", bad="x", warn="!", idle="o", busy="*",
)  # fmt: skip


@dataclass(frozen=True)
class ColumnSpec:
    """How one column is shown. Everything but `name` has a default that suits its type."""

    name: str
    title: str = ""
    """Header; the column's name when empty."""
    unit: str = ""
    """Unit, shown in the header."""
    about: str = ""
    """One line of help."""
    kind: Kind = "auto"
    decimals: int | None = None
    """Digits after the point; None: from the size of the values, one number for the whole column."""
    low: str = ""
    """Column with the lower end of an interval (with `high`)."""
    high: str = ""
    sd: str = ""
    """Column with the spread, shown as `±`."""
    device: str = ""
    """Column appended as `@device`."""
    emulated: str = ""
    """Boolean column: the device is marked where it is an emulated NPU (`@NPU*`)."""
    count: str = ""
    """Column with the number of values behind this one, shown as `n3`."""
    shade: str = ""
    """Column with 0..1, drawn as a heat glyph before the value (kind `heat`)."""
    noisy: str = ""
    """Boolean column: the value is followed by `~` where true."""
    why: str = ""
    """Column with the reason that stands in for a missing value."""
    why_always: bool = False
    """Show the reason whether or not it names this column."""
    least: float | None = None
    """A smaller value cannot be true and is not shown as a number."""
    most: float | None = None
    """A larger value cannot be true either."""
    detail: str = ""
    """Column appended to a status."""
    min_width: int = 2
    max_width: int = 30
    flexible: bool = False
    """May be narrowed below its content when the window is small."""
    middle: bool = False
    """Cut in the middle rather than at the end: both ends of the text tell rows apart."""

    @property
    def header(self) -> str:
        """Title and unit."""
        title = self.title or self.name
        return f"{title} {self.unit}" if self.unit else title

    @property
    def companions(self) -> tuple[str, ...]:
        """The columns that this one needs beside itself."""
        names = (
            self.low,
            self.high,
            self.sd,
            self.device,
            self.emulated,
            self.count,
            self.shade,
            self.noisy,
            self.why,
            self.detail,
        )
        return tuple(name for name in names if name)


STATUS_GLYPH: Final[dict[str, str]] = {
    "ok": "ok",
    "failed": "bad",
    "refused": "bad",
    "cancelled": "idle",
    "skipped": "idle",
    "queued": "idle",
    "running": "busy",
}
"""Status -> the field of `CellGlyphs` that stands before its word; any other status warns."""


def alignment(dtype: pl.DataType, spec: ColumnSpec) -> Align:
    """Numbers end at the same place, words begin there."""
    if spec.kind == "bar" or not (dtype.is_numeric() or dtype == pl.Boolean or dtype.is_temporal()):
        return "left"
    return "right"


def decimals_of(series: pl.Series) -> int:
    """Digits after the point that show three or four figures of the typical value."""
    finite = series.drop_nulls()
    finite = finite.filter(finite.is_finite())
    if finite.is_empty():
        return 2
    typical = finite.abs().median()
    size = float(typical) if isinstance(typical, int | float) else 0.0
    return 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 3


def format_column(
    window: pl.DataFrame, spec: ColumnSpec, glyphs: CellGlyphs = UNICODE, decimals: int | None = None
) -> list[str]:
    """The texts of one column of a window, one per row, not yet cut or padded.

    Args:
        window: Rows to format; companions that it lacks are left out.
        spec: The column.
        glyphs: Characters to draw with.
        decimals: Overrides the specification's, so that windows of one table agree.
    """
    series = window[spec.name]
    if decimals is None:
        decimals = spec.decimals
    if spec.kind == "status":
        return _statuses(window, spec, glyphs)
    if spec.kind == "bar":
        return _bars(series, spec, glyphs)
    if spec.kind == "general":
        return [glyphs.null if value is None else f"{value:.4g}" for value in series.to_list()]
    texts = _values(series, glyphs, decimals)
    if series.dtype.is_numeric():
        _refuse_impossible(series, spec, glyphs, texts)
    _say_why(window, spec, glyphs, texts)
    if spec.low in window.columns or spec.sd in window.columns:
        _add_spread(window, spec, glyphs, texts, decimals)
    if spec.device in window.columns:
        texts = _with_devices(window, spec, glyphs, texts)
    if spec.kind == "heat":
        return _heat(window, spec, glyphs, texts)
    return texts


def _with_devices(
    window: pl.DataFrame, spec: ColumnSpec, glyphs: CellGlyphs, texts: Sequence[str]
) -> list[str]:
    devices = window[spec.device].cast(pl.String).to_list()
    known = spec.emulated in window.columns
    emulated = window[spec.emulated].to_list() if known else [False] * len(devices)
    return [
        f"{text}@{clean(marked(at, other), glyphs)}" if at is not None and text != glyphs.null else text
        for text, at, other in zip(texts, devices, emulated, strict=True)
    ]


def clean(text: str, glyphs: CellGlyphs = UNICODE) -> str:
    """`text` without anything that could move the terminal's cursor or write backwards."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else glyphs.newline if c == "\n" else " " if c in "\t\r" else glyphs.unprintable
        for c in text
    )


def duration(value: timedelta) -> str:
    """A time span at a readable grain: `1.250 s`, `2 m 05 s`, `3 h 02 m`, `4 d 06 h`."""
    seconds = value.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if seconds < 60:
        return f"{sign}{seconds:.3f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{sign}{minutes} m {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{sign}{hours} h {minutes:02d} m"
    return f"{sign}{hours // 24} d {hours % 24:02d} h"


def fit(text: str, width: int, align: Align = "left", ellipsis: str = "…", middle: bool = False) -> str:
    """`text` cut or padded to exactly `width` cells."""
    if width <= 0:
        return ""
    size = len(text) if text.isascii() else cell_len(text)
    if size == width:
        return text
    if size < width:
        pad = " " * (width - size)
        return pad + text if align == "right" else text + pad
    if width == 1:
        return ellipsis[:1]
    if not middle or width < 8:
        return set_cell_size(text, width - 1) + ellipsis
    tail = (width - 1) // 2
    end = text[-tail:]
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(text, width - 1 - cell_len(end)) + ellipsis + end


def width_of(texts: Sequence[str]) -> int:
    """Cells of the widest text, 0 when there is none."""
    return max((len(text) if text.isascii() else cell_len(text) for text in texts), default=0)


def _values(series: pl.Series, glyphs: CellGlyphs, decimals: int | None) -> list[str]:
    """Texts by type alone."""
    dtype, null = series.dtype, glyphs.null
    if dtype.is_float():
        digits = decimals_of(series) if decimals is None else decimals
        return [null if v is None else f"{v:.{digits}f}" for v in series.to_list()]
    if dtype == pl.Boolean:
        return [null if v is None else glyphs.true if v else glyphs.false for v in series.to_list()]
    if dtype.is_integer() or dtype == pl.Decimal:
        return [null if v is None else str(v) for v in series.to_list()]
    if dtype == pl.Duration:
        return [null if v is None else duration(v) for v in series.to_list()]
    if dtype.is_temporal() or dtype in (pl.Categorical, pl.Enum):
        return [null if v is None else clean(v, glyphs) for v in series.cast(pl.String).to_list()]
    if dtype == pl.String:
        # A cell shows a line at most: the rest of a long text is never turned into a Python string.
        return [null if v is None else clean(v, glyphs) for v in series.str.head(200).to_list()]
    if dtype == pl.Binary:
        return [null if v is None else _bytes(v, glyphs) for v in series.to_list()]
    if isinstance(dtype, pl.List | pl.Array):
        return [null if v is None else _sequence(list(v), glyphs) for v in series.to_list()]
    if dtype == pl.Null:
        return [null] * len(series)
    return [null if v is None else _any(v, glyphs) for v in series.to_list()]


def _bytes(value: bytes, glyphs: CellGlyphs) -> str:
    return f"{value[:8].hex(' ')}{glyphs.ellipsis if len(value) > 8 else ''} ({len(value)} B)"


def _sequence(values: list[Any], glyphs: CellGlyphs) -> str:
    shown = " ".join(_any(value, glyphs) for value in values[:12])
    return f"{len(values)}: {shown}{glyphs.ellipsis if len(values) > 12 else ''}"


def _any(value: Any, glyphs: CellGlyphs) -> str:
    """One value outside of a typed column: a list's item, a structure's field."""
    if value is None:
        return glyphs.null
    if isinstance(value, dict):
        return " ".join(f"{clean(str(key), glyphs)}={_any(item, glyphs)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, bytes):
        return _bytes(value, glyphs)
    if isinstance(value, list):
        return f"[{_sequence(value, glyphs)}]"
    return clean(str(value)[:200], glyphs)


def _refuse_impossible(series: pl.Series, spec: ColumnSpec, glyphs: CellGlyphs, texts: list[str]) -> None:
    """Replace what cannot be true by a word: such a number would be believed."""
    for row, value in enumerate(series.to_list()):
        if value is None:
            continue
        if isinstance(value, float) and not math.isfinite(value):
            texts[row] = f"{glyphs.warn} not a number" if math.isnan(value) else f"{glyphs.warn} infinite"
        elif spec.least is not None and value < spec.least:
            texts[row] = f"{glyphs.warn} below {spec.least:g}"
        elif spec.most is not None and value > spec.most:
            texts[row] = f"{glyphs.warn} above {spec.most:g}"


def _say_why(window: pl.DataFrame, spec: ColumnSpec, glyphs: CellGlyphs, texts: list[str]) -> None:
    if spec.why not in window.columns:
        return
    reasons = window[spec.why].to_list()
    for row, reason in enumerate(reasons):
        if reason and texts[row] == glyphs.null and (spec.why_always or spec.name in reason):
            texts[row] = f"{glyphs.warn} {clean(str(reason)[:200], glyphs)}"


def _add_spread(
    window: pl.DataFrame, spec: ColumnSpec, glyphs: CellGlyphs, texts: list[str], decimals: int | None
) -> None:
    """Append the interval or the sd, padded so that the numbers before it stay in one column."""
    values = window[spec.name]
    digits = decimals_of(values) if decimals is None else decimals
    if spec.sd in window.columns:
        spreads = [_spread_sd(sd, digits, glyphs) for sd in window[spec.sd].to_list()]
    elif spec.high in window.columns:
        pairs = zip(window[spec.low].to_list(), window[spec.high].to_list(), strict=True)
        spreads = [_spread_interval(low, high, digits, glyphs) for low, high in pairs]
    else:
        return
    width = width_of(spreads)
    if width == 0:
        return
    for row, (value, spread) in enumerate(zip(values.to_list(), spreads, strict=True)):
        if value is not None and not texts[row].startswith(glyphs.warn):
            texts[row] = f"{texts[row]} {spread:<{width}}"


def _spread_sd(sd: float | None, digits: int, glyphs: CellGlyphs) -> str:
    return f"{glyphs.plus_minus}{sd:.{digits}f}" if sd is not None and math.isfinite(sd) else ""


def _spread_interval(low: float | None, high: float | None, digits: int, glyphs: CellGlyphs) -> str:
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{low:.{digits}f}{glyphs.to}{bounded(high, digits)}"


def _statuses(window: pl.DataFrame, spec: ColumnSpec, glyphs: CellGlyphs) -> list[str]:
    words = window[spec.name].cast(pl.String).to_list()
    details: list[str | None] = [None] * len(words)
    if spec.detail in window.columns:
        details = window[spec.detail].cast(pl.String).to_list()
    noisy: list[bool | None] = [None] * len(words)
    if spec.noisy in window.columns:
        noisy = window[spec.noisy].to_list()
    texts = []
    for word, detail, shaky in zip(words, details, noisy, strict=True):
        if word is None:
            texts.append(glyphs.null)
            continue
        glyph = getattr(glyphs, STATUS_GLYPH.get(word, "warn"))
        text = f"{glyph} {clean(word, glyphs)}"
        if detail:
            text += f": {clean(detail, glyphs)}"
        texts.append(f"{text} ~noisy" if shaky else text)
    return texts


def _bars(series: pl.Series, spec: ColumnSpec, glyphs: CellGlyphs) -> list[str]:
    width = spec.max_width
    return [
        "" if share is None or not share > 0 else glyphs.bar * max(1, round(min(share, 1.0) * width))
        for share in series.to_list()
    ]


def _heat(window: pl.DataFrame, spec: ColumnSpec, glyphs: CellGlyphs, texts: list[str]) -> list[str]:
    """`▆ 1.35 n3`: shade, value, number of values, `~` where noisy rows are among them."""
    rows = len(texts)
    shades = window[spec.shade].to_list() if spec.shade in window.columns else [None] * rows
    counts = window[spec.count].to_list() if spec.count in window.columns else [None] * rows
    noisy = window[spec.noisy].to_list() if spec.noisy in window.columns else [None] * rows
    result = []
    for text, shade, count, shaky in zip(texts, shades, counts, noisy, strict=True):
        if not count and text == glyphs.null:
            result.append(text)
            continue
        level = glyphs.heat[shade_level(shade, len(glyphs.heat))] + " " if shade is not None else ""
        result.append(f"{level}{text} n{count or 0}{'~' if shaky else ''}")
    return result


def shade_level(shade: float | None, levels: int = 5) -> int:
    """Step 0 .. levels-1 of a shade in 0..1."""
    if shade is None or not math.isfinite(shade):
        return 0
    return min(levels - 1, max(0, int(shade * levels)))
