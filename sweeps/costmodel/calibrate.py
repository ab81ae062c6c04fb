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
from sweeps.costmodel.rules import rule_of
from sweeps.costmodel.terms import LOOKUP, Fit, Key, Prior, default_prior

WEIGHT = 1.0
"""Pairs that a default is worth."""
BORROWED_REL = 0.06
"""Relative sd added to a term that another draft of the same target lends."""
DEFAULT_RATIO = (1.2, 0.4)
LOOP_RATIO = (0.9, 0.12)
"""The same where the dearer first steps are known apart: in full swing a step is what the draft alone takes,
less what its own pipeline does around each token (of the bundled drafts 0.87 to 0.92)."""
SECOND = 0.6
"""Part of the second step's dearness that a mean round sees: at NAT 1 there is no second step."""
DRAFTED_MS = (0.25, 0.15)
"""What the continuous-batching engine does for a draft in each round beside running it, over what prompt
lookup costs it: host work, so in milliseconds whatever the models (of the bundled drafts 0.22 to 0.3)."""
CAUGHT_UP = 0.4
"""Relative sd of what a draft costs more after a round accepted whole, before any was seen."""
DEFAULT_SLOPE = (0.08, 0.05)


@dataclass(frozen=True)
class Donor:
    """One pair that was measured."""

    key: Key
    fit: Fit
    target_ms: float
    draft_alone_ms: float | None


@dataclass(frozen=True)
class Loop:
    """A draft timed in turns with its target, outside of any engine: its steps over a step in full swing.

    Between two passes of the target the draft's weights leave the caches, so a round's first steps are
    dearer than those of the draft alone.
    """

    pair: tuple[str, str, str, str]
    """Target, its device, draft, its device."""
    first: float
    """The first step after the target's pass."""
    second: float
    """The step after that."""
    verify: float
    """The target's pass behind the draft's steps over one behind another of its own."""


@dataclass(frozen=True)
class Probes:
    """What was timed outside of the engines."""

    donors: tuple[Donor, ...] = ()
    loops: tuple[Loop, ...] = ()

    def __add__(self, more: Probes) -> Probes:
        """Of two sweeps; the later one's loops come first."""
        return Probes(self.donors + more.donors, more.loops + self.loops)


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
    loops: tuple[Loop, ...] = ()

    def loop(self, key: Key) -> Loop | None:
        """The loop times of a pair, where they were taken."""
        pair = (key.target, key.target_device, key.draft, key.draft_device)
        return next((one for one in self.loops if one.pair == pair), None)

    def ratio(
        self,
        target_device: str,
        draft_device: str,
        path: str,
        default: tuple[float, float] = DEFAULT_RATIO,
    ) -> Learned:
        """In-loop over standalone draft time for a device pair on a path."""
        same = [
            d.fit["draft"] / d.draft_alone_ms
            for d in self.donors
            if d.draft_alone_ms
            and (d.key.draft_device, d.key.path) == (draft_device, path)
            and d.key.target_device == target_device
        ]
        return shrunk(same, default)

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
        loop = self.loop(key)
        ratio = self.ratio(
            key.target_device, key.draft_device, key.path, LOOP_RATIO if loop else DEFAULT_RATIO
        )
        slope = self.slope(key.target_device, key.path)
        base = default_prior(
            target_ms, draft_alone_ms, key.path, (ratio.mean, ratio.sd), (slope.mean, slope.sd)
        )
        words = f"default; in-loop factor {ratio.words}; verify slope {slope.words}"
        if loop is None or not draft_alone_ms:
            return Prior(base.mean, base.sd, words)
        mean, sd = base.mean.copy(), base.sd.copy()
        d = mean[0]
        mean[3:5] *= loop.verify
        mean[1] = max(loop.first - 1 + SECOND * (loop.second - 1), 0.0) * d
        sd[1] = 0.3 * mean[1] + 0.05 * d
        # After a round accepted whole the draft has two tokens to take in. On cb it does so at once, by other
        # kernels than it steps with: as dear as a first step. The stateful engine steps once more.
        mean[2] = loop.second * d if rule_of(key.path) == "stateful" else d + mean[1]
        sd[2] = CAUGHT_UP * mean[2]
        return Prior(mean, sd, f"{words}; the draft's first steps timed behind the target's passes")

    def borrow(
        self,
        key: Key,
        target_ms: float,
        draft_alone_ms: float | None,
        draft_prefill_ms: float | None = None,
    ) -> Fit:
        """Terms for a pair of which no round was seen (`Fit.rounds` is 0: everything is borrowed).

        Args:
            draft_prefill_ms: the draft standing alone, to its first token: on cb it is part of round 1.
        """
        prior = self.prior(key, target_ms, draft_alone_ms)
        theta, sd = prior.mean.copy(), prior.sd.copy()
        source = prior.source
        near = [
            d
            for d in self.donors
            if (d.key.target, d.key.target_device, d.key.path) == (key.target, key.target_device, key.path)
        ]
        # Another draft that really drafts says more about the loop than prompt lookup does, but less than
        # this draft's own times in turns with the target: each draft throws out of the caches what it needs.
        loop = self.loop(key)
        lookups = [d for d in near if d.key.draft == LOOKUP]
        enough = lookups and (loop is not None or key.draft == LOOKUP)
        drafted = [] if enough else [d for d in near if d.key.draft != LOOKUP]
        near = drafted or lookups
        in_loop = loop.verify if loop and not drafted else 1.0
        near = [d for d in near if d.key.draft_device == key.draft_device] or near
        table: tuple[tuple[int, float], ...] = ()
        first = call_rel = 0.0
        if near:
            scale = [target_ms / d.fit.level_target_ms if d.fit.level_target_ms else 1.0 for d in near]
            side = np.array([d.fit.theta[3:] * s for d, s in zip(near, scale, strict=True)])
            theta[3:] = side.mean(axis=0)
            theta[3:5] *= in_loop
            scatter: Floats = side.var(axis=0)
            own = np.mean([np.diag(d.fit.cov)[3:] for d in near], axis=0)
            sd[3:] = np.sqrt(scatter + own + (BORROWED_REL * np.abs(theta[3:])) ** 2)
            if not drafted and key.draft != LOOKUP and rule_of(key.path) == "cb":
                theta[5] += DRAFTED_MS[0]
                sd[5] = float(np.hypot(sd[5], DRAFTED_MS[1]))
            d0 = theta[0]
            shares = [d.fit.theta[1:3] / max(d.fit["draft"], 1e-9) for d in near if d.key.draft != LOOKUP]
            if shares and d0 > 0:
                # Two draft steps of overhead are as many of another draft's.
                theta[1:3] = np.mean(shares, axis=0) * d0
                sd[1:3] = np.maximum(0.3 * np.abs(theta[1:3]), 0.2 * d0)
            best = max(near, key=lambda d: d.fit.rounds)
            factor = target_ms / best.fit.level_target_ms if best.fit.level_target_ms else 1.0
            line = best.fit["verify_base"], best.fit["verify_slope"]
            bend = [(w, (ms - line[0] - line[1] * w) * factor * in_loop) for w, ms in best.fit.table]
            table = tuple((w, float(theta[3] + theta[4] * w + more)) for w, more in bend)
            first = float(np.mean([d.fit.first_round_ms for d in near]))
            call_rel = float(np.mean([d.fit.call_rel for d in near]))
            names = ", ".join(sorted({f"{d.key.draft} on {d.key.draft_device}" for d in near}))
            source = f"borrowed from {names}; {prior.source}"
        if not drafted and rule_of(key.path) == "cb":
            first += draft_prefill_ms or 0.0
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
