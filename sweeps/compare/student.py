"""Quantiles of Student's t distribution, for any (also fractional) degrees of freedom."""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache(maxsize=256)
def t_quantile(df: float, level: float = 0.95) -> float:
    """The t that leaves (1 - level) / 2 on either side: 12.706 for df = 1, 1.960 for df -> infinity.

    Solves P(|T| > t) = 1 - level by bisection; P is the regularised incomplete beta function
    I_x(df / 2, 1 / 2) at x = df / (df + t^2) (Abramowitz & Stegun 26.7.1).
    """
    if not df > 0 or not 0 < level < 1:
        raise ValueError(f"no t quantile for df={df}, level={level}")
    low, high = 0.0, 1.0
    while _two_sided(high, df) > 1 - level:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        if _two_sided(middle, df) > 1 - level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _two_sided(t: float, df: float) -> float:
    """P(|T| > t)."""
    return _incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction (Numerical Recipes, 6.4)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    result = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away(1 + term * d, tiny)
            c = _away(1 + term / c, tiny)
            result *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return result


def _away(value: float, tiny: float) -> float:
    """Keep a denominator away from zero (Lentz's method)."""
    return value if abs(value) > tiny else tiny
