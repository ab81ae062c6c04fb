"""Numbers as the watch screen writes them: units always, `--` where there is nothing to say."""

from __future__ import annotations

import time

from explorer.numbers import bounded

UNKNOWN = "--"


def duration(seconds: float | None) -> str:
    """`8 s`, `3 min 20 s`, `2 h 05 min`; `--` while unknown."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def number(value: float | None, digits: int = 1, unit: str = "") -> str:
    """A value with its unit, or `--`."""
    if value is None:
        return UNKNOWN
    return f"{value:.{digits}f} {unit}".rstrip()


def percent(value: float | None) -> str:
    """0.613 as `61.3 %`."""
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def ratio(value: float) -> str:
    """Three digits: `1.35`, `13.1`, `113`, and not more."""
    return bounded(value, 2 if value < 9.995 else 1 if value < 99.95 else 0)


def memory(megabytes: float | None) -> str:
    """`812 MB`, `3.4 GB`."""
    if megabytes is None:
        return UNKNOWN
    return f"{megabytes:.0f} MB" if megabytes < 2000 else f"{megabytes / 1000:.1f} GB"


def clock(moment: float) -> str:
    """Time of day where the reader is."""
    return time.strftime("%H:%M:%S", time.localtime(moment)) if moment else UNKNOWN


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    """`text` in exactly `width` columns (for text of one-cell characters)."""
    if width <= 0:
        return ""
    return text.ljust(width) if len(text) <= width else text[: width - len(ellipsis)] + ellipsis
