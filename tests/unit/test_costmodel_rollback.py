"""What an NPU draft loses after refused proposals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.costmodel import chance, rollback
from sweeps.costmodel.rules import next_k, replay
from sweeps.costmodel.terms import Key

BITS = st.text("01", min_size=2, max_size=40).map(lambda text: "?" + text)
NPU = Key("t", "CPU", "d", "NPU", "stateful")
CB = Key("t", "CPU", "d", "CPU", "cb")


@settings(deadline=None, max_examples=60)
@given(bits=BITS)
def test_nothing_is_lost_where_at_most_two_are_refused(bits: str) -> None:
    """NAT 1 never proposes more than two."""
    budget = len(bits)
    found, sd = rollback.expected_on(bits, 1, budget, 0.5)
    exact = chance.counted(replay(bits, "stateful", 1, budget), "stateful", 1, budget)
    assert float(found.rounds) == pytest.approx(float(exact.rounds))
    assert found.by_width.tolist() == pytest.approx(exact.by_width.tolist())
    assert (float(found.full), float(found.caught_up), float(found.changed)) == pytest.approx(
        (float(exact.full), float(exact.caught_up), float(exact.changed))
    )
    assert sd == 0.0


def played(bits: str, nat: int, budget: int, rng: np.random.Generator) -> int:
    """Rounds of one call in which the losses are drawn."""
    position, k, refused, rounds = 1, nat, 0, 0
    while position < budget:
        c = min(k, budget - position - 1)
        m = 0
        while m < c:
            kept = rollback.KEPT.get(min(refused, 6), ())
            keeps = rng.random() < (kept[m] if m < len(kept) else 1.0)
            if bits[position + m] != "1" or not keeps:
                break
            m += 1
        refused = c - m
        k = next_k("stateful", nat, k, m)
        position += m + 1
        rounds += 1
    return rounds


@pytest.mark.parametrize("nat", [2, 4, 8])
def test_expected_rounds_are_the_mean_of_played_ones(nat: int) -> None:
    rng = np.random.default_rng(5)
    bits = "?" + "".join("01"[int(hit)] for hit in rng.random(127) < 0.8)
    rounds = [played(bits, nat, 128, rng) for _ in range(4000)]
    found, sd = rollback.expected_on(bits, nat, 128, 0.5)
    assert float(found.rounds) == pytest.approx(np.mean(rounds), rel=0.01)
    assert 0.3 * np.std(rounds) < sd < 3 * np.std(rounds) + 1e-9
    clean = len(replay(bits, "stateful", nat, 128).accepted)
    assert float(found.rounds) > clean or nat == 2


def test_only_drafts_on_the_npus_code_path_lose() -> None:
    assert rollback.loses(NPU)
    assert not rollback.loses(CB)
    assert not rollback.loses(NPU._replace(draft_device="CPU"))
