"""How much reps scatter, and what else the machine was doing."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Final

NOISY_MAD: Final = 0.1
"""Relative MAD of the decode rate above which a row is `noisy` and is never ranked first."""

BUSY_CORES: Final = 0.5
"""Cores used by other processes from which a row says so."""

CLOCK_OFF: Final = 0.15
"""Relative difference of the processor's clock from which a row and its baseline are not alike."""


def clock_off(ours: Sequence[float], base: Sequence[float]) -> float | None:
    """How much faster the processor's clock was than in the baseline, where it matters; else None."""
    if not ours or not base:
        return None
    off = fmean(ours) / fmean(base) - 1
    return off if abs(off) > CLOCK_OFF else None


def relative_mad(values: Sequence[float]) -> float | None:
    """Median absolute deviation over the median; None below two values."""
    if len(values) < 2:
        return None
    middle = median(values)
    return median(abs(value - middle) for value in values) / middle if middle else None


def is_noisy(rel_mad: float | None) -> bool | None:
    """None where the scatter is not known."""
    return None if rel_mad is None else rel_mad > NOISY_MAD
