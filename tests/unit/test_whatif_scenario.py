"""What-if's values: terms, edits, answers, against a machine whose terms are known and by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from explorer.screens.whatif.fields import BY_NAME, FIELDS
from explorer.screens.whatif.outcome import evaluate, shares
from explorer.screens.whatif.scenario import NATS, Scenario
from explorer.screens.whatif.workbench import NothingMeasured, Workbench, open_workbench
from tests.unit.whatif_kit import ALONE_MS, STATEFUL, TRUE, bench, tables


@pytest.fixture(scope="module")
def made() -> Workbench:
    return bench()


@pytest.fixture(scope="module")
def scenario(made: Workbench) -> Scenario:
    """NAT 3, learned from NAT 1 and 5."""
    return made.scenario(next(c for c in made.cases if c.nat == 3))


@pytest.fixture(scope="module")
def lunar() -> Workbench:
    return open_workbench(None)


def test_a_row_is_predicted_from_the_others(scenario: Scenario) -> None:
    outcome = evaluate(scenario)
    assert outcome.error is not None
    assert abs(outcome.error) < 0.03
    assert outcome.prediction.lo < outcome.prediction.speedup < outcome.prediction.hi
    assert "NAT 1, 5" in scenario.base.fit.source


def test_with_the_row_itself_its_terms_come_back(made: Workbench) -> None:
    found = made.scenario(next(c for c in made.cases if c.nat == 3), without_own=False)
    assert found.value("draft_ms") == pytest.approx(TRUE.draft_ms, rel=0.02)
    assert found.value("verify_base_ms") == pytest.approx(TRUE.verify_base_ms, rel=0.02)
    assert found.value("target_ms") == pytest.approx(TRUE.target_ms)
    assert "NAT 1, 3, 5" in found.base.fit.source


def test_the_measured_round_adds_up(scenario: Scenario) -> None:
    found, measured = scenario.base.measured_round, scenario.base.measured
    assert found is not None
    assert measured is not None
    assert found.tokens * TRUE.target_ms / found.total_ms == pytest.approx(measured.speedup, rel=1e-6)


@pytest.mark.parametrize("nat", [1, 3, 8])
def test_at_the_break_even_draft_time_the_speedup_is_one(scenario: Scenario, nat: int) -> None:
    here = scenario.edited("nat", nat)
    value = evaluate(here).break_even_ms
    assert value is not None
    assert evaluate(here.edited("draft_ms", value)).prediction.speedup == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("nat", [1, 3, 8])
def test_at_the_break_even_acceptance_the_speedup_is_one(scenario: Scenario, nat: int) -> None:
    here = scenario.edited("nat", nat)
    value = evaluate(here).break_even_alpha
    assert value is not None
    assert evaluate(here.edited("acceptance", value)).prediction.speedup == pytest.approx(1.0, abs=0.005)


def test_no_acceptance_saves_a_draft_that_is_as_slow_as_the_target(scenario: Scenario) -> None:
    slow = evaluate(scenario.edited("draft_ms", 3 * TRUE.target_ms))
    assert slow.break_even_alpha is None
    assert slow.best == (0, 1.0)
    assert slow.payoff == math.inf


def test_the_best_nat_is_the_one_that_brute_force_finds(scenario: Scenario) -> None:
    for edited in (scenario, scenario.edited("draft_ms", 0.2), scenario.edited("draft_ms", 9.0)):
        speeds = {0: 1.0, **{nat: edited.prediction(nat).speedup for nat in NATS}}
        top = max(speeds.values())
        assert evaluate(edited).best[0] == min(n for n, v in speeds.items() if v >= 0.99 * top)


def test_shares_add_up_and_are_the_elasticities(scenario: Scenario) -> None:
    assert sum(shares(scenario).values()) == pytest.approx(1.0)
    outcome = evaluate(scenario)
    for each in outcome.improve:
        if each.term in ("draft_ms", "verify_base_ms", "verify_slope_ms", "rest_ms"):
            value = scenario.value(each.term)
            speeds = [scenario.edited(each.term, value * f).prediction(3).speedup for f in (1.001, 0.999)]
            slope = math.log(speeds[0] / speeds[1]) / math.log(1.001 / 0.999)
            assert each.elasticity == pytest.approx(slope, abs=0.01), each.term


def test_an_edit_is_marked_and_taken_back(scenario: Scenario) -> None:
    edited = scenario.edited("rest_ms", 4.0).edited("nat", 5)
    assert edited.origin("rest_ms").word == "edited"
    assert edited.is_edited
    assert evaluate(edited).error is None
    assert edited.reset("rest_ms").origin("rest_ms").word != "edited"
    assert edited.reset() == scenario
    assert edited.edited("rest_ms", scenario.own("rest_ms")).reset("nat") == scenario


def test_a_small_step_of_the_verify_time_makes_a_small_difference(scenario: Scenario) -> None:
    """The measured widths move with the line: an edit does not throw them away."""
    before = scenario.prediction(3).speedup
    after = scenario.edited("verify_base_ms", scenario.value("verify_base_ms") + 0.01).prediction(3).speedup
    assert 0 < before - after < 0.002


def test_what_a_person_sets_is_taken_as_known(scenario: Scenario) -> None:
    before, after = scenario.prediction(8), scenario.edited("verify_slope_ms", 1.5).prediction(8)
    assert after.parts["terms"] < before.parts["terms"]


def test_an_alpha_of_the_texts_own_acceptance_hardly_changes_the_prediction(scenario: Scenario) -> None:
    edited = scenario.edited("acceptance", scenario.value("acceptance") + 1e-9)
    assert edited.prediction(3).speedup == pytest.approx(scenario.prediction(3).speedup, rel=0.02)
    assert edited.counts(3).acceptance == pytest.approx(float(scenario.counts(3).acceptance), abs=0.01)


def test_construction_is_compared_with_the_baselines(scenario: Scenario) -> None:
    assert scenario.value("extra_construct_s") == pytest.approx(3.0)
    outcome = evaluate(scenario)
    won = TRUE.target_ms * (1 - 1 / outcome.prediction.speedup)
    assert outcome.payoff == pytest.approx(3000 / won)


def test_every_formula_is_there_at_each_nat(scenario: Scenario) -> None:
    outcome = evaluate(scenario)
    for points in outcome.formulas.values():
        assert [nat for nat, _ in points] == [point.nat for point in outcome.curve]
        assert all(np.isfinite(value) and value > 0 for _, value in points)


# -- choosing rows and drafts ---------------------------------------------------------------------------


def test_another_draft_device_brings_its_own_terms_and_path() -> None:
    cb, stateful = tables(), tables(params=STATEFUL)
    runs, rounds = (a.vstack(b) for a, b in zip(cb, stateful, strict=True))
    both = Workbench(runs, rounds, {})
    case = next(c for c in both.cases if c.nat == 3 and c.key.path == "cb")
    names = {(choice.draft_device, choice.path) for choice in both.choices(case)}
    assert names == {("CPU", "cb"), ("NPU", "stateful"), ("CPU", "stateful"), ("NPU", "cb")}
    npu = next(c for c in both.choices(case) if (c.draft_device, c.path) == ("NPU", "stateful"))
    moved = both.scenario(case, npu)
    assert moved.base.case.key.path == "stateful"
    assert moved.value("draft_ms") == pytest.approx(STATEFUL.draft_ms, rel=0.1)
    assert moved.base.measured is not None  # there is such a row


def test_a_draft_that_was_only_measured_alone_is_borrowed_from_the_others() -> None:
    runs, rounds = tables()
    alone = runs.filter(runs["run"] == "aloneCPU")
    gpu = alone.with_columns(target_device=alone["target_device"].replace("CPU", "GPU"))
    with_gpu = Workbench(runs.vstack(gpu), rounds, {})
    case = with_gpu.cases[0]
    choice = next(c for c in with_gpu.choices(case) if c.draft_device == "GPU" and c.path == "cb")
    moved = with_gpu.scenario(case, choice)
    assert choice.alone_ms == pytest.approx(ALONE_MS)
    assert moved.base.measured is None
    assert moved.origin("draft_ms").word == "borrowed"
    assert evaluate(moved).prediction.extrapolates


def test_a_row_alone_leads_to_a_pair_with_it_and_says_so(made: Workbench) -> None:
    rows = made.runs.filter(made.runs["kind"] == "plain").to_dicts()
    target, draft = (made.case_of(row) for row in rows)
    assert target[0].key.target == "big"
    assert "with it as target" in target[1]
    assert "with it as draft" in draft[1]


def test_a_row_that_has_not_run_is_predicted_without_a_measurement(made: Workbench) -> None:
    row = next(r for r in made.runs.to_dicts() if r["run"] == "nat3CPU")
    queued = row | {
        "run": "later",
        "status": "queued",
        "speedup": None,
        "num_assistant_tokens": 7,
        "path": None,
    }
    case, remark = made.case_of(queued)
    outcome = evaluate(made.scenario(case))
    assert "queued" in remark
    assert outcome.scenario.nat == 7
    assert outcome.error is None
    assert outcome.prediction.speedup > 1


def test_nothing_to_build_on_is_said_in_one_line(made: Workbench) -> None:
    with pytest.raises(NothingMeasured, match="other on GPU"):
        made.case_of({"kind": "plain", "target": "other", "target_device": "GPU"})
    with pytest.raises(NothingMeasured, match="has no baseline"):
        made.case_of(
            {
                "kind": "speculative",
                "target": "x",
                "target_device": "CPU",
                "draft": "y",
                "draft_device": "CPU",
            }
        )
    runs, rounds = tables()
    with pytest.raises(NothingMeasured, match="no speculative row"):
        Workbench(runs.head(0), rounds.head(0), {}).first()


# -- the published rows -----------------------------------------------------------------------------------


def test_published_rows_say_which_terms_are_assumed(lunar: Workbench) -> None:
    from explorer.screens.whatif.lines import unknown_terms

    found = lunar.scenario(lunar.first())
    assert found.base.measured_round is None
    assert "rest" in unknown_terms(found)
    assert any("rounds were not recorded" in note for note in found.base.notes)


def test_no_published_row_with_the_draft_on_the_npu_is_predicted_a_win(lunar: Workbench) -> None:
    npu = [c for c in lunar.cases if c.key.draft_device == "NPU"]
    assert len(npu) == 3
    for case in npu:
        outcome = evaluate(lunar.scenario(case))
        assert outcome.prediction.speedup < 1
        assert outcome.best[0] == 0


# -- fields -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [field.name for field in FIELDS])
def test_a_step_up_and_one_down_lead_back(name: str) -> None:
    field = BY_NAME[name]
    start = field.stepped(1.0 if field.high < 2 or field.whole else 40.0, 0)
    up = field.stepped(start, 1) if start < field.high else start
    assert up >= start
    assert field.stepped(up, -1) <= up
    assert field.low <= field.stepped(start, 10_000) <= field.high
    assert field.low <= field.stepped(start, -10_000_000) <= field.high


@pytest.mark.parametrize(("value", "after"), [(40.0, 40.5), (4.285, 4.35), (0.4655, 0.47), (0.0, 0.01)])
def test_steps_are_round_numbers(value: float, after: float) -> None:
    assert BY_NAME["draft_ms"].stepped(value, 1) == pytest.approx(after)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("nat", "2.5", "expected a whole number from 1 to 16"),
        ("nat", "0", "from 1 to 16"),
        ("acceptance", "1.2", "expected a number from 0 to 1"),
        ("draft_ms", "1..2", "'1..2' is not a number"),
        ("draft_ms", "nan", "from 0"),
    ],
)
def test_a_wrong_number_is_refused_with_what_is_right(name: str, text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        BY_NAME[name].parse(text)


def test_a_comma_is_a_decimal_point() -> None:
    assert BY_NAME["draft_ms"].parse("1,5") == 1.5
