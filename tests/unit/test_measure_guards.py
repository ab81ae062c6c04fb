"""Every guard fires where its identity is broken, and none on a clean rep."""

from __future__ import annotations

from typing import Any

import pytest

from sweeps.measure.guards import (
    SPOILS,
    check_acceptance,
    check_identity,
    check_timers,
    fired,
    reason_of,
    spoiled,
)
from sweeps.measure.rep import measure
from sweeps.store.schema import REPS, RUNS
from tests.unit import journal_kit as kit

BASE = kit.plain("base")
CB = kit.speculative("cb3")
CLEAN = kit.rep(CB, 0)

BROKEN: dict[str, dict[str, Any]] = {
    "lists_differ": {"burst_sizes": CLEAN.burst_sizes[:-1]},
    "ids_differ": {"result_ids_equal": False},
    "clock_backwards": {"burst_us": [*CLEAN.burst_us[:-2], CLEAN.burst_us[-1], CLEAN.burst_us[-2]]},
    "ttft_not_positive": {"burst_us": [-170, *CLEAN.burst_us[1:]]},
    "first_burst_late": {"burst_us": [at // 4 + 90_000 for at in CLEAN.burst_us], "wall_us": 200_000},
    "timers_over_wall": {"verify_us": [4000.0] + [90_000.0] * (len(CLEAN.burst_sizes) - 1)},
}


def test_no_guard_fires_on_clean_reps() -> None:
    for run in (
        BASE,
        CB,
        kit.speculative("st3", draft_device="NPU"),
        kit.speculative("p", kind="prompt-lookup"),
    ):
        metrics = measure(kit.rep(run, 0), run, kit.BUDGET)
        assert (metrics.problems, metrics.status) == ((), "ok")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_identity_withholds_its_numbers(name: str) -> None:
    metrics = measure(kit.rep(CB, 0, **BROKEN[name]), CB, kit.BUDGET)
    assert metrics.status == "metric_suspect"
    assert fired(metrics.reason) == [name]
    for column in SPOILS[name]:
        assert getattr(metrics, column, None) is None, column
    assert metrics.by_round == ()


def test_more_tokens_than_the_budget() -> None:
    metrics = measure(kit.rep(CB, 0), CB, 20)
    assert "tokens_over_budget" in fired(metrics.reason)
    assert metrics.tok_s is None
    assert metrics.ttft_ms == 5


def test_a_prefill_of_two_tokens() -> None:
    metrics = measure(kit.rep(CB, 0, sizes=[2, *[3] * 10]), CB, kit.BUDGET)
    assert "first_burst" in fired(metrics.reason)


def test_more_accepted_than_proposed() -> None:
    # NAT 1, but bursts of three: two accepted a round.
    run = kit.speculative("cb1", nat=1)
    metrics = measure(kit.rep(run, 0), run, kit.BUDGET)
    assert fired(metrics.reason) == ["accepted_over_proposals"]
    assert (metrics.accepted, metrics.proposals) == (None, None)
    assert metrics.tok_s is not None


def test_timers_fit_into_the_call() -> None:
    assert check_timers(100_000, 40_000, 60_400) == []
    assert [p.name for p in check_timers(100_000, 50_000, 60_000)] == ["timers_over_wall"]


def test_the_identity_is_kept_within_five_percent() -> None:
    assert check_identity(1.30, 1.36) == []
    assert check_identity(None, 1.36) == [] == check_identity(1.30, None)
    (problem,) = check_identity(1.30, 1.50)
    assert problem.name == "identity_off"
    assert "+15.4%" in problem.text


def test_zero_acceptance_needs_enough_proposals_and_a_draft() -> None:
    assert check_acceptance("speculative", 0, 49) == []
    assert [p.name for p in check_acceptance("speculative", 0, 50)] == ["zero_acceptance"]
    assert check_acceptance("speculative", 1, 500) == []
    assert check_acceptance("prompt-lookup", 0, 500) == []


def test_reasons_can_be_read_back() -> None:
    problems = [*check_identity(1.0, 2.0), *check_acceptance("speculative", 0, 90)]
    reason = reason_of(problems)
    assert fired(reason) == ["identity_off", "zero_acceptance"]
    assert fired("no speed-up: the baseline is failed") == []
    assert fired(None) == []
    assert spoiled(fired(reason))["speedup"] == "identity_off"


def test_guards_spoil_columns_that_exist() -> None:
    for columns in SPOILS.values():
        assert set(columns) <= set(RUNS) | set(REPS)
