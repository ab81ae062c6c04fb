"""What the accumulated table teaches about pairs that were not measured.

In-loop factors (draft time in the loop over standing alone) are learned by device pair and path, verify
slopes and the rest by target device and path, as shares of T; each is shrunk towards the default as if the
default were worth `WEIGHT` pairs. Nearer donors come first: the same target on the same path, then any
target on that device and path, then the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sweeps.costmodel.chance import WARMING, Floats
from sweeps.costmodel.lookup import Texts, with_more_texts
from sweeps.costmodel.rules import rule_of
from sweeps.costmodel.terms import (
    CATCH_UP,
    DRAFTS,
    LOOKUP,
    NAMES,
    REST,
    REST_PROPOSAL,
    VERIFY_LINE,
    Fit,
    Key,
    Prior,
    default_prior,
)

WEIGHT = 1.0
"""Pairs that a default is worth."""
BORROWED_REL = 0.03
"""Relative sd added to a term that another draft of the same target lends."""
DEFAULT_RATIO = (1.2, 0.4)
ALONE_MS, ALONE_NPU_MS = 0.04, 0.18
"""What a draft's own pipeline does around each token, and the loop does not: host work, so milliseconds. The
NPU's pipeline (measured emulated) does more."""
LOOP_RATIO_SD = 0.1
DRAFTED_MS = (0.2, 0.05)
"""What a round with a draft and each of its proposals cost the continuous-batching engine beside running the
draft, over what prompt lookup costs it: host work, so in milliseconds whatever the models (of the bundled
drafts 0.2 at NAT 1, 0.6 at NAT 8)."""
DRAFTED_SD_MS = 0.1
OTHER_DEVICE_MS = (0.5, 0.25)
"""A draft's first step in a round on another device than the timed one (emulated NPU: 0.4 to 0.6)."""
CAUGHT_UP = 0.25
"""Relative sd of what a draft costs more after a round accepted whole, before any was seen."""
DEFAULT_SLOPE = (0.08, 0.05)
SLOPE_UP_TO = 8
"""Proposals up to which a straight line stands for a shape."""
DRAFT_FIRST = NAMES.index("draft_first")
DRAFT_EXTRAS = slice(DRAFT_FIRST, CATCH_UP + 1)
TARGETS = slice(DRAFTS.stop, None)


Shape = tuple[tuple[int, float], ...]
"""(proposals, verify time as a share of T), ascending."""


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
    """The first step after the target's pass; the ones after it are as dear as `warming` says."""
    change_ms: float
    """What a step costs more that takes in two tokens behind one of one token, or the other way round: the
    host's work on new shapes, so in milliseconds whatever the models."""
    step_ms: float
    """A step in full swing, as timed outside of the engines."""
    verify: float
    """The target's pass behind the draft's steps over one behind another of its own."""
    own: bool = True
    """Whether it is this very pair that was timed, not the same models on other devices."""
    readings: int = 1
    """Processes that it was timed in."""


@dataclass(frozen=True)
class Probes:
    """What was found out outside of the engines: times, and the texts as tokens."""

    donors: tuple[Donor, ...] = ()
    loops: tuple[Loop, ...] = ()
    texts: Texts = field(default_factory=dict)

    def __add__(self, more: Probes) -> Probes:
        """Of two sweeps; the later one's loops and texts come first."""
        return Probes(
            self.donors + more.donors, more.loops + self.loops, with_more_texts(self.texts, more.texts)
        )


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
            and d.key.draft != LOOKUP
            and (d.key.draft_device, d.key.path) == (draft_device, path)
            and d.key.target_device == target_device
        ]
        return shrunk(same, default)

    def shape(self, target: str, target_device: str) -> Shape:
        """How the verify time grows with the proposals, timed outside of the engines; empty: it was not."""
        timed = [
            d
            for d in self.donors
            if d.key == Key(target, target_device, LOOKUP, target_device, "stateful") and d.fit.table
        ]
        if not timed:
            return ()
        widths = [width for width, _ in timed[0].fit.table]
        shares = [np.interp(widths, *np.transpose(d.fit.table)) / d.target_ms for d in timed]
        return tuple(zip(widths, np.mean(shares, axis=0).tolist(), strict=True))

    def slope(self, target_device: str, path: str, default: tuple[float, float] = DEFAULT_SLOPE) -> Learned:
        """Verify slope per proposal as a share of T, for a target's device on a path."""
        same = [
            d.fit["verify_slope"] / d.target_ms
            for d in self.donors
            if (d.key.target_device, d.key.path) == (target_device, path)
        ]
        return shrunk(same, default)

    def prior(self, key: Key, target_ms: float, draft_alone_ms: float | None) -> Prior:
        """What to assume of a pair before its rounds are seen, with where it came from."""
        loop = self.loop(key)
        # Where the dearer first steps are known apart, a step in full swing is what the draft alone takes.
        around_ms = ALONE_NPU_MS if key.draft_device == "NPU" else ALONE_MS
        steady = 1 - min(around_ms / draft_alone_ms, 0.2) if draft_alone_ms else 1.0
        default = (steady, LOOP_RATIO_SD) if loop else DEFAULT_RATIO
        ratio = self.ratio(key.target_device, key.draft_device, key.path, default)
        shape = self.shape(key.target, key.target_device)
        slope = self.slope(key.target_device, key.path, slope_of(shape) if shape else DEFAULT_SLOPE)
        base = default_prior(
            target_ms, draft_alone_ms, key.path, (ratio.mean, ratio.sd), (slope.mean, slope.sd)
        )
        words = f"default; in-loop factor {ratio.words}; verify slope {slope.words}"
        if loop is None or not draft_alone_ms:
            return Prior(base.mean, base.sd, words)
        mean, sd = base.mean.copy(), base.sd.copy()
        d = mean[0]
        mean[VERIFY_LINE] *= loop.verify
        # Of a draft on another device than the one that was timed only the milliseconds say something.
        step = d if loop.own else loop.step_ms
        mean[DRAFT_FIRST] = (loop.first - 1) * step
        sd[DRAFT_FIRST] = 0.3 * mean[DRAFT_FIRST] + 0.05 * d
        if not loop.own:
            mean[DRAFT_FIRST] += OTHER_DEVICE_MS[0]
            sd[DRAFT_FIRST] = float(np.hypot(sd[DRAFT_FIRST], OTHER_DEVICE_MS[1]))
        # After a round accepted whole the draft has two tokens to take in. On cb it does so at once, and the
        # width of its step changes there and back. The stateful engine steps once more.
        stateful = rule_of(key.path) == "stateful"
        mean[CATCH_UP] = d + WARMING * mean[DRAFT_FIRST] if stateful else 2 * loop.change_ms
        sd[CATCH_UP] = CAUGHT_UP * mean[CATCH_UP]
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
        own = np.zeros((len(NAMES), len(NAMES)))
        first = row_rel = 0.0
        fits = [d.fit.beside(target_ms) for d in near]
        if near:
            side = np.array([f.theta[TARGETS] for f in fits])
            theta[TARGETS] = side.mean(axis=0)
            theta[VERIFY_LINE] *= in_loop
            scatter: Floats = side.var(axis=0)
            # Whole: what rounds of one wall time say of verify and rest is their sum, each alone is loose.
            own[TARGETS, TARGETS] = np.mean([f.cov[TARGETS, TARGETS] for f in fits], axis=0)
            sd[TARGETS] = np.sqrt(scatter + (BORROWED_REL * np.abs(theta[TARGETS])) ** 2)
            if not drafted and key.draft != LOOKUP and rule_of(key.path) == "cb":
                theta[REST] += DRAFTED_MS[0]
                theta[REST_PROPOSAL] += DRAFTED_MS[1]
                sd[REST] = float(np.hypot(sd[REST], DRAFTED_SD_MS))
            d0 = theta[0]
            shares = [
                d.fit.theta[DRAFT_EXTRAS] / max(d.fit["draft"], 1e-9) for d in near if d.key.draft != LOOKUP
            ]
            if shares and d0 > 0:
                # Two draft steps of overhead are as many of another draft's.
                theta[DRAFT_EXTRAS] = np.mean(shares, axis=0) * d0
                sd[DRAFT_EXTRAS] = np.maximum(0.3 * np.abs(theta[DRAFT_EXTRAS]), 0.2 * d0)
            best = max(fits, key=lambda f: f.rounds)
            line = best["verify_base"], best["verify_slope"]
            bend = [(w, (ms - line[0] - line[1] * w) * in_loop) for w, ms in best.table]
            table = tuple((w, float(theta[VERIFY_LINE] @ (1.0, w) + more)) for w, more in bend)
            first = float(np.mean([f.first_round_ms for f in fits]))
            row_rel = float(np.mean([f.row_rel for f in fits]))
            names = ", ".join(sorted({f"{d.key.draft} on {d.key.draft_device}" for d in near}))
            source = f"borrowed from {names}; {prior.source}"
        if not drafted and rule_of(key.path) == "cb":
            first += draft_prefill_ms or 0.0
        verify = [f.mean_verify_ms for f in fits if f.mean_verify_ms]
        lent = Fit(
            theta,
            np.diag(sd**2) + own,
            0,
            (0, 0),
            table,
            first,
            row_rel,
            target_ms,
            source=source,
            mean_draft_ms=float(theta[0]) if verify else None,
            mean_verify_ms=float(np.mean(verify)) if verify else None,
        )
        return widened(lent, self.shape(key.target, key.target_device), target_ms)


def slope_of(shape: Shape) -> tuple[float, float]:
    """The line through the narrower half of a shape: slope as a share of T, and its sd as a default."""
    near = np.array([(width, share) for width, share in shape if width <= SLOPE_UP_TO])
    slope = float(np.polyfit(near[:, 0], near[:, 1], 1)[0]) if len(near) > 1 else DEFAULT_SLOPE[0]
    return max(slope, 0.0), 0.2 * max(slope, 0.0) + 0.01


def widened(fit: Fit, shape: Shape, target_ms: float) -> Fit:
    """A fit whose verify table also holds the widths that its rounds never had: the shape, moved to the
    widths beside them that it knows."""
    if not shape:
        return fit
    widths, shares = np.transpose(shape)
    known = dict(fit.table) or {0: fit["verify_base"]}
    at = sorted(known)
    moved = np.array([known[width] - np.interp(width, widths, shares) * target_ms for width in at])
    more = {int(w): float(s * target_ms + np.interp(w, at, moved)) for w, s in shape}
    return replace(fit, table=tuple(sorted((more | known).items())))


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
