"""Break-even, best NAT, what to improve, why a row missed; the published formulas; the command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.cli import cli
from explorer.cli.errors import Problem
from sweeps.costmodel import answers, formulas
from sweeps.costmodel.params import Params, curve, profile, round_budget, speedup
from sweeps.costmodel.predict import predict

PARAMS = st.builds(
    Params,
    target_ms=st.floats(5.0, 100.0),
    draft_ms=st.floats(0.1, 60.0),
    verify_base_ms=st.floats(5.0, 100.0),
    verify_slope_ms=st.floats(0.0, 10.0),
    rest_ms=st.floats(0.0, 10.0),
    rest_proposal_ms=st.floats(0.0, 2.0),
    rest_mismatch_ms=st.floats(0.0, 10.0),
    draft_first_ms=st.floats(0.0, 5.0),
    first_round_ms=st.floats(0.0, 50.0),
    path=st.sampled_from(["cb", "stateful"]),
    budget=st.integers(8, 160),
    alpha=st.floats(0.05, 0.97),
)


@settings(deadline=None, max_examples=60)
@given(params=PARAMS, nat=st.integers(1, 8))
def test_speed_up_at_break_even_is_one(params: Params, nat: int) -> None:
    draft = answers.break_even_draft_ms(params, nat)
    assert speedup(replace(params, draft_ms=draft), nat) == pytest.approx(1.0, rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(params=PARAMS, nat=st.integers(1, 6))
def test_break_even_acceptance(params: Params, nat: int) -> None:
    alpha = answers.break_even_alpha(params, nat)
    if alpha is None:
        assert speedup(replace(params, alpha=1.0), nat) < 1
    elif alpha == 0.0:
        assert speedup(replace(params, alpha=0.0), nat) >= 1
    else:
        assert speedup(replace(params, alpha=alpha), nat) == pytest.approx(1.0, abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(params=PARAMS)
def test_best_nat_is_the_smallest_within_a_percent_of_the_best(params: Params) -> None:
    nat, value = answers.best_nat(params, range(1, 9))
    everything = [(0, 1.0), *curve(params, range(1, 9))]
    top = max(v for _, v in everything)
    assert value >= top * 0.99
    assert all(v < top * 0.99 for n, v in everything if n < nat)


@settings(deadline=None, max_examples=40)
@given(params=PARAMS, nat=st.integers(1, 8))
def test_the_round_budget_is_the_whole_time(params: Params, nat: int) -> None:
    spent = round_budget(params, nat)
    assert spent.tokens * params.target_ms / spent.total_ms == pytest.approx(speedup(params, nat))
    assert min(spent.draft_ms, spent.verify_ms, spent.rest_ms) >= -1e-9


def test_payoff_of_a_longer_compile() -> None:
    # 12.5 s more construction; 82 ms a token saved to 82 / 1.25.
    assert answers.payoff_tokens(12.5, 82.0, 1.25) == pytest.approx(12_500 / (82 - 82 / 1.25))
    assert answers.payoff_tokens(10.0, 82.0, 0.9) == math.inf
    assert answers.payoff_tokens(-1.0, 82.0, 0.9) == 0.0


@settings(deadline=None, max_examples=25)
@given(params=PARAMS, nat=st.integers(1, 5))
def test_time_elasticities_add_up_to_minus_one(params: Params, nat: int) -> None:
    """All times 1 % longer make the speed 1 % lower."""
    found = answers.elasticities(params, nat)
    times = sum(e.elasticity for e in found if e.term != "acceptance")
    assert times == pytest.approx(-1.0, abs=2e-3)
    assert found == sorted(found, key=lambda e: -e.gain)


def test_what_to_improve_first() -> None:
    slow_draft = Params(80.0, 70.0, 75.0, alpha=0.6)
    assert answers.elasticities(slow_draft, 4)[0].term == "draft_ms"
    slow_verify = Params(80.0, 0.5, 160.0, alpha=0.6)
    assert answers.elasticities(slow_verify, 2)[0].term == "verify_base_ms"


def test_why_a_row_missed() -> None:
    params = Params(80.0, 10.0, 75.0, 2.0, 4.0, alpha=0.7)
    counts = profile(params, 3)
    spent = round_budget(params, 3)
    same = answers.Measured(
        speedup=speedup(params, 3),
        tokens_per_round=spent.tokens,
        proposals_per_round=spent.proposals,
        draft_ms=spent.draft_ms / spent.proposals,
        verify_ms=spent.verify_ms,
        rest_ms=spent.rest_ms,
    )
    assert all(abs(c.effect) < 1e-9 for c in answers.why(params, counts, same))
    dear = replace(same, verify_ms=1.3 * spent.verify_ms, speedup=0.8 * same.speedup)
    causes = answers.why(params, counts, dear)
    assert causes[0].cause == "verify"
    assert sum(c.effect for c in causes) == pytest.approx(math.log(0.8))
    fewer = replace(same, tokens_per_round=0.8 * spent.tokens, speedup=0.8 * same.speedup, diverged_at=17)
    first = answers.why(params, counts, fewer)[0]
    assert first.cause == "text diverged"
    assert "token 17" in first.words
    assert first.effect == pytest.approx(math.log(0.8))


def test_path_and_device() -> None:
    split = answers.path_and_device(cb=1.35, emulated=0.9, real=0.58)
    assert split.path * (split.device or 0) == pytest.approx(split.whole)
    assert split.whole == pytest.approx(0.58 / 1.35)
    assert answers.path_and_device(1.2, 0.9, None).device is None


def test_which_device_wins() -> None:
    a = predict(Params(80.0, 10.0, 75.0, alpha=0.6), 3)
    b = predict(Params(80.0, 11.0, 75.0, alpha=0.6), 3)
    c = predict(Params(80.0, 60.0, 75.0, alpha=0.6), 3)
    assert answers.win_probability(a, a) == pytest.approx(0.5)
    assert 0.5 < answers.win_probability(a, b) < 0.95
    assert answers.win_probability(a, c) > 0.999
    assert answers.win_probability(c, a) == pytest.approx(1 - answers.win_probability(a, c))


def test_edits_are_marked_and_win() -> None:
    params = Params(
        80.0, 10.0, 75.0, bits="?" + "1" * 127, verify_ms=((1, 70.0),), provenance={"draft_ms": "measured"}
    )
    edited = params.edited(alpha=0.0, verify_base_ms=160.0)
    assert edited.provenance == {
        "draft_ms": "measured",
        "alpha": "edited",
        "bits": "edited",
        "conditional": "edited",
        "verify_base_ms": "edited",
        "verify_ms": "edited",
    }
    assert float(profile(edited, 3).tokens_per_round) == pytest.approx(1.0)
    assert speedup(edited, 1) < 0.5


LUNAR_LAKE = (
    # draft device, NAT, r, standalone ms, ms in the loop, library's verify ms; errors in percent of Leviathan
    # with r as alpha, of Leviathan with alpha inverted, of the round budget
    ("CPU", 3, 0.40, 9.4, 9.4, 53.0, 1.35, (-11, 21, 64)),
    ("CPU", 5, 0.32, 9.4, 9.4, 53.0, 1.20, (-23, 37, 77)),
    ("NPU", 1, 0.60, 34.3, 54.5, 63.0, 0.74, (53, 53, 51)),
    ("NPU", 3, 0.35, 34.3, 54.5, 63.0, 0.58, (15, 56, 27)),
    ("NPU", 5, 0.32, 34.3, 54.5, 63.0, 0.55, (-13, 53, 16)),
)


@pytest.mark.parametrize("row", LUNAR_LAKE, ids=lambda row: f"{row[0]}{row[1]}")
def test_published_formulas_on_the_lunar_lake_rows(
    row: tuple[str, int, float, float, float, float, float, tuple[int, int, int]],
) -> None:
    """Within two percentage points of the errors worked out by hand from the published numbers."""
    _, nat, r, alone, loop, verify, measured, expected = row
    target = 82.0
    found = (
        formulas.leviathan_r(r, nat, alone, target),
        formulas.leviathan_alpha(r, nat, alone, target),
        formulas.round_budget(r, nat, loop, verify, target),
    )
    for value, error in zip(found, expected, strict=True):
        assert 100 * (value / measured - 1) == pytest.approx(error, abs=2.0)


def test_linear_verify_is_leviathan_where_verify_costs_one_step() -> None:
    r = 0.5
    assert formulas.linear_verify(r, 4, 10.0, 80.0, 0.0, 80.0) == pytest.approx(
        formulas.leviathan_alpha(r, 4, 10.0, 80.0)
    )


def test_command_what_if(tmp_path: Path) -> None:
    arguments = [
        "predict",
        "--target-ms",
        "82",
        "--draft-ms",
        "34.3",
        "--acceptance",
        "0.35",
        "--path",
        "stateful",
    ]
    result = CliRunner().invoke(cli, [*arguments, "--verify-ms", "82", "--format", "json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["num_assistant_tokens"] for row in rows] == list(range(1, 11))
    assert rows[2]["acceptance"] == pytest.approx(0.35, abs=1e-4)
    assert all(row["predicted_lo"] < row["predicted_speedup"] < row["predicted_hi"] for row in rows)
    assert "no NAT is faster" in result.stderr


def test_command_predicts_published_rows_while_there_are_none(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        cli, ["predict", "--data", str(tmp_path), "--fit", "nat=3", "--format", "json"]
    )
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert len(rows) == 3
    assert {
        "predicted_speedup",
        "predicted_lo",
        "predicted_hi",
        "error",
        "best_nat",
        "break_even_draft_ms",
    } <= set(rows[0])
    assert set(formulas.NAMES) <= set(rows[0])
    assert "median error" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--draft-ms", "3"], "--target-ms, --acceptance"),
        (["--fit", "speed=3"], "nat, draft, device, prompt, path"),
        (["--fit", "nat=99"], "no speculative row here"),
        (["--where", "nat >"], "--where"),
    ],
)
def test_command_refuses_in_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(cli, ["predict", "--data", str(tmp_path), *arguments])
    assert isinstance(result.exception, Problem)
    assert words in str(result.exception)
    assert result.exception.exit_code == 2
