"""One configuration with its terms, as the model gives them and as a person changed them. Pure values.

A `Base` is what the workbench makes of a row; a `Scenario` is a base with edits. Counts of rounds come from
the base's sources (replayed strings, pooled acceptance) until the acceptance is edited; then from alpha.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from explorer.screens.whatif.fields import BY_NAME
from sweeps.costmodel import chance
from sweeps.costmodel.answers import Cause
from sweeps.costmodel.cases import Case
from sweeps.costmodel.chance import Profile
from sweeps.costmodel.evidence import Source, padded
from sweeps.costmodel.params import Params, RoundBudget, total_ms, verify_at
from sweeps.costmodel.predict import Prediction, Spread, chance_rel, from_counts, model_rel
from sweeps.costmodel.rules import Rule
from sweeps.costmodel.terms import NAMES, Fit

Word = Literal["measured", "fitted", "borrowed", "default", "edited", "chosen", "none"]
"""Where a value came from. `default` is also said of a term about which the rows taught nothing."""

NATS: Final = range(1, 17)
"""NATs that a base holds counts for."""

TERMS: Final = {
    "draft_ms": "draft",
    "draft_first_ms": "draft_first",
    "catch_up": "catch_up",
    "verify_base_ms": "verify_base",
    "verify_slope_ms": "verify_slope",
    "verify_change_ms": "verify_change",
    "rest_ms": "rest",
    "rest_proposal_ms": "rest_proposal",
    "rest_mismatch_ms": "rest_mismatch",
}
"""Field -> term of `sweeps.costmodel.terms`."""


@dataclass(frozen=True)
class Origin:
    """Where a value came from: one word, the whole story, and its standard error where it has one."""

    word: Word
    words: str = ""
    error: float | None = None


@dataclass(frozen=True)
class Choice:
    """Which draft on which device, on which path."""

    draft: str
    draft_device: str
    path: str
    alone_ms: float | None = None
    """Of the draft standing alone on that device."""

    @property
    def name(self) -> str:
        """`draft-s on CPU`."""
        return f"{self.draft} on {self.draft_device}"


@dataclass(frozen=True)
class MeasuredPoint:
    """A measured speed-up, with its 95 % interval where there is one."""

    nat: int
    speedup: float
    lo: float | None
    hi: float | None


@dataclass(frozen=True)
class Base:
    """What is known of one configuration before anything is edited."""

    title: str
    case: Case
    """Its `speedup` is NaN where nothing was measured."""
    choice: Choice
    params: Params
    fit: Fit
    sources: Mapping[int, Source]
    """NAT -> counts and where they come from."""
    noise: float
    """Relative sd of a measurement beside the prediction."""
    origins: Mapping[str, Origin]
    points: tuple[MeasuredPoint, ...] = ()
    """Measured at any NAT on this pair, path and prompt."""
    measured: MeasuredPoint | None = None
    """The row's own."""
    measured_round: RoundBudget | None = None
    """The row's own mean round."""
    causes: tuple[Cause, ...] = ()
    """Why the row's own measurement is not what the terms say."""
    extra_construct_s: float | None = None
    notes: tuple[str, ...] = ()
    placement: tuple[str, ...] = ()
    """Which draft on which device wins, and how sure that is."""


@dataclass(frozen=True)
class Scenario:
    """A base, a NAT and edits (field name -> value)."""

    base: Base
    nat: int
    edits: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def edited(self, name: str, value: float) -> Scenario:
        """A copy with one field changed; a value that is the base's own is no edit."""
        if name == "nat":
            return replace(self, nat=int(value))
        edits = {**self.edits, name: value}
        if name in self.edits and value == self.own(name):
            del edits[name]
        return replace(self, edits=MappingProxyType(edits))

    def reset(self, name: str | None = None) -> Scenario:
        """A copy without one edit, or without all of them and at the row's own NAT."""
        if name is None or name == "nat":
            nat = self.base.case.nat
            return replace(self, nat=nat, edits=MappingProxyType({} if name is None else dict(self.edits)))
        return replace(self, edits=MappingProxyType({k: v for k, v in self.edits.items() if k != name}))

    @property
    def is_edited(self) -> bool:
        """Anything but the row's own terms and NAT."""
        return bool(self.edits) or self.nat != self.base.case.nat

    def own(self, name: str) -> float:
        """The base's value of a field; NaN where it has none."""
        if name == "nat":
            return float(self.base.case.nat)
        if name == "acceptance":
            return round(self._alpha_like, 4)
        if name == "extra_construct_s":
            known = self.base.extra_construct_s
            return float("nan") if known is None else known
        if name == "catch_up":
            return self.base.params.catch_up_inferences
        return float(getattr(self.base.params, name))

    def value(self, name: str) -> float:
        """The field's value now."""
        if name == "nat":
            return float(self.nat)
        return self.edits.get(name, self.own(name))

    def origin(self, name: str) -> Origin:
        """Where the value came from."""
        if name in self.edits:
            own = self.own(name)
            was = "" if own != own else f"; it was {BY_NAME[name].show(own)}"
            return Origin("edited", f"edited{was}")
        if name == "nat":
            same = self.nat == self.base.case.nat
            return Origin("chosen", "the row's own" if same else f"the row has {self.base.case.nat}")
        return self.base.origins.get(name, Origin("none"))

    @cached_property
    def params(self) -> Params:
        """The terms with the edits. An edited verify term moves the measured widths with it."""
        own = self.base.params
        values: dict[str, object] = {k: v for k, v in self.edits.items() if k not in _NO_PARAMS}
        moved = {"verify_base_ms", "verify_slope_ms"} & values.keys()
        if moved and own.verify_ms:
            up = self.value("verify_base_ms") - own.verify_base_ms
            tilt = self.value("verify_slope_ms") - own.verify_slope_ms
            values["verify_ms"] = tuple((width, ms + up + tilt * width) for width, ms in own.verify_ms)
        if "acceptance" in self.edits:
            values["alpha"] = self.edits["acceptance"]
        return own.edited(**values) if values else own

    @cached_property
    def _alpha_like(self) -> float:
        """The one alpha that gives the base's acceptance at this NAT."""
        counts = self.base.sources[self.nat].counts
        grid = alpha_grid(self.base.params.rule, self.nat, self.base.params.budget)
        return float(np.interp(float(counts.acceptance), grid.acceptance, ALPHAS))

    def counts(self, nat: int) -> Profile:
        """The rounds of a call at this NAT."""
        if "acceptance" not in self.edits:
            return self.base.sources[nat].counts
        counts = counts_of(self.edits["acceptance"], self.params.rule, nat, self.params.budget)
        return padded(counts, nat) if self.base.case.kind == "prompt-lookup" else counts

    def prediction(self, nat: int) -> Prediction:
        """Speed-up with its 90 % interval. What a person sets is taken as known."""
        counts = self.counts(nat)
        acceptance = self.base.sources[nat].rel
        if "acceptance" in self.edits:
            acceptance = float(chance_rel(counts))
        cov = self.base.fit.cov.copy()
        known = [NAMES.index(term) for name, term in TERMS.items() if name in self.edits]
        cov[known, :] = 0.0
        cov[:, known] = 0.0
        model = model_rel(self.base.fit)
        spread = Spread(target=0.0, acceptance=acceptance, noise=self.base.noise, model=model, terms=cov)
        return from_counts(self.params, counts, spread, self.base.fit)

    def round_budget(self, nat: int) -> RoundBudget:
        """Where a mean round's time goes; the first round's extra is in the rest."""
        return budget_of(self.params, self.counts(nat))


_NO_PARAMS: Final = frozenset({"acceptance", "extra_construct_s"})
ALPHAS: Final = np.linspace(0.0, 1.0, 201)


def budget_of(params: Params, counts: Profile) -> RoundBudget:
    """`sweeps.costmodel.params.round_budget` for counts that are given."""
    rounds = float(counts.rounds)
    whole = float(total_ms(params, counts))
    verify = float(counts.by_width @ verify_at(params, np.arange(counts.by_width.shape[-1], dtype=float)))
    draft = whole - float(total_ms(replace(params, draft_ms=0.0, draft_first_ms=0.0), counts))
    return RoundBudget(
        draft / rounds,
        verify / rounds,
        (whole - draft - verify) / rounds,
        float(counts.tokens_per_round),
        float(counts.proposals_per_round),
    )


@lru_cache(maxsize=128)
def alpha_grid(rule: Rule, nat: int, budget: int) -> Profile:
    """Expected counts at each of `ALPHAS`."""
    return chance.expected_many(ALPHAS, rule, nat, budget)


@lru_cache(maxsize=4096)
def counts_of(alpha: float, rule: Rule, nat: int, budget: int) -> Profile:
    """Expected counts at one alpha; quick, for stepping through alphas."""
    # Above so many alphas the exact counts at a few nodes are kept and interpolated (to 1e-6).
    many = chance.expected_many(np.full(chance.NODES + 1, alpha), rule, nat, budget)
    return many.at(0)
