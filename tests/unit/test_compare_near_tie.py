"""Near ties are told from real disagreements by the target's own margins."""

from __future__ import annotations

import pytest

from sweeps.compare.divergence import compare
from sweeps.compare.near_tie import near_tie
from sweeps.events.types import Agreement

BASE = [5, 6, 7, 8]


def own(margin: float, token_ids: list[int] | None = None) -> Agreement:
    return Agreement(
        run="r",
        prompt="p",
        bits="1111",
        token_ids=token_ids or BASE,
        best=BASE,
        second=[1, 2, 3, 4],
        margins=[9.0, 9.0, margin, 9.0],
    )


@pytest.mark.parametrize(
    ("text", "margin", "said"),
    [
        ([5, 6, 3, 8], 0.1, "a near tie, 0.10 logits between the two"),
        ([5, 6, 3, 8], 2.0, "not a near tie, 2.00 logits between the two"),
        ([5, 6, 99, 8], 0.1, "no near tie: the target's two best there are 7 and 3"),
        (BASE, 0.1, None),
        ([5, 6], 0.1, None),
    ],
)
def test_the_step_where_texts_part(text: list[int], margin: float, said: str | None) -> None:
    assert near_tie(own(margin), BASE, compare(text, BASE)) == said


def test_a_margin_behind_another_prefix_says_nothing() -> None:
    other = own(0.1, [5, 1, 7, 8])
    assert near_tie(other, BASE, compare([5, 6, 3, 8], BASE)) is None
