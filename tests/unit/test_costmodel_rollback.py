"""What an NPU draft loses after refused proposals, and what a draft costs behind its target's passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.costmodel import chance, probes, rollback
from sweeps.costmodel.calibrate import Calibration, Donor, widened
from sweeps.costmodel.evidence import longest
from sweeps.costmodel.lookup import Texts
from sweeps.costmodel.rules import next_k, replay
from sweeps.costmodel.terms import LOOKUP, NAMES, Fit, Key
from sweeps.events.types import LoopTimes, VerifyWidths

BITS = st.text("01", min_size=2, max_size=40).map(lambda text: "?" + text)
NPU = Key("t", "CPU", "d", "NPU", "stateful")
CB = Key("t", "CPU", "d", "CPU", "cb")
PAIR = ("t", "CPU", "d", "CPU")


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


TIMES = LoopTimes(
    run="r",
    prompt="p",
    verify_ms={"2": [6.0, 6.0], "4": [8.0, 8.8]},
    again_ms={"2": [5.0, 5.0], "4": [8.0, 8.0]},
    first_ms={"1 after 1": [1.8, 2.2, 2.0], "2 after 1": [2.9], "1 after 2": [9.0], "2 after 2": [9.0]},
    later_ms=[[1.5, 1.5], [1.0], [1.0, 1.2, 0.8], [1.0]],
    back_ms=[2.0, 2.2],
)


def test_loop_times_become_shares_of_a_step_in_full_swing() -> None:
    found = probes.loop(TIMES, PAIR)
    assert found is not None
    assert (found.first, found.second, found.step_ms) == pytest.approx((2.0, 1.5, 1.0))
    assert found.change_ms == pytest.approx((0.9 + 0.6) / 2)
    assert found.verify == pytest.approx((1.2 + 1.05) / 2)
    empty = LoopTimes(run="r", prompt="p", verify_ms={}, again_ms={}, first_ms={}, later_ms=[])
    assert probes.loop(empty, PAIR) is None
    stopped = LoopTimes(
        run="r",
        prompt="p",
        verify_ms={"1": [0.0]},
        again_ms={"1": [0.0]},
        first_ms={"1 after 1": [0.0], "2 after 1": [0.0]},
        later_ms=[[0.0]] * 4,
        back_ms=[0.0],
    )
    assert probes.loop(stopped, PAIR) is None, "a clock that stood still teaches nothing"


def lookup_donor() -> Donor:
    values = {"verify_base": 10.0, "verify_slope": 1.0, "rest": 0.5}
    theta = np.array([values.get(name, 0.0) for name in NAMES])
    fit = Fit(
        theta, np.diag(np.full(len(NAMES), 1e-4)), 100, (1, 5), first_round_ms=3.0, level_target_ms=10.0
    )
    return Donor(Key("t", "CPU", LOOKUP, "CPU", "cb"), fit, 10.0, None)


def test_a_forecast_knows_the_drafts_dear_first_steps_and_its_prefill() -> None:
    loop = probes.loop(TIMES, PAIR)
    assert loop is not None
    blind = Calibration((lookup_donor(),)).borrow(CB, 10.0, 1.0, 7.0)
    told = Calibration((lookup_donor(),), (loop,)).borrow(CB, 10.0, 1.0, 7.0)
    assert blind["draft_round"] == 0.0
    d = told["draft"]
    assert d == pytest.approx(1.0 - 0.04), "less what the draft's own pipeline does around each token"
    assert told["draft_round"] == pytest.approx((1.0 + 0.6 * 0.5) * d)
    assert told["catch_up"] == pytest.approx(2 * loop.change_ms), "its step's width changes there and back"
    assert told["verify_base"] == pytest.approx(10.0 * loop.verify)
    assert told.first_round_ms == pytest.approx(3.0 + 7.0), "the draft's prefill is part of round 1"
    assert "timed behind" in told.source
    other = Calibration((lookup_donor(),), (loop,)).borrow(CB._replace(draft="e"), 10.0, 1.0)
    assert other["draft_round"] == 0.0, "the loop of another draft says nothing"


def test_of_a_draft_on_another_device_only_the_milliseconds_count() -> None:
    loop = probes.loop(TIMES, PAIR)
    assert loop is not None
    there = replace(loop, pair=("t", "CPU", "d", "NPU"), own=False)
    told = Calibration((), (there,)).borrow(NPU, 10.0, 5.0)
    assert told["draft"] == pytest.approx(5.0 - 0.04)
    assert told["draft_round"] == pytest.approx((1.0 + 0.6 * 0.5) * loop.step_ms + 0.25)
    assert told["catch_up"] == pytest.approx(told["draft"]), "the stateful engine steps once more"


def test_prompt_lookup_is_no_draft_to_learn_a_loop_from() -> None:
    empty = replace(lookup_donor(), draft_alone_ms=1e-6)
    assert Calibration((empty,)).ratio("CPU", "CPU", "cb").pairs == 0


def test_a_change_of_width_and_a_cut_of_the_cache_are_told_apart() -> None:
    plain = {str(width): [10.0 + width] for width in (1, 2, 3, 4, 5)}
    widths = VerifyWidths(
        run="r",
        prompt="p",
        ms=plain,
        changed_ms={width: [times[0] + 2.0] for width, times in plain.items()},
        after_trim_ms={width: [times[0] + 0.2] for width, times in plain.items()},
        trim_ms=[1.0, 1.0],
    )
    one = probes.donor(widths, "t", "CPU")
    assert one is not None
    assert one.fit.level_target_ms == pytest.approx(11.0 - probes.OUTSIDE_MS)
    assert one.fit["verify_base"] == pytest.approx(11.0)
    assert one.fit["verify_slope"] == pytest.approx(1.0)
    assert one.fit["verify_change"] == pytest.approx(2.0)
    assert one.fit["rest_mismatch"] == pytest.approx(1.0 + 0.2 + probes.CUT_MS)
    old = probes.donor(VerifyWidths(run="r", prompt="p", ms=plain), "t", "CPU")
    assert old is not None
    assert old.fit["verify_change"] == 0.0


def test_widths_that_no_round_had_come_from_the_probe() -> None:
    """Moved to the widths beside them that are known; measured ones stay as they are."""
    shape = ((0, 1.0), (1, 1.1), (3, 1.2), (4, 1.8), (8, 2.6))
    fit = replace(lookup_donor().fit, table=((3, 13.0),))
    found = dict(widened(fit, shape, 10.0).table)
    assert found == pytest.approx({0: 11.0, 1: 12.0, 3: 13.0, 4: 19.0, 8: 27.0})
    two = replace(fit, table=((1, 12.0), (8, 29.0)))
    assert dict(widened(two, shape, 10.0).table)[4] == pytest.approx(18.0 + 1.0 + 3 / 7 * 2.0)
    assert widened(fit, (), 10.0) is fit


def test_only_the_probe_says_how_verify_grows() -> None:
    """A pair without rounds, whose table was lent, is no second witness."""
    probe = Donor(NPU._replace(draft=LOOKUP, draft_device="CPU"), lookup_donor().fit, 10.0, None)
    timed = replace(probe, fit=replace(probe.fit, rounds=0, table=((0, 10.0), (4, 15.0))))
    lent = replace(timed, key=NPU, fit=replace(timed.fit, table=((0, 10.0), (4, 99.0))))
    assert Calibration((timed, lent)).shape("t", "CPU") == ((0, 1.0), (4, 1.5))
    assert Calibration((lent,)).shape("t", "CPU") == ()


def test_a_shorter_text_of_another_sweep_replaces_none() -> None:
    key = ("t", "p")
    long, short = (Texts({key: [1]}, {key: list(range(size))}) for size in (8, 3))
    assert (long + short) == long
    assert (short + long) == long
    assert longest({("t", "d", "p", "cb"): "?111"}, {("t", "d", "p", "cb"): "?1"}) == {
        ("t", "d", "p", "cb"): "?111"
    }


def test_widths_without_a_number_are_passed_over() -> None:
    plain = {str(width): [10.0 + width] for width in (1, 2, 3, 4, 5)} | {"x": [1.0]}
    assert probes.donor(VerifyWidths(run="r", prompt="p", ms=plain), "t", "CPU") is not None
