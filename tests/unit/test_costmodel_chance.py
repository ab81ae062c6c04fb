"""Expected counts against simulation of the exact rule, and the closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.costmodel import chance
from sweeps.costmodel.params import Params, profile, speedup, total_ms
from sweeps.costmodel.rules import Rule, replay, widest

RULES = st.sampled_from(["cb", "stateful"])


def simulated(alpha: float, rule: Rule, nat: int, budget: int, calls: int, seed: int) -> list[chance.Profile]:
    """Profiles of calls whose acceptance is drawn: a string of independent bits, played by the rule."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(calls):
        bits = "".join("01"[int(hit)] for hit in rng.random(budget) < alpha)
        out.append(chance.counted(replay(bits, rule, nat, budget), rule, nat, budget))
    return out


@settings(deadline=None, max_examples=40)
@given(rule=RULES, nat=st.integers(1, 4), alpha=st.floats(0.0, 1.0), budget=st.integers(2, 9))
def test_expectation_is_the_mean_over_all_texts(rule: Rule, nat: int, alpha: float, budget: int) -> None:
    """Every string of a short budget, with its probability: no sampling error, any difference is a fault."""
    params = Params(
        80.0, 10.0, 75.0, 3.0, 5.0, 4.0, rest_mismatch_ms=9.0, path=rule, budget=budget, alpha=alpha
    )
    exact = chance.expected(np.array([alpha]), rule, nat, budget)
    sums = np.zeros(6)
    for mask in range(2 ** (budget - 1)):
        bits = "?" + f"{mask:0{budget - 1}b}"
        p = alpha ** bits.count("1") * (1 - alpha) ** bits.count("0")
        one = chance.counted(replay(bits, rule, nat, budget), rule, nat, budget)
        ms = float(total_ms(params, one))
        sums += p * np.array([one.rounds, one.proposals, one.full, one.caught_up, one.changed, ms])
    found = [
        exact.rounds[0],
        exact.proposals[0],
        exact.full[0],
        exact.caught_up[0],
        exact.changed[0],
        total_ms(params, exact)[0],
    ]
    assert [float(v) for v in found] == pytest.approx(sums.tolist(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("budget", [24, 128])
@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.9])
@pytest.mark.parametrize(
    ("rule", "nat"), [("cb", 1), ("cb", 5), ("stateful", 1), ("stateful", 3), ("stateful", 5)]
)
def test_expectation_is_within_one_percent_of_simulation(
    rule: Rule, nat: int, alpha: float, budget: int
) -> None:
    """E[k], tokens per round and total time; seeds are fixed, the sample's own error is about 0.2 %."""
    played = simulated(alpha, rule, nat, budget, 200_000 // budget, 11)
    params = Params(
        80.0, 10.0, 75.0, 3.0, 5.0, 4.0, rest_mismatch_ms=9.0, path=rule, budget=budget, alpha=alpha
    )
    exact = profile(params, nat)
    rounds = sum(float(p.rounds) for p in played)
    k = sum(float(p.proposals) for p in played) / rounds
    tau = sum(p.tokens for p in played) / rounds
    ms = float(np.mean([total_ms(params, p) for p in played]))
    assert float(exact.proposals_per_round) == pytest.approx(k, rel=0.01)
    assert float(exact.tokens_per_round) == pytest.approx(tau, rel=0.01)
    assert float(total_ms(params, exact)) == pytest.approx(ms, rel=0.01)


@given(rule=RULES, nat=st.integers(1, 8), alpha=st.floats(0.0, 1.0), budget=st.integers(2, 100))
@settings(deadline=None, max_examples=60)
def test_books_of_the_expectation(rule: Rule, nat: int, alpha: float, budget: int) -> None:
    counts = chance.expected(np.array([alpha]), rule, nat, budget)
    rounds = float(counts.rounds[0])
    assert counts.by_width.sum() == pytest.approx(rounds)
    assert 1 - 1e-9 <= rounds <= budget - 1 + 1e-9
    assert float(counts.full[0]) <= rounds + 1e-9
    assert float(counts.caught_up[0]) <= float(counts.full[0]) + 1e-9
    # Every refused proposal ends a round, every other judged one was accepted.
    assert float(counts.accepted[0]) == pytest.approx(budget - 1 - rounds)


def test_long_texts_reach_the_closed_forms() -> None:
    alpha = 0.7
    for nat in (1, 3, 5):
        fixed = chance.expected(np.array([alpha]), "cb", nat, 4000)
        assert float(fixed.tokens_per_round[0]) == pytest.approx(
            float(chance.tau_fixed(alpha, nat)), rel=2e-3
        )
        k, tau, whole = chance.stationary(alpha, nat)
        moving = chance.expected(np.array([alpha]), "stateful", nat, 4000)
        assert float(moving.proposals_per_round[0]) == pytest.approx(k, rel=3e-3)
        assert float(moving.tokens_per_round[0]) == pytest.approx(tau, rel=3e-3)
        assert float(moving.full[0] / moving.rounds[0]) == pytest.approx(whole, rel=5e-3)


@given(alpha=st.floats(0.01, 0.99), k=st.integers(1, 12))
def test_alpha_and_r_are_inverse(alpha: float, k: int) -> None:
    r = (float(chance.tau_fixed(alpha, k)) - 1) / k
    assert chance.alpha_from_r(r, k) == pytest.approx(alpha, abs=1e-6)


def test_acceptance_by_place_needs_no_constant_alpha() -> None:
    conditional = np.array([0.6, 0.7, 0.9])
    counts = chance.expected(conditional[None, :], "cb", 3, 3000)
    assert float(counts.tokens_per_round[0]) == pytest.approx(chance.tau_by_place(conditional, 3), rel=2e-3)


@given(bits=st.text("01", min_size=4, max_size=60), rule=RULES, nat=st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_a_known_string_is_no_chance(bits: str, rule: Rule, nat: int) -> None:
    """The expectation on a string that is seen throughout is its replay."""
    budget = len(bits)
    accept = chance.accept_matrix(bits, budget, widest(rule, nat), np.array([0.5]))
    many = chance.expected(accept, rule, nat, budget)
    known = chance.counted(replay(bits, rule, nat, budget), rule, nat, budget)
    assert float(many.rounds[0]) == pytest.approx(float(known.rounds))
    assert float(many.full[0]) == pytest.approx(float(known.full))
    assert float(many.caught_up[0]) == pytest.approx(float(known.caught_up))
    assert float(many.changed[0]) == pytest.approx(float(known.changed))
    assert many.by_width[0].tolist() == pytest.approx(known.by_width.tolist())


def test_what_changes_the_width_of_a_step() -> None:
    """By hand: on the stateful path every other number of proposals, on cb at NAT 1 the draft's way back."""
    moving = replay("?1111101", "stateful", 1, 8)
    assert moving.proposals == (1, 2, 1, 0)  # The seed, more, cut by the budget, the last token alone.
    assert float(chance.counted(moving, "stateful", 1, 8).changed) == 3
    fixed = replay("?1111011100", "cb", 1, 11)
    assert fixed.accepted == (1, 1, 0, 1, 1, 0)  # The draft takes in 1, 2, 2, 1, 2 tokens.
    counts = chance.counted(fixed, "cb", 1, 11)
    assert (float(counts.changed), float(counts.caught_up)) == (0, 1)


def test_unseen_positions_are_averaged_over() -> None:
    bits = "?1?01?11"
    alpha, total, weight = 0.3, 0.0, 0.0
    holes = [i for i, bit in enumerate(bits) if bit == "?" and i]
    for mask in range(2 ** len(holes)):
        text, p = list(bits), 1.0
        for j, hole in enumerate(holes):
            hit = mask >> j & 1
            text[hole] = "01"[hit]
            p *= alpha if hit else 1 - alpha
        total += p * len(replay("".join(text), "stateful", 2, len(bits)).proposals)
        weight += p
    on = Params(1.0, 0.0, 1.0, path="stateful", budget=len(bits), bits=bits, alpha=alpha)
    assert weight == pytest.approx(1.0)
    assert float(profile(on, 2).rounds) == pytest.approx(total)


def test_interpolation_in_alpha_is_exact() -> None:
    alpha = np.random.default_rng(3).random(200)
    for rule in ("cb", "stateful"):
        for nat, budget in ((1, 32), (4, 128), (8, 256)):
            fast = chance.expected_many(alpha, rule, nat, budget)
            slow = chance.expected(alpha, rule, nat, budget)
            assert np.allclose(fast.rounds, slow.rounds, rtol=1e-6)
            assert np.allclose(fast.by_width, slow.by_width, atol=1e-4)


def test_nothing_to_predict_is_refused() -> None:
    with pytest.raises(ValueError, match="acceptance"):
        speedup(Params(1.0, 0.1, 1.0), 3)
    with pytest.raises(ValueError, match="rounds"):
        speedup(Params(1.0, 0.1, 1.0, alpha=0.5, budget=1), 3)
