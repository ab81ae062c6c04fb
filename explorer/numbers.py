"""Numbers as every view writes them."""

from __future__ import annotations

from typing import Final

LARGEST: Final = 999


def bounded(value: float, decimals: int) -> str:
    """A ratio with so many decimals; `>999` beyond. The interval of two reps that differ may end at a number
    of many digits, which says nothing and widens its column."""
    return f">{LARGEST}" if value > LARGEST else f"{value:.{decimals}f}"
