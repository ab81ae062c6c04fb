"""Agreement strings: one character a text position, '1' where the draft's greedy token is the target's own
after the same true prefix, '0' where it is not, '?' where nobody looked, and a letter of `TIES` where the
draft's two best tokens are so close that rounding decides.

A string comes from one teacher-forced pass of the draft over the baseline's text (complete), or is traced
from the rounds of a run (nearly complete). It decides the rounds of every NAT exactly, as long as the text
is the one it was taken on and the draft computes alike on both paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from sweeps.costmodel.chance import warming
from sweeps.costmodel.params import Params, after_one, speedup, verify_at
from sweeps.costmodel.rules import Rounds

UNSEEN: Final = "?"
TIES: Final = "abcdefghijk"
"""Near ties: the chance of a '1' in tenths, from 'a' (0) to 'k' (1)."""
ROUNDING: Final = 0.08
"""sd of what rounding moves the gap between two logits by, from one way to compute them to another (a whole
sequence, token by token, several widths). From the bundled drafts, in bfloat16 and in float32: of 8,900
positions seen in rounds at six NATs none was other than scored at a gap above 0.2, a third below 0.05."""
EXACT_ROUNDING: Final = 0.01
"""The same where nothing is computed in less than float32: of 4,300 positions none was other than scored."""


def rounding_of(properties: Mapping[str, object]) -> float:
    """What rounding does under a draft's properties."""
    told = {name: str(value).lower() for name, value in properties.items()}
    exact = told.get("EXECUTION_MODE_HINT") == "accuracy" or (
        told.get("INFERENCE_PRECISION_HINT") == told.get("KV_CACHE_PRECISION") == "f32"
        and told.get("DYNAMIC_QUANTIZATION_GROUP_SIZE") == "0"
    )
    return EXACT_ROUNDING if exact else ROUNDING


def soften(bits: str, gaps: Sequence[float], rounding: float = ROUNDING) -> str:
    """A scored string with its near ties as letters.

    Args:
        gaps: by position, the logit of the text's token less the best other one.
        rounding: as `rounding_of` says.
    """
    out = []
    for bit, gap in zip(bits, gaps, strict=True):
        chance = 0.5 * (1 + math.erf(gap / rounding / math.sqrt(2)))
        out.append(TIES[round(10 * chance)] if 0.05 < chance < 0.95 else bit)
    return "".join(out)


def chance_of(symbol: str) -> float | None:
    """P('1') that a symbol of a string stands for; None where nothing is known."""
    if symbol in "01":
        return float(symbol)
    place = TIES.find(symbol)
    return place / 10 if place >= 0 else None


def completed(traced: str, scored: str) -> str:
    """A traced string, filled up by a scored one. What a near tie did in some rounds it may not do in the
    next ones, so there a trace counts twice as much as the score, and no more."""
    size = max(len(traced), len(scored))
    out = []
    for seen, told in zip(traced.ljust(size, UNSEEN), scored.ljust(size, UNSEEN), strict=True):
        if seen not in "01":
            out.append(told)
        elif told in TIES:
            out.append(TIES[round((TIES.index(told) + 20 * int(seen)) / 3)])
        else:
            out.append(seen)
    return "".join(out)


def trace(rounds: Rounds, budget: int) -> str:
    """The string that measured rounds reveal: accepted positions are '1', the refused one is '0'.

    What stays unseen: position 0 (prefill), the target's own token after a round that was accepted whole,
    and the end.
    """
    bits = [UNSEEN] * budget
    for position, c, m in zip(rounds.positions, rounds.proposals, rounds.accepted, strict=True):
        stop = min(position + m, budget)
        bits[position:stop] = "1" * max(stop - position, 0)
        if m < c and position + m < budget:
            bits[position + m] = "0"
    return "".join(bits)


def merge(strings: Iterable[str], limits: Iterable[int | None] | None = None) -> str:
    """One string from several of one text: the majority of who saw a position; a tie is unseen.

    Args:
        limits: per string, the tokens that its text shares with the common text; what comes after them is
            another text and does not count. None: all of it.
    """
    votes: dict[int, int] = {}
    length = 0
    kept = list(strings)
    for bits, limit in zip(kept, limits if limits is not None else [None] * len(kept), strict=True):
        length = max(length, len(bits))
        for i, bit in enumerate(bits[:limit]):
            if bit in "01":
                votes[i] = votes.get(i, 0) + (1 if bit == "1" else -1)
    marks = {True: "1", False: "0"}
    return "".join(marks[votes[i] > 0] if votes.get(i) else UNSEEN for i in range(length))


def fill(bits: str, seed: int, chance: float | None = None) -> str:
    """The string with its unseen positions and near ties drawn at random (unseen: `after_one`, where no
    chance is given)."""
    rng = np.random.default_rng(seed)
    p = after_one(bits) if chance is None else chance
    known = [chance_of(bit) for bit in bits]
    return "".join("01"[int(rng.random() < (p if each is None else each))] for each in known)


def resample(bits: str, count: int, seed: int, block: int = 16) -> list[str]:
    """Strings of the same length from blocks of the given one (circular block bootstrap).

    They say how much the rounds of another text of this kind would differ.
    """
    rng = np.random.default_rng(seed)
    body = bits[1:] or bits
    doubled = body * (2 + block // max(len(body), 1))
    need = -(-len(body) // block)
    starts = rng.integers(0, len(body), size=(count, need))
    return [bits[:1] + "".join(doubled[s : s + block] for s in row)[: len(body)] for row in starts]


class Oracle(NamedTuple):
    """The best that any rule for the number of proposals could reach on a string."""

    speedup: float
    proposals: tuple[int, ...]
    """What it proposes, round by round."""


def oracle(bits: str, params: Params, widest: int, *, unseen: bool = True) -> Oracle:
    """Upper bound over every dynamic NAT, by dynamic programming over (position, was the last round whole).

    Args:
        bits: the string; an unseen position counts as accepted unless `unseen` is False.
        params: times, path and budget; its own acceptance is not used.
        widest: the most tokens a round may propose.
    """
    budget = params.budget
    text = bits[:budget].ljust(budget, UNSEEN)
    run = [0] * (budget + 1)
    for i in range(budget - 1, -1, -1):
        run[i] = run[i + 1] + 1 if text[i] == "1" or (unseen and text[i] != "0") else 0
    verify = verify_at(params, np.arange(widest + 1, dtype=float)) + params.rest_ms
    verify += params.rest_proposal_ms * np.arange(widest + 1)
    widths = np.arange(widest + 1, dtype=float)
    draft = params.draft_ms * widths + params.draft_first_ms * warming(widths)
    catch_up = params.draft_ms * params.catch_up_inferences
    best = np.zeros((budget + widest + 2, 2))
    choice = np.zeros((budget, 2), dtype=int)
    for position in range(budget - 1, 0, -1):
        room = min(widest, budget - position - 1)
        for whole in (0, 1):
            low, pick = np.inf, 0
            for c in range(room + 1):
                m = min(c, run[position])
                cost = verify[c] + best[position + m + 1, int(0 < c == m)]
                if c:
                    cost += draft[c] + catch_up * whole
                if m < c:
                    cost += params.rest_mismatch_ms
                if cost < low:
                    low, pick = float(cost), c
            best[position, whole], choice[position, whole] = low, pick
    made: list[int] = []
    position, whole = 1, 0
    while position < budget:
        c = int(choice[position, whole])
        m = min(c, run[position])
        made.append(c)
        position, whole = position + m + 1, int(0 < c == m)
    total = float(best[1, 0]) + params.first_round_ms
    return Oracle((budget - 1) * params.target_ms / total, tuple(made))


def best_of(bits: str, params: Params, nats: Sequence[int]) -> tuple[int, float]:
    """(NAT, speed-up) of the fixed NAT that does best on the string."""
    on = replace(params, bits=bits)
    scored = [(speedup(on, nat), -nat) for nat in nats]
    top, nat = max(scored)
    return -nat, top
