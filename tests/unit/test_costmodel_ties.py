"""Near ties in agreement strings: rounding decides them, so their rounds are expected, not replayed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.costmodel import chance
from sweeps.costmodel.agreement import (
    TIES,
    UNSEEN,
    chance_of,
    completed,
    fill,
    merge,
    rounding_of,
    soften,
)
from sweeps.costmodel.evidence import on_string
from sweeps.costmodel.rules import Rule, replay

RULES = st.sampled_from(["cb", "stateful"])


def test_only_close_calls_become_chances() -> None:
    gaps = [5.0, 0.0, -0.02, 0.05, -5.0, -math.inf, 0.3]
    soft = soften("1010001", gaps)
    assert [soft[i] for i in (0, 4, 5, 6)] == ["1", "0", "0", "1"]
    near = [chance_of(symbol) for symbol in soft[1:4]]
    assert near == [0.5, 0.4, 0.7]


def test_exact_arithmetic_leaves_next_to_no_near_ties() -> None:
    exact = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
    assert rounding_of(exact) == rounding_of({}) > 5 * rounding_of({"EXECUTION_MODE_HINT": "ACCURACY"})
    exact["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
    assert soften("10", [0.03, -0.03], rounding_of(exact)) == "10"
    assert "1" not in soften("10", [0.03, -0.03])


@given(st.floats(-1, 1))
def test_a_chance_grows_with_the_gap_and_agrees_with_the_bit(gap: float) -> None:
    here = chance_of(soften("1" if gap > 0 else "0", [gap]))
    more = chance_of(soften("1" if gap + 0.1 > 0 else "0", [gap + 0.1]))
    assert here is not None
    assert more is not None
    assert more >= here
    assert abs(here - 0.5 * (1 + math.erf(gap / 0.08 / math.sqrt(2)))) <= 0.05 + 1e-9


def test_symbols_without_knowledge_have_no_chance() -> None:
    assert chance_of(UNSEEN) is None
    assert [chance_of(symbol) for symbol in TIES] == [place / 10 for place in range(11)]


@settings(deadline=None, max_examples=40)
@given(rule=RULES, nat=st.integers(1, 4), bits=st.text("01cfi", min_size=3, max_size=8))
def test_counts_are_the_mean_over_what_the_ties_may_do(rule: Rule, nat: int, bits: str) -> None:
    """Every outcome of the ties with its probability, replayed by the exact rule."""
    bits = UNSEEN + bits
    ties = [i for i, symbol in enumerate(bits) if symbol in TIES]
    sums = np.zeros(5)
    for mask in range(2 ** len(ties)):
        made, p = list(bits), 1.0
        for place, i in enumerate(ties):
            hit = mask >> place & 1
            chance_here = chance_of(bits[i])
            assert chance_here is not None
            made[i] = str(hit)
            p *= chance_here if hit else 1 - chance_here
        one = chance.counted(replay("".join(made), rule, nat, len(bits)), rule, nat, len(bits))
        sums += p * np.array([one.rounds, one.proposals, one.full, one.caught_up, one.changed])
    found = on_string(bits, rule, nat, len(bits))
    counts = [found.rounds, found.proposals, found.full, found.caught_up, found.changed]
    assert [float(each) for each in counts] == pytest.approx(sums.tolist(), rel=1e-9, abs=1e-9)


def test_rounds_that_were_seen_settle_what_is_no_near_tie() -> None:
    assert completed("1?0", "0001") == "1001"
    assert completed("1", "f") == "i", "a near tie goes two thirds of the way to what one run showed"
    assert completed("0", "f") == "c"
    assert completed("??", "") == "??"


def test_drawn_strings_keep_their_chances() -> None:
    drawn = [fill("1" + "i" * 50 + "0", seed) for seed in range(40)]
    assert all(each[0] == "1" and each[-1] == "0" and set(each) <= {"0", "1"} for each in drawn)
    share = sum(each[1:-1].count("1") for each in drawn) / (40 * 50)
    assert share == pytest.approx(0.8, abs=0.04)
    assert merge(["1f", "1f"]) == "1?", "a chance is no vote"
