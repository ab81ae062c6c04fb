"""How much reps scatter, and what else the machine was doing."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

NOISY_MAD: Final = 0.1
"""Relative MAD of the decode rate above which a row is `noisy` and is never ranked first."""

BUSY_CORES: Final = 0.5
"""Cores used by other processes from which a row says so."""


def relative_mad(values: Sequence[float]) -> float | None:
    """Median absolute deviation over the median; None below two values."""
    if len(values) < 2:
        return None
    middle = median(values)
    return median(abs(value - middle) for value in values) / middle if middle else None


def is_noisy(rel_mad: float | None) -> bool | None:
    """None where the scatter is not known."""
    return None if rel_mad is None else rel_mad > NOISY_MAD
