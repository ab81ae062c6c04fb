"""Prediction with a 90 % interval that knows where it comes from.

The interval adds, as relative variances of the speed-up: the terms' covariance (fit), the baseline's
standard error, the acceptance (another text of the same kind, or bits that nobody saw), the noise of the
measurement it will be compared with, and what the model was seen to leave out (a floor at least; for lent
terms also what a baseline's reps scatter by, over the root of the processes that their probe was timed in).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from sweeps.costmodel import chance
from sweeps.costmodel.chance import Floats, Profile
from sweeps.costmodel.params import Params, profile, total_ms, verify_at
from sweeps.costmodel.rules import widest
from sweeps.costmodel.terms import NAMES, Fit, features

Z90: Final = 1.6449
WIDEST: Final = 7.0
"""Half of an interval that says nothing (a factor of 1,000), on the logarithm."""
MODEL_REL: Final = 0.02
"""Relative sd for what the model leaves out: at best, predictions of rows it was fitted on miss by this."""
CORRELATION: Final = 1.4
"""Accepted positions come in runs: the variance of tokens per round is this much above independent ones."""


@dataclass(frozen=True)
class Spread:
    """Relative sds that go into an interval, beside the terms' own covariance."""

    target: float = 0.01
    acceptance: float = 0.0
    """Of the time of a call, through its counts. See `acceptance_rel` and `chance_rel`."""
    noise: float = 0.0
    model: float = MODEL_REL
    terms: Floats | None = None
    """[9, 9] covariance in the order of `terms.NAMES`, or None."""


def model_rel(fit: Fit) -> float:
    """Relative sd for what the model leaves out: what it was seen to leave out, `MODEL_REL` at least."""
    return max(MODEL_REL, fit.row_rel)


@dataclass(frozen=True)
class Prediction:
    """A speed-up, its 90 % interval, what the interval is made of, and where each term came from."""

    speedup: float
    lo: float
    hi: float
    parts: Mapping[str, float] = field(default_factory=dict)
    """Source of uncertainty -> relative sd."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    extrapolates: tuple[str, ...] = ()
    """What lies outside of the measured range, in words."""
    counts: Profile | None = None


def params_from(
    fit: Fit, target_ms: float, path: str, budget: int, provenance: Mapping[str, str] = {}
) -> Params:
    """Params on terms at the level of `target_ms` (`Fit.beside`); the acceptance is still to be set."""
    return Params(
        target_ms=target_ms,
        draft_ms=fit["draft"],
        verify_base_ms=fit["verify_base"],
        verify_slope_ms=fit["verify_slope"],
        verify_change_ms=fit["verify_change"],
        rest_ms=fit["rest"],
        rest_proposal_ms=fit["rest_proposal"],
        rest_mismatch_ms=fit["rest_mismatch"],
        path=path,
        budget=budget,
        catch_up=fit["catch_up"] / fit["draft"] if fit["draft"] > 0 else 0.0,
        draft_first_ms=fit["draft_first"],
        first_round_ms=fit.first_round_ms,
        verify_ms=fit.table,
        provenance={**dict.fromkeys(PARAM_TERMS, fit.source), **provenance},
    )


PARAM_TERMS: Final = (
    "draft_ms",
    "verify_base_ms",
    "verify_slope_ms",
    "verify_change_ms",
    "rest_ms",
    "rest_proposal_ms",
    "rest_mismatch_ms",
    "catch_up",
    "draft_first_ms",
    "first_round_ms",
    "verify_ms",
)


def chance_rel(counts: Profile) -> Floats:
    """Relative sd of the number of rounds of one text, when acceptance is a matter of chance.

    Renewal theory: with bursts of mean tau and variance s^2, N tokens take N / tau rounds with a variance
    of N s^2 / tau^3. The burst's variance is bounded by that of a geometric burst cut at the widest round.
    """
    tau = counts.tokens_per_round
    k = np.maximum(counts.proposals_per_round, 1e-9)
    alpha = np.clip(
        (tau - 1) / np.maximum(tau - 1 + counts.mismatched / np.maximum(counts.rounds, 1e-9), 1e-9), 0, 0.9999
    )
    whole = np.ceil(k)
    grid = np.arange(1, counts.by_width.shape[-1] + 1)
    survive = np.where(grid <= whole[..., None], alpha[..., None] ** grid, 0.0)
    mean: Floats = survive.sum(axis=-1)
    square: Floats = ((2 * grid - 1) * survive).sum(axis=-1)
    variance = np.maximum(square - mean**2, 0.0) * CORRELATION
    return np.asarray(np.sqrt(variance / np.maximum(counts.tokens * tau, 1e-9)))


def predict(params: Params, nat: int, spread: Spread | None = None, fit: Fit | None = None) -> Prediction:
    """One configuration.

    Args:
        spread: without it, the acceptance counts as one text drawn by chance (or as known, where bits
            decide it), T and the terms as known to 1 %.
        fit: where the terms came from; gives their covariance and says what is extrapolated.

    Raises:
        ValueError: as `params.profile`.
    """
    counts = profile(params, nat)
    if spread is None:
        acceptance = 0.0 if params.bits is not None else float(chance_rel(counts))
        spread = Spread(acceptance=acceptance)
    return from_counts(params, counts, spread, fit)


def from_counts(params: Params, counts: Profile, spread: Spread, fit: Fit | None = None) -> Prediction:
    """The same for counts that are already known (several strings averaged, prompt lookup)."""
    time = float(total_ms(params, counts))
    value = counts.tokens * params.target_ms / time
    cov = spread.terms if spread.terms is not None else (fit.cov if fit is not None else None)
    terms_rel = 0.0
    if cov is not None:
        x = features(counts)
        terms_rel = float(np.sqrt(np.maximum(x @ cov @ x, 0.0))) / time
    parts = {
        "terms": terms_rel,
        "baseline": spread.target,
        "acceptance": spread.acceptance,
        "measurement": spread.noise,
        "model": spread.model,
    }
    sd = float(np.sqrt(sum(part**2 for part in parts.values())))
    beyond: tuple[str, ...] = ()
    if fit is not None:
        beyond = extrapolated(counts, fit)
    factor = float(np.exp(min(Z90 * sd, WIDEST)))
    return Prediction(value, value / factor, value * factor, parts, dict(params.provenance), beyond, counts)


def extrapolated(counts: Profile, fit: Fit) -> tuple[str, ...]:
    """What a prediction takes from outside of the rounds that were seen, in words."""
    if not fit.rounds:
        return ("no round of this pair was seen: all terms are borrowed",)
    share = counts.by_width / np.maximum(counts.rounds, 1e-12)
    low, high = fit.widths
    wider = float(share[high + 1 :].sum())
    narrower = float(share[1:low].sum())
    out = []
    if wider > 0.1:
        out.append(f"{wider:.0%} of the rounds propose more than {high} tokens, the widest round seen")
    if narrower > 0.1:
        out.append(f"{narrower:.0%} of the rounds propose fewer than {low} tokens, the narrowest seen")
    return tuple(out)


def predict_many(params: Sequence[Params], nats: Sequence[int]) -> Floats:
    """Speed-ups of many configurations; equal to `speedup` one by one, to 1e-6.

    Configurations with one alpha are grouped by rule, NAT and budget, and each group is one array
    operation; those with bits or acceptance by place are replayed or expected one by one (and cached).
    """
    out = np.empty(len(params))
    groups: dict[tuple[str, int, int], list[int]] = {}
    for i, (one, nat) in enumerate(zip(params, nats, strict=True)):
        if nat == 0:
            out[i] = 1.0
        elif one.bits is None and not one.conditional and one.alpha is not None:
            groups.setdefault((one.path, nat, one.budget), []).append(i)
        else:
            counts = profile(one, nat)
            out[i] = counts.tokens * one.target_ms / float(total_ms(one, counts))
    for (_, nat, budget), members in groups.items():
        some = [params[i] for i in members]
        rule = some[0].rule
        counts = chance.expected_many(np.array([p.alpha for p in some], dtype=float), rule, nat, budget)
        theta = np.stack([theta_of(p) for p in some])
        time = (features(counts) * theta).sum(axis=-1) + np.array([p.first_round_ms for p in some])
        if any(p.verify_ms for p in some):
            widths = np.arange(widest(rule, nat) + 1, dtype=float)
            time += np.array([_table_excess(p, widths) for p in some] * counts.by_width).sum(axis=-1)
        out[members] = counts.tokens * np.array([p.target_ms for p in some]) / time
    return out


def _table_excess(params: Params, widths: Floats) -> Floats:
    """What the verify table says above the line."""
    return verify_at(params, widths) - (params.verify_base_ms + params.verify_slope_ms * widths)


def mean_profile(parts: Sequence[Profile], weights: Floats | None = None) -> Profile:
    """The mean counts of several calls of one budget and rule (times are linear in them)."""
    size = max(p.by_width.shape[-1] for p in parts)
    widths = [np.pad(p.by_width, (0, size - p.by_width.shape[-1])) for p in parts]
    return Profile(
        np.asarray(np.average([p.rounds for p in parts], weights=weights)),
        np.asarray(np.average([p.full for p in parts], weights=weights)),
        np.asarray(np.average([p.caught_up for p in parts], weights=weights)),
        np.asarray(np.average([p.changed for p in parts], weights=weights)),
        np.asarray(np.average(widths, axis=0, weights=weights)),
        parts[0].tokens,
    )


def theta_of(params: Params) -> Floats:
    """[9]: the params' terms in the order of `terms.NAMES`."""
    values = {
        "draft": params.draft_ms,
        "draft_first": params.draft_first_ms,
        "catch_up": params.draft_ms * params.catch_up_inferences,
        "verify_base": params.verify_base_ms,
        "verify_slope": params.verify_slope_ms,
        "verify_change": params.verify_change_ms,
        "rest": params.rest_ms,
        "rest_proposal": params.rest_proposal_ms,
        "rest_mismatch": params.rest_mismatch_ms,
    }
    return np.array([values[name] for name in NAMES])
