"""Prompt lookup replayed on a text: what the n-gram search would have proposed, without running it.

The rule, as read in the library's source (continuous_batching_for_prompt_lookup.cpp): the last n tokens,
n from max_ngram_size down to 1, are searched from the start of prompt + generated text; what follows the
first match is proposed, at most min(NAT, remaining - 1) tokens. The candidates are padded to NAT with a
token that never matches, so every round verifies NAT + 1 tokens, match or no match, also the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sweeps.costmodel.chance import Profile
from sweeps.costmodel.rules import Rounds


class Text(NamedTuple):
    """What a replay needs, as tokens."""

    prompt: Sequence[int]
    text: Sequence[int]
    """The baseline's."""


Texts = Mapping[tuple[str, str], Text]
"""By (target, prompt)."""


def with_more_texts(known: Texts, more: Texts) -> Texts:
    """Of two sweeps; the later one's win unless they are shorter: a long text serves smaller budgets."""
    kept = {
        key: one for key, one in more.items() if key not in known or len(one.text) >= len(known[key].text)
    }
    return {**known, **kept}


def candidates(ids: Sequence[int], count: int, max_ngram: int) -> list[int]:
    """What the search proposes after `ids`: at most `count` tokens, none without a match."""
    if count <= 0:
        return []
    length = len(ids)
    longest = max_ngram if max_ngram < length else length // 2
    for n in range(longest, 0, -1):
        tail = ids[length - n :]
        for start in range(length - n):
            if ids[start : start + n] == tail:
                return list(ids[start + n : start + n + count])
    return []


def replay(prompt: Sequence[int], text: Sequence[int], nat: int, max_ngram: int) -> Rounds:
    """The rounds of prompt lookup that generates `text` (whole: its length is the budget).

    `proposals` counts the real candidates, without the padding.
    """
    ids = [*prompt, *text]
    budget, before = len(text), len(prompt)
    position = 1
    out: list[tuple[int, int, int]] = []
    while position < budget:
        found = candidates(ids[: before + position], min(nat, budget - position - 1), max_ngram)
        m = 0
        while m < len(found) and found[m] == text[position + m]:
            m += 1
        out.append((position, len(found), m))
        position += m + 1
    return Rounds(tuple(p for p, _, _ in out), tuple(c for _, c, _ in out), tuple(m for _, _, m in out))


def counted(rounds: Rounds, nat: int) -> Profile:
    """The profile of such rounds: each of them is as wide as NAT, whatever was found."""
    by_width = np.zeros(nat + 1)
    by_width[nat] = len(rounds.proposals)
    full = sum(1 for m in rounds.accepted if m == nat)
    return Profile(
        np.asarray(float(len(rounds.proposals))),
        np.asarray(float(full)),
        np.asarray(0.0),
        np.asarray(0.0),
        by_width,
        sum(rounds.bursts),
    )
