"""What probes outside of the engines teach: dear first steps, changes of width, verify by width, texts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from sweeps.costmodel import probes
from sweeps.costmodel.calibrate import Calibration, Donor, widened
from sweeps.costmodel.evidence import longest
from sweeps.costmodel.lookup import Text, with_more_texts
from sweeps.costmodel.terms import LOOKUP, NAMES, Fit, Key
from sweeps.events.types import LoopTimes, VerifyWidths
from sweeps.store.state import fold
from sweeps.worker import loop as loops
from sweeps.worker.job import Todo
from tests.unit import journal_kit as kit

NPU = Key("t", "CPU", "d", "NPU", "stateful")
CB = Key("t", "CPU", "d", "CPU", "cb")
PAIR = ("t", "CPU", "d", "CPU")


TIMES = LoopTimes(
    run="r",
    prompt="p",
    verify_ms={"2": [6.0, 6.0], "4": [8.0, 8.8]},
    again_ms={"2": [5.0, 5.0], "4": [8.0, 8.0]},
    first_ms={"1 after 1": [2.0, 2.2, 2.0], "2 after 1": [2.9], "1 after 2": [9.0], "2 after 2": [9.0]},
    later_ms=[[1.4, 1.4, 1.5], [1.16], [1.064, 1.2, 1.064], [1.0256]],
    back_ms=[2.0, 2.2],
)


def test_loop_times_become_shares_of_a_step_in_full_swing() -> None:
    found = probes.loop(TIMES, PAIR)
    assert found is not None
    assert (found.first, found.step_ms) == pytest.approx((2.0, 1.0))
    assert found.change_ms == pytest.approx((0.9 + 0.7) / 2)
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


@pytest.mark.parametrize("ms", [0.0, -3.0, 9e5, 1e300, float("nan")])
def test_times_that_cannot_be_teach_nothing(ms: float) -> None:
    assert probes.loop(msgspec.structs.replace(TIMES, verify_ms={"2": [ms], "4": [ms]}), PAIR) is None
    odd = {str(width): [ms] for width in range(1, 6)}
    found = probes.donor(VerifyWidths(run="r", prompt="p", ms=odd, trim_ms=[ms]), "t", "CPU")
    assert found is None or 0 < found.target_ms < probes.TOO_LONG_MS


def test_a_place_without_times_is_not_taken_for_the_next() -> None:
    gap = msgspec.structs.replace(TIMES, later_ms=[[1.4], [], [1.064], []])
    found = probes.loop(gap, PAIR)
    assert found is not None
    assert (found.first, found.step_ms) == pytest.approx((2.0, 1.0))


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
    assert blind["draft_first"] == 0.0
    d = told["draft"]
    assert d == pytest.approx(1.0 - 0.04), "less what the draft's own pipeline does around each token"
    assert told["draft_first"] == pytest.approx(1.0 * d), "the ones after it follow from it"
    assert told["catch_up"] == pytest.approx(2 * loop.change_ms), "its step's width changes there and back"
    assert told["verify_base"] == pytest.approx(10.0 * loop.verify)
    assert told.first_round_ms == pytest.approx(3.0 + 7.0), "the draft's prefill is part of round 1"
    assert "timed behind" in told.source
    other = Calibration((lookup_donor(),), (loop,)).borrow(CB._replace(draft="e"), 10.0, 1.0)
    assert other["draft_first"] == 0.0, "the loop of another draft says nothing"


def test_of_a_draft_on_another_device_only_the_milliseconds_count() -> None:
    loop = probes.loop(TIMES, PAIR)
    assert loop is not None
    there = replace(loop, pair=("t", "CPU", "d", "NPU"), own=False)
    told = Calibration((), (there,)).borrow(NPU, 10.0, 5.0)
    assert told["draft"] == pytest.approx(5.0 - 0.18)
    assert told["draft_first"] == pytest.approx(1.0 * loop.step_ms + 0.5)
    assert told["catch_up"] == pytest.approx(told["draft"] + 0.4 * told["draft_first"]), "it steps once more"


def test_prompt_lookup_is_no_draft_to_learn_a_loop_from() -> None:
    empty = replace(lookup_donor(), draft_alone_ms=1e-6)
    assert Calibration((empty,)).ratio("CPU", "CPU", "cb").pairs == 0


def test_a_change_of_width_and_a_cut_of_the_cache_are_told_apart() -> None:
    plain = {str(width): [10.0 + width] for width in (1, 2, 3, 4, 5)}
    widths = VerifyWidths(
        run="r",
        prompt="p",
        ms=plain,
        changed_ms={width: [times[0] + 2.2] for width, times in plain.items()},
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
    long, short = ({key: Text([1], list(range(size)))} for size in (8, 3))
    assert with_more_texts(long, short) == long
    assert with_more_texts(short, long) == long
    assert longest({("t", "d", "p", "cb"): "?111"}, {("t", "d", "p", "cb"): "?1"}) == {
        ("t", "d", "p", "cb"): "?111"
    }


def test_widths_without_a_number_are_passed_over() -> None:
    plain = {str(width): [10.0 + width] for width in (1, 2, 3, 4, 5)} | {"x": [1.0]}
    assert probes.donor(VerifyWidths(run="r", prompt="p", ms=plain), "t", "CPU") is not None


class Clock:
    """Stands still between passes; each takes `pass_s`."""

    def __init__(self, pass_s: float) -> None:
        self.now, self.pass_s = 0.0, pass_s

    def __call__(self) -> float:
        return self.now

    def feed(self, ids: Any, past: int) -> None:
        self.now += self.pass_s


@pytest.mark.parametrize(("pass_s", "readings"), [(1e-3, loops.READINGS), (0.1, 1)])
def test_small_models_are_read_more_often(monkeypatch: Any, pass_s: float, readings: int) -> None:
    clock = Clock(pass_s)
    monkeypatch.setattr(loops, "perf_counter", clock)
    monkeypatch.setattr(
        loops, "encode_with", lambda *_: SimpleNamespace(input_ids=SimpleNamespace(data=[[1, 2, 3]]))
    )
    timer = loops.LoopTimer.__new__(loops.LoopTimer)
    model = SimpleNamespace(request=SimpleNamespace(reset_state=lambda: None), feed=clock.feed)
    timer._run, timer._tokenizer, timer._sides = "r", None, [model, model]  # type: ignore[list-item]
    todos = [Todo(name, "text", 0, [], [4, 5, 6]) for name in "abcde"]
    found = timer.time(todos, 4, lambda: None)
    assert {len(each) for each in found.verify_ms.values()} == {loops.TURNS * readings}
    assert len(found.later_ms) == max(loops.PROPOSALS) - 1
    assert len(found.later_ms[-1]) == loops.TURNS // 2 * readings
    assert (found.prompt, found.rep) == ("a", 4)


def a_donor(level: float, change: float, slope: float = 1.0) -> Donor:
    """A reading in which everything but the change of width is in proportion to the level."""
    values = {"verify_base": 1.0, "verify_slope": 0.1 * slope, "verify_change": change}
    theta = level * np.array([values.get(name, 0.0) for name in NAMES])
    fit = Fit(
        theta,
        np.diag((0.06 * theta) ** 2),
        0,
        (0, 8),
        table=((0, level), (1, 1.1 * level)),
        level_target_ms=level,
    )
    return Donor(Key("t", "CPU", LOOKUP, "CPU", "stateful"), fit, level, None)


def test_readings_of_processes_in_different_moods_agree_but_for_what_really_differs() -> None:
    found = probes.one_donor([a_donor(10.0, 0.2), a_donor(15.0, 0.3), a_donor(12.0, 0.25)])
    assert found.target_ms == 12.0
    assert found.fit["verify_base"] == pytest.approx(12.0)
    assert found.fit["verify_change"] == pytest.approx(3.0)
    assert dict(found.fit.table) == pytest.approx({0: 12.0, 1: 13.2})
    assert found.fit.se("verify_base") == pytest.approx(0.06 * 12.0), "a mood is no doubt"
    between = probes.DEVIATIONS * 0.05 * 12.0 / np.sqrt(3)
    assert found.fit.se("verify_change") == pytest.approx(np.hypot(0.06 * 3.0, between))


def test_one_reading_stands_as_it_is_and_one_odd_reading_moves_little() -> None:
    single = a_donor(10.0, 0.2)
    found = probes.one_donor([single])
    assert found.fit.theta == pytest.approx(single.fit.theta)
    assert found.fit.cov == pytest.approx(single.fit.cov)
    odd = probes.one_donor([a_donor(10.0, 0.2)] * 4 + [a_donor(10.0, 9.0, slope=7.0)])
    assert odd.fit.theta == pytest.approx(single.fit.theta)


def test_every_pass_of_a_sweep_is_a_reading() -> None:
    drafted = kit.speculative("s1")
    run = msgspec.structs.replace(drafted, config=msgspec.structs.replace(drafted.config, kind="agreement"))
    dearer = {kind: [1.5 * ms for ms in times] for kind, times in TIMES.first_ms.items()}
    passes = [TIMES, TIMES, msgspec.structs.replace(TIMES, first_ms=dearer)]
    events = [kit.started(kit.plan(run))] + [
        msgspec.structs.replace(each, run="s1", rep=rep) for rep, each in enumerate(passes)
    ]
    (found,) = probes.probes_of(fold(events)).loops
    assert found.readings == 3
    alone = probes.loop(TIMES, PAIR)
    assert alone is not None
    assert (found.first, found.verify) == pytest.approx((alone.first, alone.verify))


def test_what_rounds_of_one_wall_time_say_is_lent_whole() -> None:
    """Prompt lookup knows the sum of verify and rest well and neither alone."""
    donor, names = lookup_donor(), [NAMES.index("verify_base"), NAMES.index("rest")]
    cov = np.zeros((len(NAMES), len(NAMES)))
    cov[np.ix_(names, names)] = [[0.25, -0.24], [-0.24, 0.25]]
    told = Calibration((replace(donor, fit=replace(donor.fit, cov=cov)),)).borrow(donor.key, 10.0, 1e-6)
    of_sum = float(told.cov[np.ix_(names, names)].sum())
    assert told.se("verify_base") > 0.5
    assert of_sum < 0.02 + (0.03 * told["verify_base"]) ** 2 + (0.03 * told["rest"]) ** 2 + 1e-6
