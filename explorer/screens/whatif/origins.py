"""What a base says beside its numbers: where each came from, and the row's own mean round. Pure."""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.screens.whatif.scenario import TERMS, Origin, Word
from sweeps.costmodel.answers import Measured
from sweeps.costmodel.cases import Case
from sweeps.costmodel.evidence import Source
from sweeps.costmodel.params import RoundBudget
from sweeps.costmodel.roundtable import RoundTable
from sweeps.costmodel.terms import Fit, Prior

MOVED: Final = 2.0
"""Prior sds by which rows must have moved a term that they did not narrow."""
TAUGHT: Final = 0.8
"""A term whose sd is above this share of what was assumed beforehand: the rows say next to nothing of it."""


def measured_round(case: Case, rounds: RoundTable) -> Measured | None:
    """A row's mean round, from its rounds; None without acceptance."""
    count = rounds.number.size
    if not count or case.tokens_per_round is None:
        return None
    timed = bool(np.isfinite(rounds.draft).all() and np.isfinite(rounds.verify).all())
    proposals = float(rounds.c.sum())
    rest = rounds.wall - rounds.draft - rounds.verify
    return Measured(
        speedup=case.speedup,
        tokens_per_round=case.tokens_per_round,
        proposals_per_round=proposals / count,
        draft_ms=float(rounds.draft.sum()) / proposals if timed and proposals else None,
        verify_ms=float(rounds.verify.sum()) / count if timed else None,
        rest_ms=float(rest.sum()) / count if timed else None,
        noise_rel=case.noise_rel,
        diverged_at=case.same_prefix if case.same_prefix is not None and not case.same_text else None,
    )


def budget_of(found: Measured) -> RoundBudget | None:
    """A measured mean round as a round budget; None without the library's own times."""
    if found.draft_ms is None or found.verify_ms is None or found.rest_ms is None:
        return None
    return RoundBudget(
        found.draft_ms * found.proposals_per_round,
        found.verify_ms,
        found.rest_ms,
        found.tokens_per_round,
        found.proposals_per_round,
    )


def alone_of(case: Case) -> float | None:
    """The draft's time standing alone; next to nothing for prompt lookup, which has no draft."""
    return 1e-6 if case.kind == "prompt-lookup" else case.draft_alone_ms


def origins_of(fit: Fit, prior: Prior, source: Source, target: str) -> dict[str, Origin]:
    """One origin a field; a term that the rows say next to nothing of counts as a default."""
    word: Word = "measured" if fit.rounds else "fitted"
    if fit.source.startswith("borrowed"):
        word = "borrowed"
    elif fit.source.startswith("default"):
        word = "default"
    origins: dict[str, Origin] = {}
    for index, (name, term) in enumerate(TERMS.items()):
        error = fit.se(term)
        sd = float(prior.sd[index])
        moved = abs(fit[term] - float(prior.mean[index])) > MOVED * sd
        known = word in ("borrowed", "default") or error < TAUGHT * sd or moved
        here: Word = word if known else "default"
        words = fit.source if known else f"the rows say next to nothing of it; {prior.source}"
        origins[name] = Origin(here, words, error)
    origins["first_round_ms"] = Origin(word if fit.rounds else "default", fit.source)
    origins["target_ms"] = Origin("measured", target)
    acceptance: Word = "default" if source.words.startswith("a guess") else "measured"
    if source.words.startswith("by place, pooled"):
        acceptance = "borrowed"
    origins["acceptance"] = Origin(acceptance, source.words)
    return origins
