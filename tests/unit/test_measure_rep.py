"""From raw bursts and lists to metrics."""

from __future__ import annotations

import pytest

from sweeps.measure.rep import measure
from sweeps.plan.model import Run
from tests.unit import journal_kit as kit

BASE = kit.plain("base")
CB = kit.speculative("cb3")
STATEFUL = kit.speculative("st3", draft_device="NPU")
LOOKUP = kit.speculative("pl3", kind="prompt-lookup")


def test_a_plain_rep_by_its_own_clock() -> None:
    metrics = measure(kit.rep(BASE, 0, ms=10), BASE, kit.BUDGET)
    assert (metrics.status, metrics.reason, metrics.tokens, metrics.finish) == ("ok", "", 32, "length")
    assert metrics.ttft_ms == 5
    assert metrics.tpot_ms == pytest.approx(10)
    assert metrics.tok_s == pytest.approx(100)
    assert metrics.wall_tok_s == pytest.approx(32 / 0.31515)
    assert (metrics.rounds, metrics.proposals, metrics.accepted) == (None, None, None)
    assert len(metrics.by_round) == 32


@pytest.mark.parametrize("run", [CB, STATEFUL])
def test_a_speculative_rep_adds_up(run: Run) -> None:
    done = kit.rep(run, 0, ms=12)
    metrics = measure(done, run, kit.BUDGET)
    assert metrics.status == "ok", metrics.reason
    assert metrics.rounds is not None and metrics.accepted is not None and metrics.proposals is not None
    assert 1 + metrics.rounds + metrics.accepted == metrics.tokens
    assert metrics.accepted <= metrics.proposals
    assert metrics.draft_total_ms is not None and metrics.verify_total_ms is not None
    assert metrics.rounds_total_ms is not None
    assert metrics.rounds_total_ms == pytest.approx(12 * metrics.rounds)
    assert metrics.rounds_total_ms >= metrics.draft_total_ms + metrics.verify_total_ms
    rounds = metrics.by_round[1:]
    assert sum(r.proposals or 0 for r in rounds) == metrics.proposals
    assert sum(r.draft_ms or 0 for r in rounds) == pytest.approx(metrics.draft_total_ms)
    for one in rounds:
        assert one.rest_ms == pytest.approx(12 - (one.draft_ms or 0) - 6)
    assert metrics.by_round[0].proposals is None
    assert rounds[-1].position + rounds[-1].tokens == metrics.tokens


def test_draft_times_that_do_not_fit_the_rule_are_kept_in_total_only() -> None:
    # The last round has room for one token: its draft inference proposes nothing.
    done = kit.rep(CB, 0, draft_us=[400.0] + [1000.0] * 26)
    metrics = measure(done, CB, kit.BUDGET)
    assert metrics.draft_total_ms == pytest.approx(26)
    assert metrics.proposals == 25
    assert all(one.draft_ms is None and one.proposals is None for one in metrics.by_round)
    assert "do not fit" in metrics.notes[0]


def test_with_a_confidence_threshold_proposals_are_what_the_draft_did() -> None:
    run = kit.speculative("thr", nat=None, threshold=0.4)
    # 11 rounds; the last one has one token left, so that its one draft inference proposes nothing.
    sizes = [1, *[3] * 10, 1]
    metrics = measure(kit.rep(run, 0, sizes=sizes, draft_us=[9.0] + [500.0] * 24), run, kit.BUDGET)
    assert metrics.proposals == 23
    assert metrics.accepted == 20
    assert metrics.status == "ok"


@pytest.mark.parametrize("tokens", [1, 2, 3])
def test_one_two_and_three_tokens(tokens: int) -> None:
    for run in (BASE, CB, STATEFUL):
        done = kit.rep(run, 0, sizes=[1] * tokens, draft_us=[9.0] + [5.0] * (tokens > 2))
        metrics = measure(done, run, tokens)
        assert metrics.tokens == tokens
        assert metrics.status == "ok", (run.id, metrics.reason)
        assert (metrics.tok_s is None) == (tokens == 1)
        assert (metrics.tpot_ms is None) == (tokens == 1)
        assert metrics.ttft_ms == 5


def test_no_token_at_all_is_a_budget_not_met() -> None:
    done = kit.rep(BASE, 0, sizes=[], finish="STOP")
    metrics = measure(done, BASE, kit.BUDGET)
    assert (metrics.status, metrics.reason) == ("budget_not_met", "0 of 32 tokens: stop_token")
    assert (metrics.ttft_ms, metrics.tok_s, metrics.wall_tok_s) == (None, None, None)


@pytest.mark.parametrize(
    ("run", "said", "reason"),
    [
        (CB, "STOP", "16 of 32 tokens: stop_token"),
        (STATEFUL, "NONE", "16 of 32 tokens: context_full"),
        (CB, "CANCEL", "16 of 32 tokens: cancelled"),
        (CB, "", "16 of 32 tokens: no reason given"),
    ],
)
def test_a_short_rep_says_why(run: Run, said: str, reason: str) -> None:
    metrics = measure(kit.rep(run, 0, sizes=kit.bursts(16, 3), finish=said), run, kit.BUDGET)
    assert (metrics.status, metrics.reason) == ("budget_not_met", reason)


def test_a_draft_that_never_ran_is_not_speculative() -> None:
    done = kit.rep(CB, 1, sizes=[1] * 32, draft_us=[], verify_us=[], call=2)
    metrics = measure(done, CB, kit.BUDGET)
    assert metrics.status == "not_speculative"
    assert "no proposals" in metrics.reason
    assert metrics.proposals == 0


def test_prompt_lookup_is_ignored_where_end_comes_once() -> None:
    ignored = measure(kit.rep(LOOKUP, 0, sizes=[1] * 32, end_calls=1), LOOKUP, kit.BUDGET)
    assert ignored.status == "not_speculative"
    nothing_found = measure(kit.rep(LOOKUP, 0, sizes=[1] * 32), LOOKUP, kit.BUDGET)
    assert nothing_found.status == "ok"
    assert nothing_found.accepted == 0
    assert nothing_found.proposals == 3 * 28 + 2 + 1


def test_getters_that_disagree_are_noted_with_the_version_and_ours_is_kept() -> None:
    said = {"ttft_ms": -170.0, "generated": 96.0, "tpot_ms": -1.0, "throughput": 200.0, "accepted": 0.0}
    metrics = measure(kit.rep(CB, 1, library=said), CB, kit.BUDGET, "2026.4.1.0")
    assert metrics.status == "ok"
    assert metrics.ttft_ms == 5
    text = "\n".join(metrics.notes)
    assert "library 2026.4.1.0 says ttft_ms -170, counted 5" in text
    assert "says generated 96, counted 32" in text
    assert "says accepted 0, counted 20" in text
    assert "tpot_ms" not in text
    agreeing = {"ttft_ms": 5.2, "generated": 32.0, "accepted": 20.0}
    assert measure(kit.rep(CB, 1, library=agreeing), CB, kit.BUDGET).notes == ()
