"""Where texts part, and how much reps scatter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweeps.compare.divergence import compare, describe, letters, repeatable
from sweeps.compare.noise import is_noisy, relative_mad

IDS = st.lists(st.integers(0, 5), max_size=12)


def test_the_first_difference_with_both_tokens() -> None:
    found = compare([1, 2, 3, 4], [1, 2, 9, 4])
    assert (found.same_prefix, found.token, found.other, found.position) == (2, 3, 9, 2)
    assert describe(found, "the baseline") == "token 2: 3 here, 9 in the baseline"


def test_equal_texts_and_one_that_ends_early() -> None:
    assert compare([1, 2], [1, 2]).equal
    assert compare([1, 2], [1, 2]).position is None
    short = compare([1, 2], [1, 2, 3])
    assert (short.equal, short.position) == (False, 2)
    assert describe(short, "x") == "token 2: end here, 3 in x"


@given(IDS, IDS)
def test_comparing_is_symmetric(a: list[int], b: list[int]) -> None:
    one, other = compare(a, b), compare(b, a)
    assert one.same_prefix == other.same_prefix
    assert (one.token, one.other) == (other.other, other.token)
    assert one.equal == (a == b)
    assert a[: one.same_prefix] == b[: one.same_prefix]


def test_equal_texts_share_a_letter() -> None:
    assert letters([("base", [1]), ("x", [2]), ("y", [1])]) == {"base": "A", "x": "B", "y": "A"}
    many = letters((n, [n]) for n in range(28))
    assert (many[25], many[26], many[27]) == ("Z", "AA", "AB")


def test_repeatability_needs_two_reps() -> None:
    assert repeatable([[1]]) is None
    assert repeatable([[1], [1]]) is True
    assert repeatable([[1], [1], [2]]) is False


def test_relative_mad() -> None:
    assert relative_mad([1.0]) is None
    assert is_noisy(None) is None
    assert relative_mad([100.0, 100.0, 150.0]) == 0
    assert relative_mad([80.0, 100.0, 120.0]) == 0.2
    assert is_noisy(0.1) is False
    assert is_noisy(0.11) is True
