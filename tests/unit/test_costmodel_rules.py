"""The round rules, against traces taken from the library, and replay on agreement strings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.costmodel import agreement, lookup
from sweeps.costmodel.params import Params, speedup
from sweeps.costmodel.rules import Rule, proposals_of, replay, rule_of

RULES = st.sampled_from(["cb", "stateful"])
BITS = st.text("01", min_size=2, max_size=200)


def test_trace_of_the_stateful_rule() -> None:
    """Taken from a run: NAT 3, budget 32, every proposal accepted but in the first and two later rounds."""
    bursts = (1, 1, 3, 5, 7, 5, 6, 2, 2)
    assert proposals_of(bursts, "stateful", 3, 32) == (3, 2, 4, 6, 6, 5, 3, 1)


def test_a_round_cut_by_the_budget_counts_as_a_miss() -> None:
    # k is 4 with 3 tokens remaining: 2 are proposed and accepted, which is not k.
    assert proposals_of((1, 3, 3), "stateful", 2, 7) == (2, 2)
    assert replay("1" * 7, "stateful", 2, 7).proposals == (2, 2)


def test_one_token_remaining_is_a_round_without_proposals() -> None:
    for rule in ("cb", "stateful"):
        played = replay("?" + "1" * 4, rule, 3, 6)
        assert played.bursts == (4, 1)
        assert played.proposals == (3, 0)


def test_unseen_positions_count_as_asked() -> None:
    assert replay("?1", "cb", 2, 5).accepted == (1, 0, 0)
    assert replay("?1", "cb", 2, 5, unseen=True).accepted == (2, 0)


def test_paths_without_a_draft_have_no_rule() -> None:
    assert rule_of("npu") == "stateful"
    with pytest.raises(ValueError, match="sdpa"):
        rule_of("sdpa")


@given(bits=BITS, rule=RULES, nat=st.integers(1, 12))
def test_replay_keeps_the_books(bits: str, rule: Rule, nat: int) -> None:
    budget = len(bits)
    played = replay(bits, rule, nat, budget)
    assert 1 + sum(played.bursts) == budget
    assert all(0 <= m <= c <= 2 * nat for c, m in zip(played.proposals, played.accepted, strict=True))
    assert proposals_of((1, *played.bursts), rule, nat, budget) == played.proposals


@given(bits=BITS, rule=RULES, nat=st.integers(1, 12))
def test_a_trace_replays_to_the_rounds_it_came_from(bits: str, rule: Rule, nat: int) -> None:
    played = replay(bits, rule, nat, len(bits))
    string = agreement.trace(played, len(bits))
    assert replay(string, rule, nat, len(bits)) == played
    assert all(seen in (true, "?") for seen, true in zip(string[1:], bits[1:], strict=True))


@given(bits=BITS, nat=st.integers(2, 8))
def test_a_wide_trace_foretells_every_smaller_nat(bits: str, nat: int) -> None:
    """What a NAT judges, a smaller one judges too: merged with the true string nothing changes."""
    string = agreement.merge([agreement.trace(replay(bits, "cb", nat, len(bits)), len(bits)), "?" + bits[1:]])
    for smaller in range(1, nat):
        assert replay(string, "cb", smaller, len(bits)) == replay(bits, "cb", smaller, len(bits))


def test_merge_takes_the_majority_and_stops_at_a_limit() -> None:
    assert agreement.merge(["?11", "?10", "?1?"]) == "?1?"
    assert agreement.merge(["?11", "?10", "?10"]) == "?10"
    assert agreement.merge(["?11", "?100"], limits=[2, None]) == "?100"


def test_fill_keeps_what_is_seen() -> None:
    filled = agreement.fill("?1?01", seed=1)
    assert filled[1] == "1"
    assert filled[3:] == "01"
    assert set(filled) <= {"0", "1"}


@settings(deadline=None, max_examples=50)
@given(bits=BITS, rule=RULES, data=st.data())
def test_no_nat_beats_the_oracle(bits: str, rule: Rule, data: st.DataObject) -> None:
    times = st.floats(0.0, 30.0)
    params = Params(
        target_ms=20.0,
        draft_ms=data.draw(times),
        verify_base_ms=data.draw(st.floats(1.0, 40.0)),
        verify_slope_ms=data.draw(times),
        rest_ms=data.draw(times),
        rest_proposal_ms=data.draw(times),
        rest_mismatch_ms=data.draw(times),
        draft_first_ms=data.draw(times),
        path=rule,
        budget=len(bits),
        bits="?" + bits[1:],
    )
    best = agreement.oracle(bits, params, 8)
    assert sum(1 for _ in best.proposals) >= 1
    for nat in (1, 2, 3, 4):
        assert speedup(params, nat) <= best.speedup * (1 + 1e-9)


def test_oracle_by_hand() -> None:
    """Three tokens after the first, '1', '0', '1': propose one, it is accepted; the next two come alone."""
    params = Params(10.0, 1.0, 10.0, path="cb", budget=4, catch_up=0.0)
    best = agreement.oracle("?101", params, 4)
    assert best.proposals == (1, 0)
    assert best.speedup == pytest.approx(30 / 21)


def test_prompt_lookup_finds_the_first_match_of_the_longest_ngram() -> None:
    assert lookup.candidates([1, 2, 3, 9, 1, 2, 3, 7, 1, 2, 3], 3, 3) == [9, 1, 2]
    assert lookup.candidates([5, 6, 7, 6], 4, 3) == [7, 6]
    assert lookup.candidates([1, 2, 3], 3, 3) == []
    assert lookup.candidates([1, 1], 0, 1) == []


def test_prompt_lookup_replay() -> None:
    played = lookup.replay([1, 2, 3, 4], [1, 2, 3, 4, 1, 2], nat=2, max_ngram=2)
    # After the first token (1): 2, 3 are proposed and accepted, 4 is the target's own; then 1, and the end.
    assert played.accepted == (2, 1)
    counts = lookup.counted(played, 2)
    assert counts.by_width.tolist() == [0, 0, 2]
