"""Where the rounds of a configuration not yet run come from: the acceptance sources, best first.

1. The string of the same target, draft and prompt over the baseline's text: traced from runs on that path
   (as far as their text is the baseline's), filled up by a teacher-forced pass over it. Only where there is
   neither, strings of other texts or paths, whose counts are averaged.
2. Acceptance by place, pooled over the other prompts of the same target and draft.
3. Only in a table without any rounds: the acceptance r that the row itself reports, inverted through the
   exact rule. That is no prediction of the acceptance, and `acceptance_from` says so.
4. Acceptance by place pooled over everything else: a guess, with an interval to match.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sweeps.costmodel import lookup, rollback
from sweeps.costmodel.agreement import UNSEEN, chance_of, completed, merge, rounding_of, soften, trace
from sweeps.costmodel.cases import BASELINE_PATH, Case
from sweeps.costmodel.chance import Floats, Profile, expected_many
from sweeps.costmodel.lookup import Text, Texts
from sweeps.costmodel.params import Params, after_one, profile
from sweeps.costmodel.predict import chance_rel, mean_profile
from sweeps.costmodel.rules import Rounds, Rule, rule_of
from sweeps.costmodel.terms import Acceptance, pooled

if TYPE_CHECKING:
    import polars as pl

    from sweeps.events.types import Agreement
    from sweeps.store.state import SweepState

LESS_ROLLBACK = (
    "teacher-forced over the baseline's text, less what an NPU draft loses after refused proposals"
)
OTHER_TEXT = "teacher-forced over the text of the other engine"
DIVERGENCE = 0.25
"""Share of a text that lies behind its divergence from the baseline's, before any is seen."""
BETWEEN_PROMPTS = 0.10
"""Relative sd of the number of rounds from prompt to prompt, beyond chance, before any is seen."""
UNKNOWN_DRAFT = 0.20
"""The same for a draft of which nothing is known."""

Place = tuple[str, str, str]
"""(sweep, run, prompt)."""
Strings = Mapping[tuple[str, str, str, str], str]
"""(target, draft, prompt, path of the baseline: cb or sdpa) -> teacher-forced string over its text. The two
engines' texts part at near ties, so a string over the one says little about rows on the other."""


class Traced(NamedTuple):
    """What one run's rounds on one prompt reveal."""

    bits: str
    acceptance: Acceptance


@dataclass(frozen=True)
class Source:
    """Counts for a prediction, the relative sd that they add, and in words where they are from."""

    counts: Profile
    rel: float
    words: str


def traces(rounds: pl.DataFrame, budgets: Mapping[Place, int]) -> dict[Place, Traced]:
    """The string and the counts by place of every (sweep, run, prompt) with rounds; reps are merged.

    Args:
        rounds: the rounds frame.
        budgets: max_new_tokens of the runs wanted; others are left out.
    """
    import polars as pl

    frame = (
        rounds.filter(
            (pl.col("round") >= 1) & pl.col("proposals").is_not_null() & pl.col("accepted").is_not_null()
        )
        .sort("sweep", "run", "prompt", "rep", "round")
        .group_by("sweep", "run", "prompt", "rep", maintain_order=True)
        .agg("position", "proposals", "accepted")
    )
    found: dict[Place, list[tuple[str, Acceptance]]] = {}
    for sweep, run, prompt, _, position, proposals, accepted in frame.iter_rows():
        place = (sweep or "", run or "", prompt or "")
        if place not in budgets:
            continue
        played = Rounds(tuple(position), tuple(proposals), tuple(accepted))
        found.setdefault(place, []).append((trace(played, budgets[place]), _by_place(played)))
    # Greedy reps repeat each other; where one did not, the majority of the reps stands for the run.
    return {
        place: Traced(merge(b for b, _ in many), pooled([a for _, a in many]))
        for place, many in found.items()
    }


def _by_place(rounds: Rounds) -> Acceptance:
    top = max(rounds.proposals, default=0)
    pairs = list(zip(rounds.proposals, rounds.accepted, strict=True))
    return Acceptance(
        tuple(sum(m > i for _, m in pairs) for i in range(top)),
        tuple(sum(m >= i and c > i for c, m in pairs) for i in range(top)),
    )


@dataclass(frozen=True)
class Evidence:
    """All that is known before a row is run."""

    train: Sequence[Case]
    traced: Mapping[Place, Traced]
    strings: Strings
    texts: Texts

    def source(self, case: Case, nat: int | None = None) -> Source:
        """Counts for a case, from everything but the case itself (its own r only where nothing else is).

        Args:
            nat: another NAT than the case's own.
        """
        own_nat, case = case.nat, case if nat is None else replace(case, nat=nat)
        if case.kind == "prompt-lookup":
            exact = self._lookup(case)
            if exact is not None:
                return exact
        rule = rule_of(case.key.path)
        forced = self._forced(case)
        if forced is not None and rollback.loses(case.key):
            # Rounds of such a draft reveal what it lost, too: the string is what it would do without.
            return self._rolled_back(case, forced)
        found = self._strings(case)
        if found:
            return self._replayed(case, rule, found)
        same = [
            t
            for c in self.train
            if (c.key.target, c.key.draft) == (case.key.target, case.key.draft)
            and (t := self._of(c)) is not None
        ]
        if same:
            return self._pooled(
                case, same, BETWEEN_PROMPTS, f"by place, pooled over {len(same)} other rows of the draft"
            )
        if case.acceptance is not None and not self.traced:
            alpha = alpha_from_acceptance(case.acceptance, rule, own_nat, case.budget)
            on = Params(1.0, 0.0, 1.0, path=rule, budget=case.budget, alpha=alpha)
            return Source(profile(on, case.nat), 0.01, "the row's own acceptance")
        rest = [t for c in self.train if c.kind == case.kind and (t := self._of(c)) is not None]
        if rest:
            return self._pooled(case, rest, UNKNOWN_DRAFT, "a guess: acceptance of the other drafts")
        return self._pooled(case, [Traced("", Acceptance((6,), (10,)))], UNKNOWN_DRAFT, "a guess: alpha 0.6")

    def _of(self, case: Case) -> Traced | None:
        return self.traced.get((case.sweep, case.run, case.prompt))

    def _lookup(self, case: Case) -> Source | None:
        known = self.texts.get((case.key.target, case.prompt))
        if known is None or case.max_ngram is None or len(known.text) < case.budget:
            return None
        rounds = lookup.replay(known.prompt, known.text[: case.budget], case.nat, case.max_ngram)
        counts = lookup.counted(rounds, case.nat)
        return Source(
            counts,
            self._divergence(case) * float(chance_rel(counts)),
            "the n-gram search replayed on the text",
        )

    def _forced(self, case: Case) -> str | None:
        """The scored string over the very text that the case is compared with."""
        key = case.key
        return self.strings.get((key.target, key.draft, case.prompt, BASELINE_PATH[key.path]))

    def _strings(self, case: Case) -> list[tuple[float, str, str]]:
        """(weight, string, words) of the same target, draft and prompt; the nearest path and device only."""
        alike = [
            c
            for c in self.train
            if (c.key.target, c.key.draft, c.prompt) == (case.key.target, case.key.draft, case.prompt)
            and self._of(c) is not None
        ]
        forced = self._forced(case)
        near = [c for c in alike if c.key == case.key] or [c for c in alike if c.key.path == case.key.path]
        # A run whose text leaves the baseline's tells the truth about it up to there.
        true_text = [c for c in near if c.same_prefix is not None]
        seen = merge(
            [t.bits for c in true_text if (t := self._of(c)) is not None], [c.same_prefix for c in true_text]
        )
        if forced is not None or any(c.same_text for c in true_text):
            bits = completed(seen, forced or "")
            words = ["traced on this path"] if seen.strip(UNSEEN) else []
            words += ["teacher-forced over the baseline's text"] if forced is not None else []
            return [(1.0, bits, " and ".join(words))]
        if near:
            return [(1.0, t.bits, f"traced at NAT {c.nat}") for c in near if (t := self._of(c)) is not None]
        name = (case.key.target, case.key.draft, case.prompt)
        other = next((bits for (*key, _), bits in self.strings.items() if tuple(key) == name), None)
        if other is not None:
            return [(1.0, other, OTHER_TEXT)]
        return [(1.0, t.bits, "traced on another path") for c in alike if (t := self._of(c)) is not None]

    def _replayed(self, case: Case, rule: Rule, found: Sequence[tuple[float, str, str]]) -> Source:
        parts = [on_string(bits, rule, case.nat, case.budget) for _, bits, _ in found]
        if case.kind == "prompt-lookup":
            parts = [padded(part, case.nat) for part in parts]
        weights = np.array([w for w, _, _ in found])
        counts = mean_profile(parts, weights)
        rounds = np.array([float(p.rounds) for p in parts])
        scatter = float(np.sqrt(np.average((rounds / float(counts.rounds) - 1) ** 2, weights=weights)))
        unseen = float(np.average([_unseen(bits) for _, bits, _ in found], weights=weights))
        loose = min(self._divergence(case) + unseen, 1.0)
        if any(words == OTHER_TEXT for _, _, words in found):
            loose = 1.0
        rel = float(np.hypot(scatter, np.sqrt(loose) * float(chance_rel(counts))))
        return Source(counts, rel, "; ".join(dict.fromkeys(words for _, _, words in found)))

    def _rolled_back(self, case: Case, bits: str) -> Source:
        counts, sd = rollback.expected_on(bits, case.nat, case.budget, after_one(bits))
        loose = min(self._divergence(case) + _unseen(bits), 1.0)
        own = sd / float(counts.rounds)
        return Source(counts, float(np.hypot(own, np.sqrt(loose) * float(chance_rel(counts)))), LESS_ROLLBACK)

    def _divergence(self, case: Case) -> float:
        """Share of the tokens behind a divergence, in the runs of this path, with a default worth 4 runs."""
        shares = [
            max(1.0 - c.same_prefix / c.budget, 0.0)
            for c in self.train
            if c.same_prefix is not None and c.key.path == case.key.path
        ]
        return (sum(shares) + 4 * DIVERGENCE) / (len(shares) + 4)

    def _pooled(self, case: Case, some: Sequence[Traced], between: float, words: str) -> Source:
        places = pooled([t.acceptance for t in some])
        on = Params(
            1.0, 0.0, 1.0, path=case.key.path, budget=case.budget, conditional=places.conditional or (0.6,)
        )
        counts = profile(on, case.nat)
        if case.kind == "prompt-lookup":
            counts = padded(counts, case.nat)
        return Source(counts, float(np.hypot(between, float(chance_rel(counts)))), words)


def on_string(bits: str, rule: Rule, nat: int, budget: int) -> Profile:
    """Counts on a string; what it leaves unseen is expected with P(1 | a 1 before)."""
    on = Params(1.0, 0.0, 1.0, path=rule, budget=budget, bits=bits)
    return profile(on, nat)


def padded(counts: Profile, nat: int) -> Profile:
    """Prompt lookup verifies NAT + 1 tokens in every round, match or no match."""
    by_width = np.zeros(nat + 1)
    by_width[nat] = float(counts.rounds)
    none = np.asarray(0.0)
    return Profile(counts.rounds, counts.full, none, none, by_width, counts.tokens)


def alpha_from_acceptance(r: float, rule: Rule, nat: int, budget: int) -> float:
    """The constant alpha that gives r = accepted / proposals under the exact rule and budget."""
    alpha, found = _acceptance_curve(rule, nat, budget)
    return float(np.interp(r, found, alpha))


@lru_cache(maxsize=64)
def _acceptance_curve(rule: Rule, nat: int, budget: int) -> tuple[Floats, Floats]:
    """(alphas, r at each): r grows with alpha."""
    alpha = np.linspace(0.0, 1.0, 2049)
    return alpha, expected_many(alpha, rule, nat, budget).acceptance


def _unseen(bits: str) -> float:
    """Share of the positions that chance decides; a near tie counts by how near it is."""
    chances = [chance_of(bit) for bit in bits[1:]]
    return sum(1.0 if p is None else 4 * p * (1 - p) for p in chances) / max(len(chances), 1)


def strings_of(state: SweepState) -> dict[tuple[str, str, str, str], str]:
    """`Strings` from the agreement runs of one sweep; the path is that of the run whose text was scored."""
    out = {}
    for (run, prompt), event in state.agreements.items():
        if run not in state.runs:
            continue
        scored = state.runs[run].run
        config = scored.config
        if config.draft is not None and event.bits:
            bits = event.bits
            if event.margins and _whole(event):
                bits = soften(bits, _gaps(event), rounding_of(scored.draft_properties))
            out[config.target, config.draft, prompt, _scored_path(state, run)] = bits
    return out


def longest(known: Strings, more: Strings) -> dict[tuple[str, str, str, str], str]:
    """Strings of two sweeps; the later one's win unless they are shorter: a string serves smaller budgets."""
    kept = {key: bits for key, bits in more.items() if len(bits) >= len(known.get(key, ""))}
    return {**known, **kept}


def texts_of(state: SweepState) -> Texts:
    """What a replay of prompt lookup needs, from the agreement runs over texts of continuous batching."""
    return {
        (state.runs[run].run.config.target, prompt): Text(event.prompt_ids, event.token_ids)
        for (run, prompt), event in state.agreements.items()
        if run in state.runs and event.prompt_ids and event.token_ids and _scored_path(state, run) == "cb"
    }


def _scored_path(state: SweepState, run: str) -> str:
    """The baseline path of the text that an agreement run scored."""
    text = state.runs.get(state.runs[run].run.baseline or "")
    return "sdpa" if text is not None and text.run.config.attention_backend == "SDPA" else "cb"


def _whole(event: Agreement) -> bool:
    """Whether all its lists are of one length, as in every event that was not tampered with."""
    lists = (event.bits, event.token_ids, event.best, event.second, event.margins)
    return len({len(each) for each in lists}) == 1


def _gaps(event: Agreement) -> list[float]:
    """By position, the logit of the text's token less the best other one (minus infinity: not among the
    two best)."""
    return [
        margin if best == token else -margin if second == token else -math.inf
        for token, best, second, margin in zip(
            event.token_ids, event.best, event.second, event.margins, strict=True
        )
    ]
