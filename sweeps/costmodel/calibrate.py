"""What the accumulated table teaches about pairs that were not measured.

In-loop factors (draft time in the loop over standing alone) are learned by device pair and path, verify
slopes and the rest by target device and path, as shares of T; each is shrunk towards the default as if the
default were worth `WEIGHT` pairs. Nearer donors come first: the same target on the same path, then any
target on that device and path, then the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sweeps.costmodel.chance import Floats
from sweeps.costmodel.terms import LOOKUP, Fit, Key, Prior, default_prior

WEIGHT = 1.0
"""Pairs that a default is worth."""
BORROWED_REL = 0.06
"""Relative sd added to a term that another draft of the same target lends."""
DEFAULT_RATIO = (1.2, 0.4)
DEFAULT_SLOPE = (0.08, 0.05)


@dataclass(frozen=True)
class Donor:
    """One pair that was measured."""

    key: Key
    fit: Fit
    target_ms: float
    draft_alone_ms: float | None


@dataclass(frozen=True)
class Learned:
    """A learned factor: mean, sd of a new pair around it, pairs behind it."""

    mean: float
    sd: float
    pairs: int

    @property
    def words(self) -> str:
        """For a provenance."""
        return (
            f"{self.mean:.2f} from {self.pairs} pair{'s' if self.pairs != 1 else ''}"
            if self.pairs
            else "default"
        )


def shrunk(values: Sequence[float], default: tuple[float, float]) -> Learned:
    """Mean of the values, shrunk towards the default; the sd narrows as values agree."""
    mean, sd = default
    n = len(values)
    if not n:
        return Learned(mean, sd, 0)
    center = (sum(values) + WEIGHT * mean) / (n + WEIGHT)
    scatter = sum((v - center) ** 2 for v in values) + WEIGHT * sd**2
    return Learned(center, float(np.sqrt(scatter / (n + WEIGHT))), n)


@dataclass(frozen=True)
class Calibration:
    """All donors, with the questions put to them."""

    donors: tuple[Donor, ...] = ()

    def ratio(self, target_device: str, draft_device: str, path: str) -> Learned:
        """In-loop over standalone draft time for a device pair on a path."""
        same = [
            d.fit["draft"] / d.draft_alone_ms
            for d in self.donors
            if d.draft_alone_ms
            and (d.key.draft_device, d.key.path) == (draft_device, path)
            and d.key.target_device == target_device
        ]
        return shrunk(same, DEFAULT_RATIO)

    def slope(self, target_device: str, path: str) -> Learned:
        """Verify slope per proposal as a share of T, for a target's device on a path."""
        same = [
            d.fit["verify_slope"] / d.target_ms
            for d in self.donors
            if (d.key.target_device, d.key.path) == (target_device, path)
        ]
        return shrunk(same, DEFAULT_SLOPE)

    def prior(self, key: Key, target_ms: float, draft_alone_ms: float | None) -> Prior:
        """What to assume of a pair before its rounds are seen, with where it came from."""
        ratio = self.ratio(key.target_device, key.draft_device, key.path)
        slope = self.slope(key.target_device, key.path)
        base = default_prior(
            target_ms, draft_alone_ms, key.path, (ratio.mean, ratio.sd), (slope.mean, slope.sd)
        )
        return Prior(base.mean, base.sd, f"default; in-loop factor {ratio.words}; verify slope {slope.words}")

    def borrow(self, key: Key, target_ms: float, draft_alone_ms: float | None) -> Fit:
        """Terms for a pair of which no round was seen (`Fit.rounds` is 0: everything is borrowed)."""
        prior = self.prior(key, target_ms, draft_alone_ms)
        theta, sd = prior.mean.copy(), prior.sd.copy()
        source = prior.source
        near = [
            d
            for d in self.donors
            if (d.key.target, d.key.target_device, d.key.path) == (key.target, key.target_device, key.path)
        ]
        # A draft that really drafts says more about the loop than prompt lookup does.
        near = [d for d in near if d.key.draft != LOOKUP] or near
        near = [d for d in near if d.key.draft_device == key.draft_device] or near
        table: tuple[tuple[int, float], ...] = ()
        first = call_rel = 0.0
        if near:
            scale = [target_ms / d.fit.level_target_ms if d.fit.level_target_ms else 1.0 for d in near]
            side = np.array([d.fit.theta[3:] * s for d, s in zip(near, scale, strict=True)])
            theta[3:] = side.mean(axis=0)
            scatter: Floats = side.var(axis=0)
            own = np.mean([np.diag(d.fit.cov)[3:] for d in near], axis=0)
            sd[3:] = np.sqrt(scatter + own + (BORROWED_REL * np.abs(theta[3:])) ** 2)
            d0 = theta[0]
            shares = [d.fit.theta[1:3] / max(d.fit["draft"], 1e-9) for d in near if d.key.draft != LOOKUP]
            if shares and d0 > 0:
                # Two draft steps of overhead are as many of another draft's.
                theta[1:3] = np.mean(shares, axis=0) * d0
                sd[1:3] = np.maximum(0.3 * np.abs(theta[1:3]), 0.2 * d0)
            best = max(near, key=lambda d: d.fit.rounds)
            factor = target_ms / best.fit.level_target_ms if best.fit.level_target_ms else 1.0
            line = best.fit["verify_base"], best.fit["verify_slope"]
            bend = [(w, (ms - line[0] - line[1] * w) * factor) for w, ms in best.fit.table]
            table = tuple((w, float(theta[3] + theta[4] * w + more)) for w, more in bend)
            first = float(np.mean([d.fit.first_round_ms for d in near]))
            call_rel = float(np.mean([d.fit.call_rel for d in near]))
            names = ", ".join(sorted({f"{d.key.draft} on {d.key.draft_device}" for d in near}))
            source = f"borrowed from {names}; {prior.source}"
        verify = [d.fit.mean_verify_ms * target_ms / d.target_ms for d in near if d.fit.mean_verify_ms]
        return Fit(
            theta,
            np.diag(sd**2),
            0,
            (0, 0),
            table,
            first,
            call_rel,
            target_ms,
            source=source,
            mean_draft_ms=float(theta[0]) if verify else None,
            mean_verify_ms=float(np.mean(verify)) if verify else None,
        )


def update(prior: Prior, rows: Sequence[tuple[Floats, float, float]]) -> Fit:
    """Terms from whole rows alone, where a table has no rounds: a normal prior and one equation a row.

    Args:
        rows: (features of the call, its measured time in ms, relative sd of that time).
    """
    theta, cov = prior.mean.copy(), np.diag(prior.sd**2)
    for x, total, rel in rows:
        gain = cov @ x / float(x @ cov @ x + (max(rel, 0.005) * total) ** 2)
        theta = theta + gain * (total - float(x @ theta))
        cov = cov - np.outer(gain, x @ cov)
    return Fit(
        theta, cov, 0, (0, 0), source=f"{len(rows)} row{'s' if len(rows) != 1 else ''} and {prior.source}"
    )
