"""Expected rounds when acceptance is a matter of chance, exactly, for finite budgets.

The state before a round is (tokens remaining, k); the chance to be in it is carried forward from the
start at (budget - 1, NAT) until nothing remains, so the start at the seed, the drift of k and the cut
rounds at the end of the budget are all in the result. Nothing is approximated but the acceptance itself.

Closed forms for an endless text and constant alpha (fixed k): Leviathan et al. 2023, arXiv 2211.17192.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sweeps.costmodel.rules import Rounds, Rule, next_k, widest

Floats = npt.NDArray[np.float64]

WARMING = 0.4
"""A pass of the target throws the draft out of the caches: a round's first draft step is dearer than one in
full swing, and each step after it by this part of what the one before was (emulated NPU: 0.4; on cb the
rows fit with anything from 0.2 to 0.6; timed outside of an engine: 0.6)."""
NODES = 65
"""Chebyshev points in alpha for `expected_many`: expected counts are polynomials in alpha."""


@dataclass(frozen=True)
class Profile:
    """Counts of one call, or their expected values; each an array of one shape B (also of no dimension).

    All times of a call are linear in these counts, so a profile and the terms are all a prediction needs.
    """

    rounds: Floats
    full: Floats
    """Rounds (of at least one proposal) that were accepted whole."""
    caught_up: Floats
    """Those of them with a round of proposals behind them, in which the draft has a token to catch up. On cb
    it takes in two tokens at once then, and what is dear is the change of its step's width, to two and back.
    At NAT 1 only rounds that part a whole one from a refused one change it: the way back counts."""
    changed: Floats
    """Rounds of the stateful rule that propose another number of tokens than the round before: a pass of
    another width is dearer for the target. On cb only the end of the budget changes it, which is counted per
    call (`terms.fit`): 0."""
    by_width: Floats
    """[B, K + 1]: rounds that proposed 0, 1, ... K tokens."""
    tokens: int
    """Tokens of all rounds: the budget without the first token."""

    def at(self, index: int) -> Profile:
        """One of several."""
        return Profile(
            self.rounds[index],
            self.full[index],
            self.caught_up[index],
            self.changed[index],
            self.by_width[index],
            self.tokens,
        )

    @property
    def proposals(self) -> Floats:
        """Proposals of all rounds."""
        return np.asarray(self.by_width @ np.arange(self.by_width.shape[-1], dtype=float))

    @property
    def warmed(self) -> Floats:
        """Rounds, each as often as its draft steps cost what the first one costs more (`warming`)."""
        return np.asarray(self.by_width @ warming(np.arange(self.by_width.shape[-1], dtype=float)))

    @property
    def accepted(self) -> Floats:
        """Accepted proposals of all rounds: every round adds one token of the target's own."""
        return self.tokens - self.rounds

    @property
    def mismatched(self) -> Floats:
        """Rounds in which a proposal was refused."""
        return self.rounds - self.full - self.by_width[..., 0]

    @property
    def tokens_per_round(self) -> Floats:
        """tau."""
        return self.tokens / np.maximum(self.rounds, 1e-12)

    @property
    def proposals_per_round(self) -> Floats:
        """k."""
        return self.proposals / np.maximum(self.rounds, 1e-12)

    @property
    def acceptance(self) -> Floats:
        """r = accepted / proposals; 0 where nothing was proposed."""
        proposals = self.proposals
        return np.where(proposals > 0, self.accepted / np.maximum(proposals, 1e-12), 0.0)


def warming(c: Floats) -> Floats:
    """What c draft steps cost more than as many in full swing, in units of what the first one does."""
    return np.asarray((1 - WARMING**c) / (1 - WARMING))


def counted(rounds: Rounds, rule: Rule, nat: int, budget: int) -> Profile:
    """The profile of known rounds (replayed or measured)."""
    by_width = np.zeros(widest(rule, nat) + 1)
    for c in rounds.proposals:
        by_width[c] += 1
    whole = [0 < c == m for c, m in zip(rounds.proposals, rounds.accepted, strict=True)]
    behind = rounds.proposals[1:]
    if _always_two(rule, nat):
        caught = sum(
            before and not here and after > 0
            for before, here, after in zip([False, *whole], whole, behind, strict=False)
        )
    else:
        caught = sum(here and after > 0 for here, after in zip(whole, behind, strict=False))
    changed = sum(a != b for a, b in pairwise(rounds.proposals)) if rule == "stateful" else 0
    tokens = sum(rounds.bursts) if rounds.bursts else max(budget - 1, 0)
    return Profile(
        np.asarray(float(len(rounds.proposals))),
        np.asarray(float(sum(whole))),
        np.asarray(float(caught)),
        np.asarray(float(changed)),
        by_width,
        tokens,
    )


def _always_two(rule: Rule, nat: int) -> bool:
    """Whether the draft steps by two tokens throughout while rounds are accepted whole."""
    return rule == "cb" and nat == 1


def expected(accept: Floats, rule: Rule, nat: int, budget: int) -> Profile:
    """Expected counts of one call.

    Args:
        accept: chance that a proposal is accepted given that all before it in its round were. Shape
            [B] (the same everywhere), [B, K] (by its place in the round, K the widest round; the last
            column goes on), or [B, budget, K] (also by the text position where the round starts).
        budget: max_new_tokens, at least 1.
    """
    width = widest(rule, nat)
    by_place = _places(np.asarray(accept, dtype=float), width)  # [K, P, B], P = 1 or budget
    batch = by_place.shape[2]
    total = max(budget - 1, 0)
    reach = np.zeros((total + 1 + width, width + 1, batch))  # padded below: row of n is n + width
    rounds = np.zeros(batch)
    full = np.zeros(batch)
    caught = np.zeros(batch)
    changed = np.zeros(batch)
    behind_whole = np.zeros((total + 1 + width, batch))
    by_width = np.zeros((width + 1, batch))
    if total:
        reach[total + width, nat] = 1.0
    moving = by_place.shape[1] > 1
    survive, refuse = _survival(by_place[:, 0])
    ks = range(nat, nat + 1) if rule == "cb" else range(1, width + 1)
    down = {k: next_k(rule, nat, k, -1) for k in ks}
    up = {k: next_k(rule, nat, k, k) for k in ks}
    inside = np.arange(width)[:, None] < np.arange(width + 1)[None, :]  # m < k
    for n in range(total, 0, -1):
        if moving:
            survive, refuse = _survival(by_place[:, budget - n])
        here = reach[n + width]
        rounds += here.sum(axis=0)
        if rule == "cb":
            c = min(nat, n - 1)
            by_width[c] += here[nat]
            if c:
                reach[n - c + width : n + width, nat][::-1] += refuse[:c] * here[nat]
                full += survive[c] * here[nat]
                if _always_two(rule, nat):
                    behind_whole[n - 2 + width] += survive[c] * here[nat]
                    if n - 1 >= 2:
                        caught += refuse[0] * behind_whole[n + width]
                elif n - 1 - c >= 2:
                    caught += survive[c] * here[nat]
            reach[n - 1 - c + width, nat] += survive[c] * here[nat]
            continue
        room = n - 1
        if room >= width:
            by_width[1:] += here[1:]
            flow = refuse[:, None, :] * here[None, 1:, :] * inside[:, 1:, None]
        else:
            cut = np.minimum(np.arange(1, width + 1), room)
            np.add.at(by_width, cut, here[1:])
            flow = (
                refuse[:, None, :]
                * here[None, 1:, :]
                * (np.arange(width)[:, None] < cut[None, :])[:, :, None]
            )
        changed += (flow * _changes(width, room)[:, :, None]).sum(axis=(0, 1))
        below = reach[n : n + width][::-1]  # m = 0 leads to n - 1, ...
        below[:, 1:width] += flow[:, 1:]  # k >= 2 goes to k - 1
        below[:, 1] += flow[:, 0]
        for k in ks:
            c = min(k, room)
            if c:
                whole = survive[c] * here[k]
                full += whole
                if n - 1 - c >= 2:
                    caught += whole
                then = up[k] if c == k else down[k]
                if n - 1 - c >= 1 and min(then, n - 2 - c) != c:
                    changed += whole
                reach[n - 1 - c + width, then] += whole
    squeeze = np.asarray(accept).ndim == 0
    if squeeze:
        return Profile(rounds[0], full[0], caught[0], changed[0], by_width[:, 0], total)
    return Profile(rounds, full, caught, changed, by_width.T, total)


@lru_cache(maxsize=4096)
def _changes(width: int, room: int) -> Floats:
    """[m, k]: 1 where a round that was to propose k tokens, of which m and no more were accepted, is followed
    by one of another width (stateful rule; `room`: the most that it could propose itself)."""
    m, k = np.arange(width)[:, None], np.arange(1, width + 1)[None, :]
    c, after = np.minimum(k, room), room - m
    then = np.minimum(np.maximum(k - 1, 1), after - 1)
    return np.asarray((after >= 1) & (then != c), dtype=float)


def expected_many(alpha: Floats, rule: Rule, nat: int, budget: int) -> Profile:
    """`expected` for many constant alphas [B] at once, by interpolation at Chebyshev points that are kept:
    after the first call for a rule, NAT and budget it costs microseconds.

    Every expected count is a polynomial in alpha (of a degree below the budget), so the interpolation
    converges faster than any power of the number of points: exact to 1e-6 at budgets of a few hundred.
    """
    nodes, weights = _chebyshev(NODES)
    at_nodes = _node_profile(rule, nat, budget)
    gap = alpha[:, None] - nodes[None, :]
    exact = np.abs(gap) < 1e-14
    basis = weights / np.where(exact, 1.0, gap)
    basis[exact.any(axis=1)] = exact[exact.any(axis=1)].astype(float)
    basis /= basis.sum(axis=1, keepdims=True)
    return Profile(
        basis @ at_nodes.rounds,
        basis @ at_nodes.full,
        basis @ at_nodes.caught_up,
        basis @ at_nodes.changed,
        basis @ at_nodes.by_width,
        at_nodes.tokens,
    )


@lru_cache(maxsize=256)
def _node_profile(rule: Rule, nat: int, budget: int) -> Profile:
    return expected(_chebyshev(NODES)[0], rule, nat, budget)


@lru_cache(maxsize=4)
def _chebyshev(count: int) -> tuple[Floats, Floats]:
    """Chebyshev-Lobatto points on [0, 1] and their barycentric weights."""
    index = np.arange(count)
    weights = np.where(index % 2 == 0, 1.0, -1.0)
    weights[[0, -1]] /= 2
    return (1.0 - np.cos(np.pi * index / (count - 1))) / 2, weights


def _places(accept: Floats, width: int) -> Floats:
    """[K, P, B] from any of the shapes that `expected` takes."""
    if accept.ndim <= 1:
        return np.broadcast_to(np.atleast_1d(accept)[None, None, :], (width, 1, np.atleast_1d(accept).size))
    if accept.ndim == 2:
        accept = accept[:, None, :]
    missing = width - accept.shape[2]
    if missing > 0:
        accept = np.concatenate([accept, np.repeat(accept[:, :, -1:], missing, axis=2)], axis=2)
    return np.ascontiguousarray(np.transpose(accept[:, :, :width], (2, 1, 0)))


def _survival(by_place: Floats) -> tuple[Floats, Floats]:
    """([K + 1, B] chance that the first m are accepted, [K, B] chance that exactly m are, m < c)."""
    survive = np.ones((by_place.shape[0] + 1, by_place.shape[1]))
    np.cumprod(by_place, axis=0, out=survive[1:])
    return survive, survive[:-1] - survive[1:]


def accept_matrix(bits: str, budget: int, width: int, by_place: Floats) -> Floats:
    """[1, budget, width] for `expected`: the string where it is seen, a chance by place where it is not.

    Args:
        bits: '1', '0', 'a' to 'k' for chances of 0 to 1 in tenths (`agreement.TIES`), anything else is
            unseen; positions beyond the end are unseen.
        by_place: [any length >= 1] conditional acceptance by place in the round; the last goes on.
    """
    text = bits[:budget].ljust(budget + width, "?")
    codes = np.frombuffer(text.encode("ascii", "replace"), dtype=np.uint8)
    at = np.arange(budget)[:, None] + np.arange(width)[None, :]
    chance = by_place[np.minimum(np.arange(width), len(by_place) - 1)][None, :]
    seen = codes[at]
    tie = (seen.astype(float) - ord("a")) / 10
    unseen = np.where((seen >= ord("a")) & (seen <= ord("k")), tie, chance)
    return np.where(seen == ord("1"), 1.0, np.where(seen == ord("0"), 0.0, unseen))[None]


def tau_fixed(alpha: Floats | float, k: int) -> Floats:
    """Tokens per round at a fixed k on an endless text: (1 - a^(k+1)) / (1 - a)."""
    a = np.asarray(alpha, dtype=float)
    return np.asarray(sum(a**i for i in range(k + 1)))


def tau_by_place(conditional: Floats, k: int) -> float:
    """Tokens per round at a fixed k from conditional acceptance by place: 1 + sum of survivals."""
    last = len(conditional) - 1
    return 1.0 + float(np.cumprod([conditional[min(i, last)] for i in range(k)]).sum())


def alpha_from_r(r: float, k: float) -> float:
    """alpha from r = accepted / proposed at a fixed k: solves a (1 - a^k) / ((1 - a) k) = r.

    The left side grows from 0 to 1 with a, so the root is unique; r >= 1 gives 1, r <= 0 gives 0.
    k may be a mean and need not be whole.
    """
    if r <= 0.0:
        return 0.0
    if r >= 1.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        value = middle * (1 - middle**k) / ((1 - middle) * k) if middle < 1 else 1.0
        low, high = (middle, high) if value < r else (low, middle)
    return (low + high) / 2


def alpha_from_rounds(accepted: int, refused: int) -> tuple[float, float]:
    """(alpha, standard error) from counts: each accepted proposal is a success, each round in which one was
    refused is a failure; proposals behind a refusal say nothing. The error uses one pseudo-count a side."""
    total = accepted + refused
    if total == 0:
        return float("nan"), float("nan")
    smoothed = (accepted + 1) / (total + 2)
    return accepted / total, float(np.sqrt(smoothed * (1 - smoothed) / total))


def stationary(alpha: float, nat: int) -> tuple[float, float, float]:
    """(E[k], E[tau], P(full)) of the stateful rule on an endless text, from its Markov chain on 1..2 NAT."""
    size = 2 * nat
    chain = np.zeros((size, size))
    for k in range(1, size + 1):
        chain[k - 1, next_k("stateful", nat, k, k) - 1] += alpha**k
        chain[k - 1, next_k("stateful", nat, k, -1) - 1] += 1 - alpha**k
    system = np.vstack([chain.T - np.eye(size), np.ones(size)])
    weights = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    ks = np.arange(1, size + 1)
    tau = np.array([float(tau_fixed(alpha, int(k))) for k in ks])
    return float(weights @ ks), float(weights @ tau), float(weights @ alpha**ks)
