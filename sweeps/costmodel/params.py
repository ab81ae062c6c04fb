"""The terms of one configuration and what follows from them: speed-up, its curve, the round budget.

    time of all rounds = draft_ms (proposals + catch_up caught_up) + draft_first_ms warmed
                         + sum of verify(c) + verify_change_ms changed
                         + rest_ms rounds + rest_proposal_ms proposals
                         + rest_mismatch_ms mismatched + first_round_ms
    speed-up           = (budget - 1) target_ms / time of all rounds

The counts (rounds, proposals, warmed, caught_up, changed, mismatched, rounds by width c) are a `Profile`: by
replay of an agreement string, or expected. First tokens (prefill) are in neither side, as in `tok_s`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from sweeps.costmodel import chance
from sweeps.costmodel.chance import Floats, Profile
from sweeps.costmodel.rules import Rounds, Rule, replay, rule_of, widest


@dataclass(frozen=True)
class Params:
    """Everything a prediction needs; times in milliseconds, of one configuration on one path."""

    target_ms: float
    """T: the target alone, per token, on the same path."""
    draft_ms: float
    """One proposal in the loop (0 for prompt lookup)."""
    verify_base_ms: float
    """The target verifying one token: a round without proposals."""
    verify_slope_ms: float = 0.0
    """Each proposal more to verify: verify(c) = base + slope c (c + 1 tokens are verified)."""
    verify_change_ms: float = 0.0
    """More of it in a round of another width than the one before (stateful path)."""
    rest_ms: float = 0.0
    """Per round, neither draft nor verify."""
    rest_proposal_ms: float = 0.0
    """More of it for each proposal (the engine's own work around a draft step)."""
    rest_mismatch_ms: float = 0.0
    """More of it in a round with a refused proposal (the KV trim of the stateful path)."""
    path: str = "cb"
    budget: int = 128
    """max_new_tokens; the first one comes from the prefill."""
    alpha: float | None = None
    """Chance that a proposal is accepted, given that all before it in its round were."""
    conditional: tuple[float, ...] = ()
    """The same by place in the round, where it was measured; the last goes on. Wins over alpha."""
    bits: str | None = None
    """Agreement string; positions unseen in it fall back to conditional or alpha."""
    catch_up: float | None = None
    """Draft inferences more in the round after one that was accepted whole. None: 1 on the stateful path,
    where the draft has not seen the last token; 0 on cb, where its first step takes two tokens at once."""
    draft_first_ms: float = 0.0
    """What a round's first proposal costs more than one in full swing; of the next ones each costs `WARMING`
    of what the one before cost more."""
    first_round_ms: float = 0.0
    """What a call costs more than its rounds: the draft's prefill in round 1, cut rounds at the end."""
    verify_ms: tuple[tuple[int, float], ...] = ()
    """Measured verify times, (proposals, ms), ascending; they win over base and slope, which go on beyond
    the measured widths."""
    provenance: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Field name -> where its value came from (measured, fitted, default, edited ...)."""

    @property
    def catch_up_inferences(self) -> float:
        """`catch_up`, or the path's default."""
        return self.catch_up if self.catch_up is not None else float(self.rule == "stateful")

    @property
    def rule(self) -> Rule:
        """The round rule of the path."""
        return rule_of(self.path)

    def edited(self, **values: object) -> Params:
        """A copy with some terms replaced and marked `edited`.

        An edited alpha drops what would win over it (bits, conditional), an edited verify base or slope
        drops the verify table.
        """
        if "alpha" in values:
            values = {"bits": None, "conditional": (), **values}
        if values.keys() & {"verify_base_ms", "verify_slope_ms"}:
            values = {"verify_ms": (), **values}
        marks = {**self.provenance, **dict.fromkeys(values, "edited")}
        return replace(self, **values, provenance=MappingProxyType(marks))  # type: ignore[arg-type]


class RoundBudget(NamedTuple):
    """Mean milliseconds of one round by where they go, and what a round yields."""

    draft_ms: float
    verify_ms: float
    rest_ms: float
    tokens: float
    proposals: float

    @property
    def total_ms(self) -> float:
        """Mean time of a round."""
        return self.draft_ms + self.verify_ms + self.rest_ms


def verify_at(params: Params, widths: Floats) -> Floats:
    """Verify time of rounds that propose `widths` tokens: interpolated in the measured table, else linear."""
    linear = params.verify_base_ms + params.verify_slope_ms * widths
    if not params.verify_ms:
        return np.asarray(linear)
    at = np.array([width for width, _ in params.verify_ms], dtype=float)
    ms = np.array([value for _, value in params.verify_ms])
    beyond = params.verify_slope_ms * (np.minimum(widths - at[0], 0.0) + np.maximum(widths - at[-1], 0.0))
    return np.asarray(np.interp(widths, at, ms) + beyond)


def profile(params: Params, nat: int) -> Profile:
    """The counts of one call at this NAT, replayed or expected. Cached: editing a time costs nothing.

    Raises:
        ValueError: neither bits nor an acceptance is given, the path does not speculate, NAT is below 1, or
            the budget leaves no token for a round.
    """
    if nat < 1 or params.budget < 2:
        raise ValueError(f"NAT {nat} with a budget of {params.budget} tokens has no rounds")
    return _profile(params.bits, params.conditional, params.alpha, params.rule, nat, params.budget)


@lru_cache(maxsize=4096)
def _profile(
    bits: str | None, conditional: tuple[float, ...], alpha: float | None, rule: Rule, nat: int, budget: int
) -> Profile:
    if bits is None and not conditional and alpha is not None:
        return _single(chance.expected_many(np.array([alpha]), rule, nat, budget))
    by_place = np.array(conditional or ((alpha,) if alpha is not None else ()), dtype=float)
    if bits is not None:
        rounds = replay(bits, rule, nat, budget)
        if _all_seen(bits, rounds):
            return chance.counted(rounds, rule, nat, budget)
        if not by_place.size:
            by_place = np.array([after_one(bits)])
        accept = chance.accept_matrix(bits, budget, widest(rule, nat), by_place)
        return _single(chance.expected(accept, rule, nat, budget))
    if not by_place.size:
        raise ValueError("an acceptance is needed: bits, conditional or alpha")
    return _single(chance.expected(by_place[None, :], rule, nat, budget))


def after_one(bits: str) -> float:
    """P(1 | the bit before is 1), from the bits seen, with half a pseudo-count a side.

    Unseen positions of a traced string always follow an accepted one, so this and not the mean rate stands
    for them.
    """
    ones = sum(a == b == "1" for a, b in pairwise(bits))
    zeros = sum(a == "1" and b == "0" for a, b in pairwise(bits))
    return (ones + 0.5) / (ones + zeros + 1.0)


def _all_seen(bits: str, rounds: Rounds) -> bool:
    """Whether every bit that decided a round of a replay is seen: then the replay is exact."""
    for position, c, m in zip(rounds.positions, rounds.proposals, rounds.accepted, strict=True):
        judged = min(m + 1, c)
        looked = bits[position : position + judged]
        if len(looked) < judged or looked.strip("01"):
            return False
    return True


def _single(many: Profile) -> Profile:
    return many.at(0)


def total_ms(params: Params, counts: Profile) -> Floats:
    """Time of all rounds for the given counts (of any shape)."""
    widths = np.arange(counts.by_width.shape[-1], dtype=float)
    return np.asarray(
        params.draft_ms * (counts.proposals + params.catch_up_inferences * counts.caught_up)
        + params.draft_first_ms * counts.warmed
        + counts.by_width @ verify_at(params, widths)
        + params.verify_change_ms * counts.changed
        + params.rest_ms * counts.rounds
        + params.rest_proposal_ms * counts.proposals
        + params.rest_mismatch_ms * counts.mismatched
        + params.first_round_ms
    )


def speedup(params: Params, nat: int) -> float:
    """Predicted speed-up at this NAT; NAT 0 is the target alone, 1.0.

    Raises:
        ValueError: as `profile`.
    """
    if nat == 0:
        return 1.0
    counts = profile(params, nat)
    return float(counts.tokens * params.target_ms / total_ms(params, counts))


def curve(params: Params, nats: Iterable[int]) -> list[tuple[int, float]]:
    """(NAT, predicted speed-up) for each NAT."""
    return [(nat, speedup(params, nat)) for nat in nats]


def round_budget(params: Params, nat: int) -> RoundBudget:
    """Where a mean round's time goes at this NAT (the first round's extra is spread over all)."""
    counts = profile(params, nat)
    rounds = float(counts.rounds)
    whole = float(total_ms(params, counts))
    verify = float(counts.by_width @ verify_at(params, np.arange(len(counts.by_width), dtype=float)))
    verify += params.verify_change_ms * float(counts.changed)
    without_draft = replace(params, draft_ms=0.0, draft_first_ms=0.0)
    draft = whole - float(total_ms(without_draft, counts))
    return RoundBudget(
        draft / rounds,
        verify / rounds,
        (whole - draft - verify) / rounds,
        float(counts.tokens_per_round),
        float(counts.proposals_per_round),
    )
