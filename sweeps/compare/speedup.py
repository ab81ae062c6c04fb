"""Speed-ups: a ratio of decode rates with an interval from the reps, or a reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final, NamedTuple

from sweeps.compare.student import t_quantile


class Ratio(NamedTuple):
    """A ratio of means and its 95 % interval (None with fewer than two reps on either side)."""

    value: float
    lo: float | None
    hi: float | None
    paired: bool = False


def ratio(rates: Sequence[float], base: Sequence[float], level: float = 0.95) -> Ratio:
    """mean(rates) / mean(base) with Welch's interval on the logarithm.

    The variance of log(mean) is (sd / mean)^2 / n to first order; the degrees of freedom are Welch and
    Satterthwaite's. Both sequences hold at least one positive rate.
    """
    value = fmean(rates) / fmean(base)
    if min(len(rates), len(base)) < 2:
        return Ratio(value, None, None)
    parts = [((stdev(x) / fmean(x)) ** 2 / len(x), len(x) - 1) for x in (rates, base)]
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return Ratio(value, value, value)
    df = variance**2 / sum(part**2 / free for part, free in parts)
    return _interval(value, t_quantile(df, level) * math.sqrt(variance), paired=False)


def paired_ratio(rates: Mapping[int, float], base: Mapping[int, float], level: float = 0.95) -> Ratio:
    """As `ratio`, for reps that were measured in interleaved passes: what disturbs one pass disturbs both
    sides of it, so that the interval comes from the differences within passes.

    Both map rep number -> rate; reps without a partner are left out. At least one number is common.
    """
    common = sorted(set(rates) & set(base))
    ours, theirs = [rates[rep] for rep in common], [base[rep] for rep in common]
    mean, base_mean = fmean(ours), fmean(theirs)
    value = mean / base_mean
    if len(common) < 2:
        return Ratio(value, None, None, paired=True)
    differences = [a / mean - b / base_mean for a, b in zip(ours, theirs, strict=True)]
    error = stdev(differences) / math.sqrt(len(common))
    return _interval(value, t_quantile(len(common) - 1, level) * error, paired=True)


def _interval(value: float, half: float, paired: bool) -> Ratio:
    """`half` is half the interval's width on the logarithm; one too wide to say anything is bounded."""
    half = min(half, 50.0)
    return Ratio(value, value * math.exp(-half), value * math.exp(half), paired)


@dataclass(frozen=True)
class Side:
    """What must be alike on both sides of a ratio. `path` is the engine that really ran."""

    model: str
    device: str
    prompt: str
    path: str
    tokens: int | None
    prompt_tokens: int | None
    prefix_caching: bool
    properties: tuple[tuple[str, str], ...]
    """Effective properties of the target's side, without those that choose the path."""
    status: str


def unlike(ours: Side, base: Side) -> str:
    """Why the two must not be divided; empty if they may be."""
    if base.status != "ok":
        return f"the baseline is {base.status}"
    if ours.status != "ok":
        return f"the row is {ours.status}"
    checks = (
        ("another target", ours.model, base.model),
        ("another device", ours.device, base.device),
        ("another prompt", ours.prompt, base.prompt),
        ("another path", ours.path, base.path),
        ("another token count", ours.tokens, base.tokens),
        ("another length of the prompt in tokens", ours.prompt_tokens, base.prompt_tokens),
        ("another state of prefix caching", ours.prefix_caching, base.prefix_caching),
    )
    for what, a, b in checks:
        if a != b:
            return f"{what} in the baseline: {b} against {a}"
    differing = sorted({key for key, _ in set(ours.properties) ^ set(base.properties)})
    if differing:
        return f"other properties in the baseline: {', '.join(differing)}"
    return ""


HAND_OVER_MS: Final = 10.0
"""By how much late delivery of the first burst may make the rounds of a rep seem shorter than they were."""


def identity_rate(
    tokens: int, rounds: int, draft_ms: float, verify_ms: float, wall_ms: float
) -> float | None:
    """Tokens per second by the round budget: tau / (k d + v + s), from totals over the rounds of one rep.

    `tokens` are those of the rounds (without the first token), `draft_ms` = sum(k d), `verify_ms` =
    sum(v); the rest s is what is left of `wall_ms`, and not below zero by more than the hand-over between
    threads explains. So it equals the measured rate unless counts or timers contradict the clock (a
    prefill counted as a round's, a list of another call): noise cannot make it differ.
    """
    rest_ms = wall_ms - draft_ms - verify_ms
    if rest_ms < -HAND_OVER_MS:
        rest_ms = 0.0
    round_ms = (draft_ms + verify_ms + rest_ms) / rounds if rounds else 0.0
    return tokens / rounds / round_ms * 1000 if round_ms > 0 else None
