"""Measured terms: where the time of a round goes, learned from the rounds of runs.

For one (target, device, draft, device, path) three small linear models are fitted to rounds 2 and later
(round 1 also holds the draft's prefill and is kept apart):

    draft_ms  = draft_first warming(c) + draft c + catch_up [the round before was accepted whole]
    verify_ms = verify_base + verify_slope c + verify_change [another c than the round before]
    rest_ms   = rest + rest_proposal c + rest_mismatch [a proposal was refused]

Each is a Bayesian linear regression with Huber weights: what rounds of one width cannot tell apart (a fixed
NAT has but one c, except at the end of the budget) stays near the defaults and gets a wide error instead
of a wild value. What the robust fit leaves out on average (rare slow rounds) is put back into `rest` as the
median over reps of the mean residual, so a call's total agrees with the measured one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sweeps.costmodel.chance import Floats, Profile
from sweeps.costmodel.roundtable import RoundTable, columns_of
from sweeps.costmodel.rules import rule_of

NAMES: Final = (
    "draft",
    "draft_first",
    "catch_up",
    "verify_base",
    "verify_slope",
    "verify_change",
    "rest",
    "rest_proposal",
    "rest_mismatch",
)
"""The terms in milliseconds, in the order of `Fit.theta`."""

CATCH_UP: Final = NAMES.index("catch_up")
CHANGE: Final = NAMES.index("verify_change")
REST: Final = NAMES.index("rest")
REST_PROPOSAL: Final = NAMES.index("rest_proposal")
DRAFTS: Final = slice(0, NAMES.index("verify_base"))
VERIFIES: Final = slice(NAMES.index("verify_base"), REST)
VERIFY_LINE: Final = slice(NAMES.index("verify_base"), NAMES.index("verify_slope") + 1)
RESTS: Final = slice(REST, len(NAMES))

LOOKUP: Final = "prompt lookup"
"""What stands for the draft in a `Key` of prompt lookup."""
HUBER = 1.5
TABLE_WEIGHT = 8.0
"""Rounds at a width that count as much as the straight line when the verify table is made."""


class Key(NamedTuple):
    """What terms belong to."""

    target: str
    target_device: str
    draft: str
    draft_device: str
    path: str


@dataclass(frozen=True)
class Prior:
    """What is assumed before rounds are seen: mean and sd of each term, in milliseconds."""

    mean: Floats
    sd: Floats
    source: str = "default"


@dataclass(frozen=True)
class Fit:
    """Terms with their covariance."""

    theta: Floats
    cov: Floats
    rounds: int
    """Rounds that the fit saw."""
    widths: tuple[int, int]
    """Smallest and largest number of proposals among them that matter (1 % of the rounds each)."""
    table: tuple[tuple[int, float], ...] = ()
    """Verify time by width: the line, moved towards the rounds measured at that width."""
    first_round_ms: float = 0.0
    """What a call costs more than its rounds by these terms: round 1 (the draft's prefill) and, on cb, the
    rounds that the end of the budget cut."""
    row_rel: float = 0.0
    """Relative sd of a row's total around the fit: what the model leaves out of this pair."""
    level_target_ms: float = 0.0
    """Mean T of the baselines of the rows behind it: the level that the target's times belong to."""
    source: str = ""
    draft_level_too: bool = False
    """The draft runs on the target's device, so that what moves T moves the draft as well."""
    mean_draft_ms: float | None = None
    """Draft time of all rounds over their proposals: what the published formulas ask for."""
    mean_verify_ms: float | None = None
    """Target time per round, likewise."""

    def __getitem__(self, name: str) -> float:
        return float(self.theta[NAMES.index(name)])

    def beside(self, target_ms: float) -> Fit:
        """The terms with their errors beside another baseline (another prompt length, a warmer machine).

        Times of the target go with its T, the draft's only where it shares the target's device. What a call
        costs once stays.

        Args:
            target_ms: T of that baseline, per token.
        """
        if not self.level_target_ms:
            return self
        of_target = target_ms / self.level_target_ms
        of_draft = of_target if self.draft_level_too else 1.0
        scale = np.full(len(NAMES), of_target)
        scale[DRAFTS] = of_draft
        return replace(
            self,
            theta=self.theta * scale,
            cov=self.cov * np.outer(scale, scale),
            table=tuple((width, ms * of_target) for width, ms in self.table),
            level_target_ms=target_ms,
            mean_draft_ms=None if self.mean_draft_ms is None else self.mean_draft_ms * of_draft,
            mean_verify_ms=None if self.mean_verify_ms is None else self.mean_verify_ms * of_target,
        )

    def se(self, name: str) -> float:
        """Standard error of a term."""
        at = NAMES.index(name)
        return float(np.sqrt(self.cov[at, at]))


@dataclass(frozen=True)
class Acceptance:
    """Acceptance by place in the round, as counts."""

    accepted: tuple[int, ...]
    tested: tuple[int, ...]
    """Rounds in which this place was judged: all before it were accepted and it was proposed."""

    @property
    def conditional(self) -> tuple[float, ...]:
        """P(accepted | all before were) by place, each shrunk towards the mean by 4 pseudo-counts."""
        total = sum(self.tested)
        mean = (sum(self.accepted) + 0.5) / (total + 1.0)
        return tuple((a + 4 * mean) / (n + 4) for a, n in zip(self.accepted, self.tested, strict=True))

    @property
    def alpha(self) -> float:
        """Mean conditional acceptance."""
        return (sum(self.accepted) + 0.5) / (sum(self.tested) + 1.0)


def features(counts: Profile) -> Floats:
    """[..., 9]: what a call's counts multiply the terms with, in the order of `NAMES`."""
    rounds, proposals = counts.rounds, counts.proposals
    return np.stack(
        [
            proposals,
            counts.warmed,
            counts.caught_up,
            rounds,
            proposals,
            counts.changed,
            rounds,
            proposals,
            counts.mismatched,
        ],
        axis=-1,
    )


def default_prior(
    target_ms: float,
    draft_alone_ms: float | None,
    path: str,
    ratio: tuple[float, float] = (1.2, 0.4),
    slope: tuple[float, float] = (0.08, 0.05),
) -> Prior:
    """Defaults for a pair of which no round was seen.

    The shares are judgement, not measurement. In particular the base of 0.93 T was chosen with the published
    Lunar Lake rows in sight: with 1.00 T the held-out row (CPU draft, NAT 5) is 6.1 % too high instead of
    4.6 %. Rounds, where there are any, soon outweigh them.

    Args:
        ratio: in-loop / standalone draft time, mean and sd.
        slope: verify slope per proposal as a share of T, mean and sd.
    """
    stateful = rule_of(path) == "stateful"
    alone = draft_alone_ms if draft_alone_ms else 0.2 * target_ms
    d = ratio[0] * alone
    t = target_ms
    mean = [
        d,
        0.0,
        d if stateful else 0.3 * d,
        0.93 * t,
        slope[0] * t,
        0.0,
        0.02 * t,
        0.0,
        0.1 * t if stateful else 0.0,
    ]
    sd = [
        ratio[1] * alone,
        0.4 * d,
        0.8 * d,
        0.12 * t,
        slope[1] * t,
        0.05 * t if stateful else 0.005 * t,
        0.05 * t,
        0.05 * d,
        0.1 * t if stateful else 0.005 * t,
    ]
    if not draft_alone_ms:
        sd[0] = 0.2 * target_ms
    return Prior(np.array(mean), np.array(sd))


def fit(
    table: RoundTable, prior: Prior, level_target_ms: float = 0.0, source: str = "", *, fixed: bool = False
) -> Fit:
    """Fits the terms. Without rounds the result is the prior.

    Rounds without the library's own times (prompt lookup) are fitted on their wall time alone.

    Args:
        fixed: the rule proposes NAT tokens in every round (cb), so that the few narrower rounds are those
            that the end of the budget cut. They meet a verify width for the first time in their call and
            cost more than a round of that width otherwise does: they teach no slope, and what they cost
            more is counted per call, in `first_round_ms`.
    """
    _, of_call = np.unique(table.call, return_inverse=True)
    widest_of_call = np.zeros(of_call.max(initial=-1) + 1)
    np.maximum.at(widest_of_call, of_call, table.c)
    cut = (table.c < widest_of_call[of_call]) if fixed else np.zeros(table.c.size, dtype=bool)
    measured = (table.number > 1) & np.isfinite(table.wall)
    later = measured & ~cut
    c, wall = table.c[later], table.wall[later]
    all_columns = columns_of(table, widest_of_call[of_call], fixed)
    columns = all_columns[later]
    if not c.size:
        return Fit(
            prior.mean, np.diag(prior.sd**2), 0, (0, 0), (), 0.0, 0.0, level_target_ms, source or prior.source
        )
    call = table.call[later]
    timed = np.isfinite(table.draft[later]) & np.isfinite(table.verify[later])
    theta, cov = prior.mean.copy(), np.diag(prior.sd**2)
    if timed.mean() > 0.5:
        parts = (
            (DRAFTS, table.draft[later], c > 0),
            (VERIFIES, table.verify[later], np.ones_like(timed)),
            (RESTS, wall - table.draft[later] - table.verify[later], np.ones_like(timed)),
        )
        for at, y, also in parts:
            use = timed & also & np.isfinite(y)
            if use.any():
                theta[at], cov[at, at] = _robust(
                    columns[use][:, at], y[use], prior.mean[at], prior.sd[at], call[use]
                )
    else:
        theta, cov = _robust(columns, wall, prior.mean, prior.sd, call)
    # Without the library's own times the verify time is what the other terms leave of the round.
    others = columns[:, DRAFTS] @ theta[DRAFTS] + columns[:, RESTS] @ theta[RESTS]
    verify = table.verify[later] if timed.any() else wall - others
    verify = verify - theta[CHANGE] * columns[:, CHANGE]
    seen = timed if timed.any() else np.ones_like(timed)
    table_ms = _verify_table(theta, c[seen], verify[seen])
    residual = wall - columns @ theta - _bend(c, theta, table_ms)
    _, index = np.unique(call, return_inverse=True)
    per_call = np.bincount(index, residual) / np.bincount(index)
    level = float(np.median(per_call))
    theta[REST] += level
    # By row: how far its calls lie apart is the measurement's own noise, which is told elsewhere.
    rows, index = np.unique(table.row[later], return_inverse=True)
    spread = np.bincount(index, residual - level) / np.bincount(index, wall)
    row_rel = float(1.4826 * np.median(np.abs(spread))) if len(rows) > 2 else 0.03
    once = (
        float(np.median(_residual(table, all_columns, table.number == 1, theta, table_ms)))
        if (table.number == 1).any()
        else 0.0
    )
    ends = measured & cut
    if ends.any():
        _, index = np.unique(table.call[ends], return_inverse=True)
        once += float(np.median(np.bincount(index, _residual(table, all_columns, ends, theta, table_ms))))
    widths, counts = np.unique(c, return_counts=True)
    common = widths[counts >= max(0.01 * c.size, 1)]
    return Fit(
        theta,
        cov,
        int(c.size),
        (int(common.min()), int(common.max())),
        table_ms,
        once,
        row_rel,
        level_target_ms,
        source or "measured",
        mean_draft_ms=float(table.draft[later][timed].sum() / max(c[timed].sum(), 1.0))
        if timed.any()
        else None,
        mean_verify_ms=float(table.verify[later][timed].mean()) if timed.any() else None,
    )


def _residual(
    table: RoundTable,
    columns: Floats,
    rows: npt.NDArray[np.bool_],
    theta: Floats,
    verify: tuple[tuple[int, float], ...],
) -> Floats:
    """Wall time of the chosen rounds above what the terms say."""
    return np.asarray(table.wall[rows] - columns[rows] @ theta - _bend(table.c[rows], theta, verify))


def _line(theta: Floats, widths: Floats) -> Floats:
    base, slope = theta[VERIFY_LINE]
    return np.asarray(base + slope * widths)


def _bend(c: Floats, theta: Floats, verify: tuple[tuple[int, float], ...]) -> Floats:
    """What the verify table says above the line, at widths c."""
    if not verify:
        return np.zeros_like(c)
    widths = np.array([w for w, _ in verify], dtype=float)
    above = np.array([ms for _, ms in verify]) - _line(theta, widths)
    return np.asarray(np.interp(c, widths, above))


def _robust(x: Floats, y: Floats, mean: Floats, sd: Floats, call: Floats) -> tuple[Floats, Floats]:
    """Posterior mean and covariance of a linear model with Huber weights and a normal prior.

    The noise of rounds of one call goes together (drift), so the covariance is widened by how much more
    the calls' mean residuals scatter than independent rounds would.
    """
    precision = np.diag(1.0 / np.maximum(sd, 1e-9) ** 2)
    theta = mean.copy()
    sigma = max(
        1.4826 * float(np.median(np.abs(y - np.median(y)))), 1e-3 * float(np.median(np.abs(y))) + 1e-9
    )
    cov = np.diag(sd**2)
    for _ in range(20):
        residual = y - x @ theta
        weight = np.minimum(1.0, HUBER * sigma / np.maximum(np.abs(residual), 1e-12))
        cov = _inverse(precision + (x.T * weight) @ x / sigma**2)
        new = cov @ (precision @ mean + (x.T * weight) @ y / sigma**2)
        scale = 1.4826 * float(np.median(np.abs(y - x @ new)))
        sigma = max(scale, 1e-3 * float(np.median(np.abs(y))) + 1e-9)
        if np.allclose(new, theta, rtol=1e-6, atol=1e-9):
            theta = new
            break
        theta = new
    _, index = np.unique(call, return_inverse=True)
    counts = np.bincount(index)
    if len(counts) > 2:
        clipped = np.clip(y - x @ theta, -4 * sigma, 4 * sigma)
        means = np.bincount(index, clipped) / counts
        inflation = max(float(np.mean(means**2 * counts)) / sigma**2, 1.0)
        cov = _inverse(precision + (x.T * weight) @ x / (sigma**2 * inflation))
    return theta, cov


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _verify_table(theta: Floats, c: Floats, verify: Floats) -> tuple[tuple[int, float], ...]:
    """Median verify time by width, shrunk towards the line where rounds are few."""
    if not c.size:
        return ()
    out = []
    for width in np.unique(c):
        here = verify[c == width]
        line = float(_line(theta, width))
        weight = here.size / (here.size + TABLE_WEIGHT)
        out.append((int(width), line + weight * (float(np.median(here)) - line)))
    return tuple(out)


def acceptance(table: RoundTable) -> Acceptance:
    """Counts by place, from rounds of any widths."""
    widest = int(table.c.max()) if table.c.size else 0
    accepted = tuple(int((table.m > i).sum()) for i in range(widest))
    tested = tuple(int(((table.m >= i) & (table.c > i)).sum()) for i in range(widest))
    return Acceptance(accepted, tested)


def pooled(parts: Sequence[Acceptance]) -> Acceptance:
    """The sum of several."""
    size = max((len(p.tested) for p in parts), default=0)

    def at(values: tuple[int, ...], i: int) -> int:
        return values[i] if i < len(values) else 0

    return Acceptance(
        tuple(sum(at(p.accepted, i) for p in parts) for i in range(size)),
        tuple(sum(at(p.tested, i) for p in parts) for i in range(size)),
    )
