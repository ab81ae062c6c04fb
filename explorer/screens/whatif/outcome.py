"""What follows from a scenario: the prediction, its curve, and the answers people ask for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from explorer.screens.whatif.scenario import ALPHAS, NATS, Scenario, alpha_grid
from sweeps.costmodel import formulas
from sweeps.costmodel.answers import TIE, Elasticity, crossing, payoff_tokens
from sweeps.costmodel.chance import Floats
from sweeps.costmodel.params import RoundBudget, total_ms, verify_at
from sweeps.costmodel.predict import Prediction, theta_of
from sweeps.costmodel.terms import NAMES, features

LEAST_NATS: Final = 10
"""The curve goes at least so far."""

FORMULA_TITLES: Final = {  # explained in `sweeps.costmodel.formulas`
    "leviathan_r": "Leviathan (r)",
    "leviathan_alpha": "Leviathan (alpha)",
    "round_budget": "round budget",
    "linear_verify": "linear verify",
}


@dataclass(frozen=True)
class CurvePoint:
    """The prediction at one NAT."""

    nat: int
    speedup: float
    lo: float
    hi: float
    beyond: bool
    """Takes something from outside of what was measured."""


@dataclass(frozen=True)
class Outcome:
    """Everything that the pane shows of a scenario."""

    scenario: Scenario
    prediction: Prediction
    budget: RoundBudget
    curve: tuple[CurvePoint, ...]
    formulas: dict[str, tuple[tuple[int, float], ...]]
    """Published formula -> (NAT, speed-up)."""
    best: tuple[int, float]
    """(NAT, speed-up), ties within 1 % to the smaller; NAT 0: the target alone."""
    break_even_ms: float | None
    """Draft time per proposal at which the speed-up is 1; below 0: no draft is fast enough."""
    break_even_alpha: float | None
    """Acceptance at which it is 1; None: not even with all accepted."""
    payoff: float | None
    """Tokens before the longer construction pays off; None: construction times are unknown."""
    improve: tuple[Elasticity, ...]
    """What is most worth improving first."""

    @property
    def error(self) -> float | None:
        """predicted / measured - 1, of a scenario that is the row's own."""
        measured = self.scenario.base.measured
        if measured is None or self.scenario.is_edited:
            return None
        return self.prediction.speedup / measured.speedup - 1


def evaluate(scenario: Scenario) -> Outcome:
    """All answers. Quick enough for each step of a parameter: counts are cached, times are linear in them."""
    nat = scenario.nat
    found = {n: scenario.prediction(n) for n in NATS}
    prediction = found[nat]
    curve = tuple(_curve(scenario, found))
    scored = {0: 1.0, **{n: each.speedup for n, each in found.items()}}
    top = max(scored.values())
    best = min(n for n, value in scored.items() if value >= top * (1 - TIE))
    extra = scenario.value("extra_construct_s")
    speeds = _over_alpha(scenario)
    return Outcome(
        scenario,
        prediction,
        scenario.round_budget(nat),
        curve,
        published(scenario, [point.nat for point in curve]),
        (best, scored[best]),
        _break_even_ms(scenario),
        _break_even_alpha(speeds),
        None if math.isnan(extra) else payoff_tokens(extra, scenario.params.target_ms, prediction.speedup),
        tuple(elasticities(scenario, speeds)),
    )


def _curve(scenario: Scenario, predictions: Mapping[int, Prediction]) -> list[CurvePoint]:
    furthest = max([LEAST_NATS, scenario.nat, *(point.nat for point in scenario.base.points)])
    points = []
    for nat in NATS:
        if nat <= furthest:
            found = predictions[nat]
            points.append(CurvePoint(nat, found.speedup, found.lo, found.hi, bool(found.extrapolates)))
    return points


def published(scenario: Scenario, nats: Sequence[int]) -> dict[str, tuple[tuple[int, float], ...]]:
    """The published formulas with the scenario's terms: its acceptance at each NAT, the draft standing
    alone (unless its time was edited), and its verify times."""
    params, alone = scenario.params, scenario.base.choice.alone_ms
    draft = params.draft_ms if "draft_ms" in scenario.edits or not alone else alone
    target, base, slope = params.target_ms, params.verify_base_ms, params.verify_slope_ms
    out: dict[str, list[tuple[int, float]]] = {name: [] for name in formulas.NAMES}
    for nat in nats:
        r = float(scenario.counts(nat).acceptance)
        verify = float(verify_at(params, np.array([float(nat)]))[0])
        values = {
            "leviathan_r": formulas.leviathan_r(r, nat, draft, target),
            "leviathan_alpha": formulas.leviathan_alpha(r, nat, draft, target),
            "round_budget": formulas.round_budget(r, nat, params.draft_ms, verify, target),
            "linear_verify": formulas.linear_verify(r, nat, draft, base, slope, target),
        }
        for name, value in values.items():
            out[name].append((nat, value))
    return {name: tuple(points) for name, points in out.items()}


def _break_even_ms(scenario: Scenario) -> float | None:
    params, counts = scenario.params, scenario.counts(scenario.nat)
    if scenario.base.case.kind == "prompt-lookup":
        return None
    inferences = float(counts.proposals) + params.catch_up_inferences * float(counts.caught_up)
    if inferences <= 0:
        return None
    without = float(total_ms(replace(params, draft_ms=0.0), counts))
    return (counts.tokens * params.target_ms - without) / inferences


def _over_alpha(scenario: Scenario) -> Floats:
    """Speed-up at each of `ALPHAS`."""
    params = scenario.params
    counts = alpha_grid(params.rule, scenario.nat, params.budget)
    if scenario.base.case.kind == "prompt-lookup":  # Every round is as wide as NAT, whatever was found.
        by_width = np.zeros_like(counts.by_width)
        by_width[:, scenario.nat] = counts.rounds
        none = np.zeros_like(counts.rounds)
        counts = replace(counts, by_width=by_width, caught_up=none, changed=none)
    return np.asarray(counts.tokens * params.target_ms / total_ms(params, counts))


def _break_even_alpha(speeds: Floats) -> float | None:
    if speeds[0] >= 1.0:
        return 0.0
    if speeds[-1] < 1.0:
        return None
    return crossing(list(zip(ALPHAS.tolist(), speeds.tolist(), strict=True)))


def shares(scenario: Scenario) -> dict[str, float]:
    """Part of a call's time by term (fields of `Params`); they add up to 1."""
    params, counts = scenario.params, scenario.counts(scenario.nat)
    whole = float(total_ms(params, counts))
    parts = dict(zip(NAMES, (features(counts) * theta_of(params)).tolist(), strict=True))
    bend = whole - sum(parts.values()) - params.first_round_ms
    return {
        "draft_ms": (parts["draft"] + parts["catch_up"]) / whole,
        "draft_first_ms": parts["draft_first"] / whole,
        "verify_base_ms": (parts["verify_base"] + bend) / whole,
        "verify_slope_ms": parts["verify_slope"] / whole,
        "verify_change_ms": parts["verify_change"] / whole,
        "rest_ms": parts["rest"] / whole,
        "rest_proposal_ms": parts["rest_proposal"] / whole,
        "rest_mismatch_ms": parts["rest_mismatch"] / whole,
        "first_round_ms": params.first_round_ms / whole,
    }


def elasticities(scenario: Scenario, speeds: Floats) -> list[Elasticity]:
    """The terms and the acceptance, the one most worth improving first.

    Args:
        speeds: speed-up at each of `ALPHAS`.

    A call's time is linear in its terms, so the elasticity of the speed-up to a term is minus its share of
    the time, and 10 % less of it gains 1 / (1 - share / 10) - 1. Better acceptance: a tenth fewer refusals.
    """
    out = [
        Elasticity(name, -share, 1 / (1 - 0.1 * share) - 1)
        for name, share in shares(scenario).items()
        if share > 0
    ]
    alpha = scenario.value("acceptance")
    here, better, above, below = np.interp(
        [alpha, alpha + 0.1 * (1 - alpha), alpha * 1.01, alpha * 0.99], ALPHAS, speeds
    )
    slope = (
        math.log(above / below) / math.log(min(1.01, 1 / max(alpha, 1e-9)) / 0.99) if alpha > 0.01 else 0.0
    )
    out.append(Elasticity("acceptance", slope, float(better / here - 1)))
    return sorted(out, key=lambda each: -each.gain)


def grid_ready(scenario: Scenario) -> None:
    """Compute what stepping through acceptances needs, so that no step waits for it."""
    for nat in NATS:
        alpha_grid(scenario.params.rule, nat, scenario.params.budget)
