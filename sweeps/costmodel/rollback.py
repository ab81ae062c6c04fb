"""A draft on the NPU's code path is a worse one for a while after a round that refused many of its proposals.

Where the agreement string says that a proposal is the target's token, the engine's draft still misses it more
often the more proposals were taken back before: measured on the emulated path (GenAI 2026.4, two sweeps of 36
rows, bfloat16 and float32; 1,100 and 1,400 judged proposals). After at most two refused ones nothing is lost;
continuous batching loses nothing ever. So a string alone overrates long rounds on this path. Why it happens
is not known to us; cutting back the draft's key-value cache is the likely place.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sweeps.costmodel.agreement import chance_of
from sweeps.costmodel.chance import Profile
from sweeps.costmodel.rules import next_k, widest
from sweeps.costmodel.terms import Key

KEPT: Final[dict[int, tuple[float, ...]]] = {
    3: (0.78, 0.93, 0.97),
    4: (0.69, 0.87, 0.97),
    5: (0.52, 0.75, 0.62),
    6: (0.49, 0.75, 0.62),
}
"""Proposals refused in the round before (6: or more) -> P(accepted where the string says 1) by place."""

MOVES: Final = 0.7
"""Rounds by which one such coin moves a call."""


def loses(key: Key) -> bool:
    """Whether a pair's draft is one of those."""
    return key.path == "stateful" and key.draft_device == "NPU"


def expected_on(bits: str, nat: int, budget: int, unseen: float) -> tuple[Profile, float]:
    """Expected counts of one call of the stateful rule on a string, and the sd of its number of rounds.

    Args:
        unseen: chance of a '1' where the string is unseen.

    Exact for the given chances: the probability of each (position, k, refused before) is carried forward.
    """
    chances = [chance_of(symbol) for symbol in bits[:budget].ljust(budget, "?")]
    agree = [unseen if chance is None else chance for chance in chances]
    reach: list[dict[tuple[int, int], float]] = [{} for _ in range(budget + 1)]
    reach[1][nat, 0] = 1.0
    rounds = full = caught = changed = doubt = 0.0
    by_width = np.zeros(widest("stateful", nat) + 1)
    for position in range(1, budget):
        room = budget - position - 1
        for (k, refused), p in reach[position].items():
            c = min(k, room)
            rounds += p
            by_width[c] += p
            kept = KEPT.get(refused, ())
            left = p
            for m in range(c):
                a = agree[position + m] * (kept[m] if m < len(kept) else 1.0)
                doubt += left * a * (1 - a)
                miss = left * (1 - a)
                if miss > 0:
                    then = next_k("stateful", nat, k, m)
                    changed += miss * _changes(c, then, room - m)
                    _add(reach[position + m + 1], then, min(c - m, 6), miss)
                left *= a
                if left <= 0:
                    break
            if left > 0:
                if c:
                    full += left
                    if room - c >= 2:
                        caught += left
                then = next_k("stateful", nat, k, c)
                changed += left * _changes(c, then, room - c)
                _add(reach[position + c + 1], then, 0, left)
    profile = Profile(
        np.asarray(rounds), np.asarray(full), np.asarray(caught), np.asarray(changed), by_width, budget - 1
    )
    return profile, MOVES * doubt**0.5


def _changes(c: int, then: int, left: int) -> bool:
    """Whether a round proposes another number than the c of the one before; `left`: tokens still to come."""
    return left >= 1 and min(then, left - 1) != c


def _add(into: dict[tuple[int, int], float], k: int, refused: int, p: float) -> None:
    state = (k, refused if refused in KEPT else 0)
    into[state] = into.get(state, 0.0) + p
