"""Ratios with intervals, and when two rows must not be divided."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.compare.speedup import Side, identity_rate, paired_ratio, ratio, unlike
from sweeps.compare.student import t_quantile

RATES = st.lists(st.floats(1, 1e4), min_size=2, max_size=8)


@pytest.mark.parametrize(
    ("df", "expected"),
    [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (4, 2.7764),
        (5, 2.5706),
        (10, 2.2281),
        (30, 2.0423),
        (1e7, 1.95996),
    ],
)
def test_t_quantiles_of_the_printed_tables(df: float, expected: float) -> None:
    assert t_quantile(df) == pytest.approx(expected, abs=6e-5)


def test_t_quantile_of_other_levels_and_of_nonsense() -> None:
    assert t_quantile(10, 0.99) == pytest.approx(3.1693, abs=6e-5)
    assert t_quantile(2.5) == pytest.approx(3.5747, abs=1e-3)
    with pytest.raises(ValueError):
        t_quantile(0)


def test_the_interval_is_welchs_on_the_logarithm() -> None:
    rates, base = [16.0, 16.5, 17.0], [12.0, 12.2, 12.4]
    found = ratio(rates, base)
    assert found.value == pytest.approx(16.5 / 12.2)
    a, b = (0.5 / 16.5) ** 2 / 3, (0.2 / 12.2) ** 2 / 3
    df = (a + b) ** 2 / (a**2 / 2 + b**2 / 2)
    half = t_quantile(df) * math.sqrt(a + b)
    assert found.lo == pytest.approx(found.value * math.exp(-half))
    assert found.hi == pytest.approx(found.value * math.exp(half))
    assert not found.paired


def test_fewer_than_two_reps_have_no_interval() -> None:
    assert ratio([2.0], [1.0, 1.1])[1:3] == (None, None)
    assert ratio([2.0, 2.1], [1.0])[1:3] == (None, None)
    assert paired_ratio({0: 2.0, 1: 2.1}, {1: 1.0}) == (2.1, None, None, True)


def test_reps_without_scatter_have_an_interval_of_no_width() -> None:
    assert ratio([2.0, 2.0], [1.0, 1.0]) == (2.0, 2.0, 2.0, False)


def test_pairs_take_out_what_disturbs_both() -> None:
    # The second pass ran on a hot machine: both sides lost a third.
    ours, base = {0: 30.0, 1: 20.0, 2: 31.0}, {0: 15.0, 1: 10.0, 2: 15.5}
    paired, apart = paired_ratio(ours, base), ratio(list(ours.values()), list(base.values()))
    assert paired.value == apart.value == pytest.approx(2)
    assert paired.lo == pytest.approx(2)
    assert apart.lo is not None and apart.lo < 1.5


@given(rates=RATES, base=RATES)
def test_an_interval_holds_its_ratio_and_inverts_with_it(rates: list[float], base: list[float]) -> None:
    found, inverse = ratio(rates, base), ratio(base, rates)
    assert found.lo is not None and found.hi is not None and inverse.lo is not None
    assert found.lo <= found.value <= found.hi
    assert inverse.lo == pytest.approx(1 / found.hi)


SIDE = Side("big", "CPU", "story", "cb", 128, 40, False, (("KV_CACHE_PRECISION", "u8"),), "ok")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"model": "other"}, "target"),
        ({"device": "GPU"}, "device"),
        ({"prompt": "code"}, "prompt"),
        ({"path": "sdpa"}, "path in the baseline: sdpa against cb"),
        ({"tokens": 127}, "token count in the baseline: 127 against 128"),
        ({"prompt_tokens": 41}, "length of the prompt"),
        ({"prefix_caching": True}, "prefix caching"),
        ({"properties": ()}, "properties in the baseline: KV_CACHE_PRECISION"),
        ({"properties": (("KV_CACHE_PRECISION", "f16"),)}, "KV_CACHE_PRECISION"),
        ({"status": "failed"}, "the baseline is failed"),
    ],
)
def test_unlike_rows_are_not_divided(change: dict[str, object], word: str) -> None:
    assert word in unlike(SIDE, replace(SIDE, **change))  # type: ignore[arg-type]
    assert unlike(SIDE, SIDE) == ""


@given(
    rounds=st.integers(1, 200),
    per_round=st.integers(1, 8),
    draft=st.floats(0, 50),
    verify=st.floats(0, 50),
    rest=st.floats(0.01, 10),
)
def test_the_round_budget_is_an_identity_of_accounting(
    rounds: int, per_round: int, draft: float, verify: float, rest: float
) -> None:
    wall = (draft + verify + rest) * rounds
    tokens = rounds * per_round
    rate = identity_rate(tokens, rounds, draft * rounds, verify * rounds, wall)
    assert rate == pytest.approx(tokens / wall * 1000)


def test_timers_beyond_the_clock_break_the_identity() -> None:
    # A prefill of 60 ms that was taken for draft time of the rounds.
    rate = identity_rate(20, 10, 100, 60, 100)
    assert rate == pytest.approx(20 / 160 * 1000)
    # A first burst that was delivered 5 ms late.
    assert identity_rate(20, 10, 65, 40, 100) == pytest.approx(20 / 100 * 1000)
    assert identity_rate(0, 0, 0, 0, 0) is None
