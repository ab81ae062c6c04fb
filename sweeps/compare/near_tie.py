"""Was it close? The target's own two best candidates where another text left its text.

Batched verification rounds differently from decoding one token at a time, so that two nearly equal
candidates may swap. The target is asked once: a teacher-forced pass over its own text gives the margin
between its first two choices at every position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sweeps.compare.divergence import Divergence
from sweeps.events.types import Agreement

NEAR: Final = 0.5
"""Logits: below it the first choice is less than 1.65 times as likely as the second (exp 0.5)."""


def near_tie(own: Agreement, text: Sequence[int], found: Divergence) -> str | None:
    """A phrase on the step where `text` and another one part; None when the model was not asked there.

    Args:
        own: the target scored on a text of its own.
        text: the baseline's text, one of the two compared.
        found: where they part.
    """
    at = found.position
    if at is None or found.token is None or found.other is None:
        return None
    if at >= min(len(own.margins), len(own.best), len(own.second)):
        return None
    if list(own.token_ids[:at]) != list(text[:at]):
        return None
    candidates = {own.best[at], own.second[at]}
    margin = own.margins[at]
    if not {found.token, found.other} <= candidates:
        return f"no near tie: the target's two best there are {own.best[at]} and {own.second[at]}"
    word = "a near tie" if margin < NEAR else "not a near tie"
    return f"{word}, {margin:.2f} logits between the two"
