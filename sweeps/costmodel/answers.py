"""What people ask the model: break-even, best NAT, what to improve, which device, why a row missed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sweeps.costmodel.chance import Profile, expected_many
from sweeps.costmodel.params import Params, profile, speedup, total_ms, verify_at
from sweeps.costmodel.predict import Prediction

TIE = 0.01
"""Speed-ups this close are a tie, and the smaller NAT wins it."""


def break_even_draft_ms(params: Params, nat: int) -> float:
    """The draft time per proposal at which the speed-up is 1; below 0: no draft is fast enough.

    The other terms stay as they are, `draft_first_ms` too; catch-up inferences scale with the draft.
    """
    counts = profile(params, nat)
    without = float(total_ms(replace(params, draft_ms=0.0), counts))
    inferences = float(counts.proposals) + params.catch_up_inferences * float(counts.caught_up)
    if inferences <= 0:
        return math.nan
    return (counts.tokens * params.target_ms - without) / inferences


def break_even_alpha(params: Params, nat: int) -> float | None:
    """The acceptance (alpha) at which the speed-up is 1; None: not even with every proposal accepted, 0.0
    when nothing need be accepted. The speed-up grows with alpha, so narrowing a bracket finds it."""
    low, high = 0.0, 1.0
    for _ in range(4):  # each pass narrows the bracket 128 times
        alpha = np.linspace(low, high, 129)
        counts = expected_many(alpha, params.rule, nat, params.budget)
        wins = counts.tokens * params.target_ms >= total_ms(params, counts)
        if not wins.any():
            return None if high == 1.0 else high
        first = int(np.argmax(wins))
        if first == 0:
            return low
        low, high = float(alpha[first - 1]), float(alpha[first])
    return (low + high) / 2


def best_nat(params: Params, nats: Iterable[int]) -> tuple[int, float]:
    """(NAT, speed-up): the smallest NAT within 1 % of the best. 0 stands for not speculating at all."""
    scored = {0: 1.0, **{nat: speedup(params, nat) for nat in nats if nat > 0}}
    top = max(scored.values())
    pick = min(nat for nat, value in scored.items() if value >= top * (1 - TIE))
    return pick, scored[pick]


def payoff_tokens(extra_construct_s: float, target_ms: float, speed: float) -> float:
    """Tokens after which a longer construction pays off: extra time / time won per token.

    Infinite when the speed-up is at most 1; 0 when nothing extra is to be paid.
    """
    if extra_construct_s <= 0:
        return 0.0
    if speed <= 1.0:
        return math.inf
    return 1000.0 * extra_construct_s / (target_ms * (1.0 - 1.0 / speed))


class Elasticity(NamedTuple):
    """How the speed-up answers to one term."""

    term: str
    elasticity: float
    """d ln S / d ln term: -0.3 means that 10 % less of the term is about 3 % more speed."""
    gain: float
    """Relative gain in speed when the term gets 10 % better (less time, or a tenth of the refusals gone)."""


TIMES = (
    "draft_ms",
    "draft_first_ms",
    "verify_base_ms",
    "verify_slope_ms",
    "verify_change_ms",
    "rest_ms",
    "rest_proposal_ms",
    "rest_mismatch_ms",
    "first_round_ms",
)


def elasticities(params: Params, nat: int) -> list[Elasticity]:
    """Every term that is not 0, the one that is most worth improving first.

    The verify table, where there is one, is moved with the verify terms (base: all of it; slope: by width).
    """
    now = speedup(params, nat)
    out = []
    for name in TIMES:
        value = getattr(params, name)
        if value == 0:
            continue
        up, down = (speedup(_scaled(params, name, f), nat) for f in (1.01, 0.99))
        better = speedup(_scaled(params, name, 0.9), nat)
        out.append(Elasticity(name, (math.log(up) - math.log(down)) / 0.02, better / now - 1))
    tau = profile(params, nat).tokens_per_round
    alpha = (
        params.alpha if params.bits is None and params.alpha is not None and not params.conditional else None
    )
    if alpha is None:
        alpha = _alpha_like(params, nat, float(tau))
    on = replace(params, bits=None, conditional=(), alpha=alpha)
    base = speedup(on, nat)
    better = speedup(replace(on, alpha=alpha + 0.1 * (1 - alpha)), nat)
    step = min(0.005, (1 - alpha) / 2)
    slope = 0.0
    if alpha > 0.01 and step > 0:
        up, down = (speedup(replace(on, alpha=alpha * (1 + s)), nat) for s in (step, -step))
        slope = (math.log(up) - math.log(down)) / (2 * step)
    out.append(Elasticity("acceptance", slope, better / base - 1))
    return sorted(out, key=lambda e: -e.gain)


def _scaled(params: Params, name: str, factor: float) -> Params:
    moved = {name: getattr(params, name) * factor}
    if params.verify_ms and name == "verify_base_ms":
        extra = params.verify_base_ms * (factor - 1)
        return replace(params, **moved, verify_ms=tuple((w, ms + extra) for w, ms in params.verify_ms))
    if params.verify_ms and name == "verify_slope_ms":
        extra = params.verify_slope_ms * (factor - 1)
        return replace(params, **moved, verify_ms=tuple((w, ms + extra * w) for w, ms in params.verify_ms))
    return replace(params, **moved)


def _alpha_like(params: Params, nat: int, tau: float) -> float:
    """The constant alpha with these tokens per round."""
    low, high = 0.0, 1.0
    on = replace(params, bits=None, conditional=())
    for _ in range(40):
        middle = (low + high) / 2
        smaller = float(profile(replace(on, alpha=middle), nat).tokens_per_round) < tau
        low, high = (middle, high) if smaller else (low, middle)
    return (low + high) / 2


def win_probability(a: Prediction, b: Prediction) -> float:
    """P(a is faster than b), from both intervals; what both share (baseline, acceptance) cancels."""
    own = ("terms", "model", "measurement")
    variance = sum(p.parts.get(name, 0.0) ** 2 for p in (a, b) for name in own)
    gap = math.log(a.speedup / b.speedup)
    if variance == 0:
        return 0.5 if gap == 0 else float(gap > 0)
    return 0.5 * (1 + math.erf(gap / math.sqrt(2 * variance)))


@dataclass(frozen=True)
class Measured:
    """What a row measured, per round."""

    speedup: float
    tokens_per_round: float
    proposals_per_round: float
    draft_ms: float | None
    """Per proposal."""
    verify_ms: float | None
    """Per round."""
    rest_ms: float | None
    """Per round."""
    noise_rel: float = 0.0
    diverged_at: int | None = None
    """First token that is not the baseline's, where it is known."""


class Cause(NamedTuple):
    """One reason why a row missed its prediction."""

    cause: str
    effect: float
    """ln(measured / predicted) that goes to this cause: -0.05 means about 5 % slower because of it."""
    words: str


def why(params: Params, counts: Profile, measured: Measured) -> list[Cause]:
    """Splits ln(measured / predicted speed-up) among its causes, the largest first.

    The predicted round is turned into the measured one term by term (acceptance, draft, verify, rest), and
    each step's change of ln S is that term's; what remains is noise and the baseline. The parts add up.
    """
    rounds = float(counts.rounds)
    tau = float(counts.tokens_per_round)
    k = float(counts.proposals_per_round)
    whole = float(total_ms(params, counts)) / rounds
    draft = whole - float(total_ms(replace(params, draft_ms=0.0, draft_first_ms=0.0), counts)) / rounds
    widths = np.arange(counts.by_width.shape[-1], dtype=float)
    verify = float(counts.by_width @ verify_at(params, widths)) / rounds
    rest = whole - draft - verify
    T = params.target_ms  # noqa: N806 - the literature's name
    if not whole > 0:
        return []
    now = tau * T / whole
    causes: list[Cause] = []

    def step(cause: str, new: float, words: str) -> None:
        nonlocal now
        if not new > 0:
            return  # Between two rounds there need be none that takes any time: left to what remains.
        causes.append(Cause(cause, math.log(new / now), words))
        now = new

    # Acceptance: other tokens per round, and with them other proposals per round.
    k_new = measured.proposals_per_round
    draft_moved = draft * (k_new / k if k else 1.0)
    text = ""
    if measured.diverged_at is not None and measured.diverged_at < params.budget:
        text = f"; the text left the baseline's at token {measured.diverged_at}"
    better = "more" if measured.tokens_per_round >= tau else "fewer"
    step(
        "text diverged" if text and abs(measured.tokens_per_round / tau - 1) > 0.01 else "acceptance",
        measured.tokens_per_round * T / (draft_moved + verify + rest),
        f"{better} tokens per round: {measured.tokens_per_round:.2f}, predicted {tau:.2f}{text}",
    )
    tau, draft = measured.tokens_per_round, draft_moved
    for name, predicted, found in (
        ("draft", draft, None if measured.draft_ms is None else measured.draft_ms * k_new),
        ("verify", verify, measured.verify_ms),
        ("rest", rest, measured.rest_ms),
    ):
        if found is None:
            continue
        draft, verify, rest = (
            found if name == "draft" else draft,
            found if name == "verify" else verify,
            found if name == "rest" else rest,
        )
        word = "dearer" if found > predicted else "cheaper"
        step(
            name,
            tau * T / (draft + verify + rest),
            f"{word}: {found:.2f} ms a round, predicted {predicted:.2f}",
        )
    left = math.log(measured.speedup / now)
    likely = (
        "within the measurement's noise" if abs(left) <= 2 * measured.noise_rel else "baseline or first round"
    )
    causes.append(Cause("noise", left, likely))
    return sorted(causes, key=lambda c: -abs(c.effect))


class PathAndDevice(NamedTuple):
    """A slowdown split into the path's and the device's factor; their product is the whole."""

    whole: float
    path: float
    device: float | None


def path_and_device(cb: float, emulated: float, real: float | None) -> PathAndDevice:
    """How much of a slowdown is the path's and how much the draft's device.

    Args:
        cb: speed-up of the draft on the CPU under continuous batching.
        emulated: of the same draft on the stateful path with the NPU emulated on the CPU.
        real: of the same draft on a real NPU; None without one.
    """
    path = emulated / cb
    if real is None:
        return PathAndDevice(path, path, None)
    return PathAndDevice(real / cb, path, real / emulated)


def crossing(points: Sequence[tuple[float, float]], level: float = 1.0) -> float | None:
    """Where a curve first crosses a level, linearly between its points; None: it does not."""
    for (x0, y0), (x1, y1) in pairwise(points):
        if (y0 - level) * (y1 - level) <= 0 and y0 != y1:
            return x0 + (level - y0) * (x1 - x0) / (y1 - y0)
    return None
