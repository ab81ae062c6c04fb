"""The engines' rules for how many tokens a round proposes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweeps.measure.proposals import Rule, entries, replay, rule_of, split_draft


def test_the_adaptive_rule_gives_the_traced_proposals() -> None:
    # A pair in which everything is accepted: NAT 3, 32 tokens, as the library did it.
    bursts = [1, 1, 3, 5, 7, 5, 6, 2, 2]
    assert replay("adaptive", 3, 32, bursts) == [3, 2, 4, 6, 6, 5, 3, 1]


def test_a_round_cut_by_the_budget_counts_as_a_miss() -> None:
    # k would be 5 after the first round, but 4 are left: 3 proposals, all accepted, and k still shrinks.
    assert replay("adaptive", 3, 9, [1, 4, 3, 1]) == [3, 3, 0]


def test_continuous_batching_proposes_a_fixed_number_until_the_end() -> None:
    assert replay("fixed", 3, 10, [1, 4, 1, 1, 3]) == [3, 3, 3, 2]
    assert replay("fixed", 3, 10, [1, 4, 4, 1]) == [3, 3, 0]


def test_the_rule_belongs_to_the_path() -> None:
    assert rule_of("cb", "speculative") == "fixed"
    assert rule_of("stateful", "speculative") == "adaptive"
    assert rule_of("npu", "speculative") == "adaptive"
    assert rule_of("cb", "prompt-lookup") == "fixed"


def test_continuous_batching_runs_the_draft_in_a_round_without_room() -> None:
    assert entries("fixed", [3, 3, 0]) == [3, 3, 1]
    assert entries("adaptive", [3, 3, 0]) == [3, 3, 0]


def test_draft_times_are_split_by_round_without_the_prefill() -> None:
    assert split_draft([9.0, 1.0, 2.0, 3.0, 4.0], [1, 3]) == [1.0, 9.0]
    assert split_draft([1.0, 2.0, 3.0, 4.0], [1, 3]) == [1.0, 9.0]
    assert split_draft([1.0, 2.0, 3.0], [1, 3]) is None
    assert split_draft([1.0] * 6, [1, 3]) is None


@given(
    rule=st.sampled_from(["fixed", "adaptive"]),
    nat=st.integers(1, 8),
    budget=st.integers(1, 80),
    choice=st.lists(st.integers(0, 16), min_size=80, max_size=80),
)
def test_no_round_proposes_more_than_the_budget_or_the_rule_allows(
    rule: Rule, nat: int, budget: int, choice: list[int]
) -> None:
    bursts = [1]
    for wish in choice:
        left = budget - sum(bursts)
        if left < 1:
            break
        room = replay(rule, nat, budget, [*bursts, 1])[-1]
        assert 0 <= room <= min(2 * nat if rule == "adaptive" else nat, left - 1)
        bursts.append(1 + min(wish, room))
    assert sum(bursts) == budget
    proposals = replay(rule, nat, budget, bursts)
    assert len(proposals) == len(bursts) - 1
    assert sum(bursts) - len(bursts) <= sum(proposals)
