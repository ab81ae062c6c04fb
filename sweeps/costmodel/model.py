"""The model as it stands when some rows have been run: fitted terms, calibration and evidence together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from sweeps.costmodel.answers import TIE
from sweeps.costmodel.calibrate import Calibration, Donor, Probes, update, widened
from sweeps.costmodel.cases import Case, cases, of_runs
from sweeps.costmodel.evidence import Evidence, Source, Strings, Traced, traces
from sweeps.costmodel.params import Params, total_ms
from sweeps.costmodel.predict import Prediction, Spread, from_counts, model_rel, params_from
from sweeps.costmodel.roundtable import RoundTable, round_table, scaled
from sweeps.costmodel.rules import rule_of
from sweeps.costmodel.terms import DRAFTS, Acceptance, Fit, Key, Prior, features, fit, pooled

if TYPE_CHECKING:
    import polars as pl

NO_PROBES: Final = Probes()
SD_OF_MAD: Final = 1.4826
NATS: Final = range(1, 11)
"""NATs among which the best is looked for."""


@dataclass(frozen=True)
class Model:
    """Fitted on some cases; predicts any."""

    calibration: Calibration
    fits: Mapping[Key, Fit]
    evidence: Evidence
    noise_rel: float
    """Median relative standard error of the measured speed-ups."""
    rep_rel: float = 0.0
    """Median relative sd of a plain run's reps, or of its pairs: the machine's mood in one process, as a
    probe is timed in."""
    paired: bool = False
    """Rows had their baseline beside them."""

    def fit_of(self, case: Case) -> Fit:
        """The pair's own fit, or what the other pairs lend, beside the case's own baseline."""
        own = self.fits.get(case.key)
        if own is not None:
            return own.beside(case.target_ms)
        lent = self.calibration.borrow(case.key, case.target_ms, _alone(case), case.draft_prefill_ms)
        loop = self.calibration.loop(case.key)
        mood = self.rep_rel / math.sqrt(loop.readings if loop else 1)
        if not self.paired:
            return replace(lent, row_rel=math.hypot(lent.row_rel, mood))
        # Verify times come from rows that had their baseline beside them: only the draft's are a probe's.
        cov = lent.cov.copy()
        drafts = mood * np.abs(lent.theta[DRAFTS])
        cov[DRAFTS, DRAFTS] += np.outer(drafts, drafts)
        return replace(lent, cov=cov)

    def params(self, case: Case, source: Source) -> tuple[Params, Fit]:
        """Terms for a case, with a provenance for each."""
        terms = self.fit_of(case)
        notes = {"target_ms": "measured: the baseline of the same path", "acceptance": source.words}
        return params_from(terms, case.target_ms, case.key.path, case.budget, notes), terms

    def predict(self, case: Case) -> Prediction:
        """The case's speed-up, from everything but itself."""
        source = self.evidence.source(case)
        params, terms = self.params(case, source)
        spread = Spread(
            target=0.0,  # the baseline is the same one in the measured speed-up: its noise is in `noise`
            acceptance=source.rel,
            noise=case.noise_rel or self.noise_rel,
            model=model_rel(terms),
        )
        return from_counts(params, source.counts, spread, terms)

    def best_nat(self, case: Case) -> tuple[int, float]:
        """(NAT, speed-up): the smallest within 1 % of the best for this case's pair and prompt; 0: none."""
        scored = {0: 1.0}
        for nat in NATS:
            source = self.evidence.source(case, nat)
            params, _ = self.params(case, source)
            scored[nat] = float(source.counts.tokens * params.target_ms / total_ms(params, source.counts))
        top = max(scored.values())
        nat = min(n for n, value in scored.items() if value >= top * (1 - TIE))
        return nat, scored[nat]


def _alone(case: Case) -> float | None:
    # Prompt lookup has no draft: a vanishing time keeps every draft term at 0.
    return 1e-6 if case.kind == "prompt-lookup" else case.draft_alone_ms


class Tables(NamedTuple):
    """What a validation reads, made once."""

    cases: list[Case]
    rounds: Mapping[tuple[str, str, str], RoundTable]
    traced: Mapping[tuple[str, str, str], Traced]
    rep_rel: float
    """As `Model.rep_rel`."""
    paired: bool = False


def tables(runs: pl.DataFrame, rounds: pl.DataFrame) -> Tables:
    """Cases, their rounds as arrays, and the strings that their rounds reveal."""
    found = cases(runs)
    frame = of_runs(rounds, found)
    whole = round_table(frame)
    places = _places(frame)
    parts: dict[tuple[str, str, str], RoundTable] = {}
    for place, index in places.items():
        parts[place] = RoundTable(*(column[index] for column in whole))
    budgets = {(c.sweep, c.run, c.prompt): c.budget for c in found}
    return Tables(found, parts, traces(frame, budgets), _rep_rel(runs), bool(runs["pace"].count()))


def _rep_rel(runs: pl.DataFrame) -> float:
    import polars as pl

    noisy = runs.filter((pl.col("kind") == "plain") & (pl.col("status") == "ok") & (pl.col("tok_s") > 0))
    # A probe is its own yardstick, as a pair is.
    paired = noisy.select((SD_OF_MAD * pl.col("rel_mad")).filter(pl.col("pace").is_not_null())).to_series()
    alone = noisy.select((pl.col("tok_s_sd") / pl.col("tok_s")).drop_nulls().drop_nans()).to_series()
    each = paired.drop_nulls() if paired.drop_nulls().len() else alone
    return float(np.median(each.to_numpy())) if each.len() else 0.0


def _places(frame: pl.DataFrame) -> dict[tuple[str, str, str], Any]:
    """Row numbers of `round_table` by (sweep, run, prompt): the same order as it sorts by."""
    import polars as pl

    order = frame.filter(pl.col("round") >= 1).sort("sweep", "run", "prompt", "rep", "round")
    rows = order.with_row_index("row").group_by("sweep", "run", "prompt", maintain_order=True).agg("row")
    return {(s or "", r or "", p or ""): np.array(index) for s, r, p, index in rows.iter_rows()}


def train(
    known: Tables,
    chosen: Sequence[Case],
    strings: Strings | None = None,
    probes: Probes = NO_PROBES,
) -> Model:
    """The model as it stands when only the chosen cases have been run (and the probes)."""
    evidence = Evidence(chosen, known.traced, strings or {}, probes.texts)
    fits: dict[Key, Fit] = {}
    donors = list(probes.donors)
    calibration = Calibration(probes.donors, probes.loops)
    for key in dict.fromkeys(c.key for c in chosen):
        mine = [c for c in chosen if c.key == key]
        alone = next((a for c in mine if (a := _alone(c)) is not None), None)
        level = float(np.mean([c.target_ms for c in mine]))
        prior = calibration.prior(key, level, alone)
        shares = mine[0].shares_device
        parts = [
            # At a pace of 1 the baseline beside the row took the row's T a token.
            scaled(t, level / c.target_ms * t.pace, level / c.target_ms * t.pace if shares else 1.0)
            for c in mine
            if (t := known.rounds.get((c.sweep, c.run, c.prompt))) is not None
        ]
        if parts:
            joined = RoundTable(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
            words = f"measured: rounds of NAT {_listed(mine)}"
            learned = fit(joined, prior, level, words, fixed=rule_of(key.path) == "cb")
            learned = widened(learned, calibration.shape(key.target, key.target_device), level)
            fits[key] = replace(learned, draft_level_too=shares)
        else:
            fits[key] = _from_totals(mine, prior, evidence)
        donors.append(Donor(key, fits[key], level, alone))
        calibration = Calibration(tuple(donors), probes.loops)
    noise = [c.noise_rel for c in chosen if c.noise_rel > 0]
    noise_rel = float(np.median(noise)) if noise else 0.02
    return Model(calibration, fits, evidence, noise_rel, known.rep_rel, known.paired)


def _listed(some: Sequence[Case]) -> str:
    return ", ".join(str(nat) for nat in sorted({c.nat for c in some}))


def _from_totals(mine: Sequence[Case], prior: Prior, evidence: Evidence) -> Fit:
    rows = []
    for case in mine:
        counts = evidence.source(case).counts
        rows.append(
            (features(counts), counts.tokens * case.target_ms / case.speedup, max(case.noise_rel, 0.005))
        )
    return update(prior, rows)


@dataclass(frozen=True)
class Terms:
    """All that the rows say about one (target, device, draft, device, path)."""

    key: Key
    fit: Fit
    """Draft, verify and rest terms with their covariance."""
    target_ms: Mapping[str, float]
    """Prompt -> T of the baseline on the same path."""
    draft_alone_ms: float | None
    """The draft standing alone on its device, per token."""
    acceptance: Acceptance
    """By place in the round, with counts."""
    emulated: bool

    @property
    def in_loop_ratio(self) -> float | None:
        """lambda: draft time per proposal in the loop over standing alone; None without such a row."""
        return self.fit["draft"] / self.draft_alone_ms if self.draft_alone_ms else None


def measured_terms(known: Tables) -> list[Terms]:
    """The terms of every pair that has rounds."""
    model = train(known, known.cases)
    out = []
    for key, learned in model.fits.items():
        mine = [c for c in known.cases if c.key == key]
        seen = [t.acceptance for c in mine if (t := known.traced.get((c.sweep, c.run, c.prompt))) is not None]
        if not learned.rounds:
            continue
        out.append(
            Terms(
                key=key,
                fit=learned,
                target_ms={c.prompt: c.target_ms for c in mine},
                draft_alone_ms=next((c.draft_alone_ms for c in mine if c.draft_alone_ms), None),
                acceptance=pooled(seen),
                emulated=any(c.emulated for c in mine),
            )
        )
    return out
