"""Counts and rates where the library's own go wrong, or where there is little to count."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from sweeps.events.types import RepDone
from sweeps.measure.library import disagreements
from sweeps.paths import bundled
from sweeps.plan.model import Run
from sweeps.store.frames import load_folder
from tests.e2e.traps import kit, stand_in
from tests.e2e.traps.kit import BUDGET

pytestmark = pytest.mark.models

SCRIPT = {"script": (bundled("prompts") / "script.txt").read_text(encoding="utf-8")}
"""The demo's target ends this one after a few tokens."""


def test_the_second_call_on_the_stateful_path(tmp_path: Path) -> None:
    run = kit.stateful()
    measured = kit.measure(tmp_path, run, reps=3)
    done = measured.reps(run)
    assert [rep.call for rep in done] == [0, 1, 2]
    # The library's getters stand still or add up from the second call on ...
    frozen = len({rep.library["ttft_ms"] for rep in done}) == 1
    cumulative = [rep.library["generated"] for rep in done] == [BUDGET, 2 * BUDGET, 3 * BUDGET]
    assert frozen or cumulative or any(rep.library["ttft_ms"] < 0 for rep in done)
    # ... ours do not, and no guard takes offence.
    rows = load_folder(measured.folder.path).reps.to_dicts()
    for row, rep in zip(rows, done, strict=True):
        assert (row["status"], row["reason"], row["tokens"]) == ("ok", None, BUDGET)
        assert 0 < row["ttft_ms"] < row["wall_ms"]
        assert row["ttft_ms"] == rep.burst_us[0] / 1000
        assert row["tok_s"] == pytest.approx((BUDGET - 1) * 1e6 / (rep.burst_us[-1] - rep.burst_us[0]))
        assert 1 + row["rounds"] + row["accepted"] == BUDGET
        assert row["accepted"] <= row["proposals"]
        assert row["draft_total_ms"] + row["verify_total_ms"] < row["wall_ms"]
    assert {row["proposals"] for row in rows} == {rows[0]["proposals"]}
    # A getter that says other than we counted is noted with the library's version. One that stands still
    # agrees by luck where a later call took as long as the first; not where it took twice as long.
    for row, rep in zip(rows, done, strict=True):
        assert ("library 2" in (row["notes"] or "")) == bool(disagreements(rep, row))
        if frozen:
            slower = {**row, "ttft_ms": 2 * rep.library["ttft_ms"] + 20}
            assert any("ttft_ms" in line for line in disagreements(rep, slower))
    assert measured.row(run)["status"] == "ok"
    assert measured.row(run)["repeatable"]


def test_end_of_text_ends_a_rep_early_and_says_so(tmp_path: Path) -> None:
    target = kit.MODELS / "target"
    base = kit.plain("PA", target=target)
    pair, on_stateful = kit.cb(target=target, baseline=base), kit.stateful(target=target, baseline=base)
    measured = kit.measure(tmp_path, base, pair, on_stateful, prompts=SCRIPT, ignore_eos=False)
    for run in (base, pair):
        row = measured.row(run, "script")
        assert row["status"] == "budget_not_met"
        assert row["reason"].startswith(f"4 of {BUDGET} tokens: stop_token")
        assert (row["tokens"], row["finish"]) == (4, "stop_token")
        assert row["speedup"] is None
    # The end of text lies inside a burst: the stateful engine does not see it and goes on.
    (rep,) = measured.reps(on_stateful, "script")
    (ended,) = measured.reps(base, "script")
    assert rep.token_ids[:4] == ended.token_ids
    assert rep.burst_sizes[0] + rep.burst_sizes[1] > 4
    assert (len(rep.token_ids), rep.past_stop) == (BUDGET, BUDGET - 4)
    row = measured.row(on_stateful, "script")
    assert f"went on past the end of text inside a burst: {BUDGET - 4} tokens follow it" in row["notes"]
    assert row["speedup"] is None
    assert "the baseline is budget_not_met" in row["reason"]


def test_the_budget_is_kept_beyond_the_end_of_text(tmp_path: Path) -> None:
    target = kit.MODELS / "target"
    runs = (kit.cb(target=target), kit.stateful(target=target))
    measured = kit.measure(tmp_path, *runs, prompts=SCRIPT)
    for run in runs:
        (rep,) = measured.reps(run, "script")
        assert len(rep.token_ids) == sum(rep.burst_sizes) == BUDGET
        assert 0 in rep.token_ids[:8], "the end of text is in there"
        assert any(size > 1 for size in rep.burst_sizes)
        row = measured.row(run, "script")
        assert (row["status"], row["finish"]) == ("ok", "length")


def test_options_that_are_ignored_without_a_word(tmp_path: Path) -> None:
    alone = kit.plain("PA", nat=3)
    lookup = kit.make_run("prompt-lookup", "NPU", target=kit.SMALL, nat=3, max_ngram_size=3)
    measured = kit.measure(tmp_path, alone, lookup)
    for run, cause in (
        (alone, "num_assistant_tokens is ignored without a draft"),
        (lookup, "prompt lookup is ignored on this path"),
    ):
        assert [event.status for event in measured.ended(run)] == ["ok"]
        (rep,) = measured.reps(run)
        assert rep.burst_sizes == [1] * BUDGET
        row = measured.row(run)
        assert row["status"] == "not_speculative"
        assert cause in row["reason"]
        assert row["acceptance"] is None


@pytest.mark.parametrize("tokens", [1, 2, 3])
def test_hardly_any_new_tokens(tmp_path: Path, tokens: int) -> None:
    runs = (kit.cb(), kit.stateful(), kit.plain("SDPA"))
    measured = kit.measure(tmp_path, *runs, budget=tokens, reps=4)
    reps = {(row["run"], row["rep"]): row for row in load_folder(measured.folder.path).reps.to_dicts()}
    for run in runs:
        for done in measured.reps(run):
            _plausible(reps[run.id, done.rep], done)
        row = measured.row(run)
        assert row["tokens"] == tokens
        assert row["ttft_ms"] > 0
        if tokens == 1:
            assert (row["status"], row["reason"]) == ("ok", None)
            # The library says a throughput of -1000 here.
            assert (row["tok_s"], row["tpot_ms"], row["acceptance"]) == (None, None, None)
        for column in ("tok_s", "tpot_ms", "wall_tok_s", "draft_ms", "verify_ms", "rest_ms"):
            assert row[column] is None or row[column] >= 0, (column, row[column])
        if run.config.kind == "plain":
            continue
        assert row["acceptance"] is None or 0 <= row["acceptance"] <= 1
        assert row["tokens_per_round"] is None or 1 <= row["tokens_per_round"] <= tokens


def _plausible(row: dict[str, Any], done: RepDone) -> None:
    """A rate that is shown is one that the engine could reach. With so few tokens the first may be handed
    over so late that the others seem to follow it at once: then the guard says so."""
    if row["status"] != "ok":
        assert row["status"] == "metric_suspect"
        assert row["reason"].startswith("first_burst_late")
        assert (row["tok_s"], row["tpot_ms"]) == (None, None)
    elif row["tok_s"] is not None:
        computed_us = sum(done.verify_us[1:]) or done.library["tpot_ms"] * 1000 * (row["tokens"] - 1)
        assert (row["tokens"] - 1) / row["tok_s"] * 1e6 > computed_us * 0.7


def test_a_full_context_is_a_reason(tmp_path: Path) -> None:
    small = {"MAX_PROMPT_LEN": 128, "MIN_RESPONSE_LEN": 32}
    run = kit.make_run("plain", "NPU", target=kit.SMALL, properties=small)
    row = kit.measure(tmp_path, run, budget=300).row(run)
    assert row["status"] == "budget_not_met"
    assert row["finish"] == "context_full"
    assert 32 <= row["tokens"] < 300
    assert row["reason"] == f"{row['tokens']} of 300 tokens: context_full"


def test_prefix_caching_is_off_unless_asked_for(tmp_path: Path) -> None:
    base, own = kit.plain("PA"), kit.plain()
    pair, unlike = kit.cb(baseline=base), kit.cb(baseline=own)
    runs = (base, own, pair, unlike)
    prompts = {"long": "x = 1\n" * 200}
    off = kit.measure(tmp_path / "off", *runs, prompts=prompts, budget=32, reps=4)
    on = kit.measure(tmp_path / "on", base, prompts=prompts, budget=32, reps=4, prefix_caching=True)

    def repeated(measured: kit.Measured, run: Run) -> float:
        """TTFT (microseconds) of the same prompt again, when everything else is warm."""
        return median(rep.burst_us[0] for rep in measured.reps(run, "long")[1:])

    assert repeated(on, base) < repeated(off, base) / 2
    assert off.row(base, "long")["prefix_caching"] is False
    assert on.row(base, "long")["prefix_caching"] is True
    assert "TTFT is that of a repeated prompt" in on.row(base, "long")["notes"]
    # Left to its own choice, the library switches the cache on.
    assert repeated(off, own) < repeated(off, base) / 2
    assert off.row(own, "long")["path"] == "cb"
    assert off.row(own, "long")["prefix_caching"] is True
    assert "TTFT is that of a repeated prompt" in off.row(own, "long")["notes"]
    assert off.row(pair, "long")["speedup"] > 0
    row = off.row(unlike, "long")
    assert row["speedup"] is None
    assert row["reason"] == "no speed-up: another state of prefix caching in the baseline: True against False"


def test_after_stop_no_more_tokens_are_counted_than_were_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.use(monkeypatch, "stop")
    on_cb, on_stateful = kit.cb(), kit.stateful()
    measured = kit.measure(tmp_path, on_cb, on_stateful)
    for run in (on_cb, on_stateful):
        (rep,) = measured.reps(run)
        assert len(rep.burst_sizes) == 5
        assert measured.row(run)["tokens"] == sum(rep.burst_sizes) < BUDGET
        assert measured.row(run)["finish"] == "stop_token"
    # Continuous batching computes, counts and returns further rounds: no rate comes of that.
    (rep,) = measured.reps(on_cb)
    assert len(rep.verify_us) > 5 and not rep.result_ids_equal
    row = measured.row(on_cb)
    assert (row["status"], row["tok_s"], row["acceptance"]) == ("metric_suspect", None, None)
    assert row["reason"].startswith("ids_differ")
    assert measured.row(on_stateful)["status"] == "budget_not_met"


def test_a_silent_fallback_is_seen(tmp_path: Path) -> None:
    from tests.e2e.traps.damage import without_fused_attention
    from tests.unit.tiny_models import copy_demo

    folder = copy_demo("draft-s", tmp_path / "unfused")
    without_fused_attention(folder)
    fell, asked = kit.plain(target=folder), kit.plain("PA", target=folder)
    whole = kit.plain(target=kit.SMALL)
    measured = kit.measure(tmp_path, fell, asked, whole)
    (rep,) = measured.reps(fell)
    assert rep.end_calls == 1
    row = measured.row(fell)
    assert (row["status"], row["path"]) == ("ok", "sdpa")
    assert "fell back to SDPA" in row["notes"]
    # Asked for, paged attention raises instead.
    (ended,) = measured.ended(asked)
    assert (ended.status, ended.phase) == ("failed", "construct")
    assert "SDPAToPagedAttention" in ended.reason
    assert measured.row(whole)["path"] == "cb"
    assert "fell back" not in (measured.row(whole)["notes"] or "")
    runs = load_folder(measured.folder.path).runs
    assert runs.filter(pl.col("path") == "sdpa").height == 1
