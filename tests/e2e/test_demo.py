"""The main job, whole: the bundled sweep on the bundled models, and what its table must hold.

With fewer tokens and reps than `specdec demo` asks for, so that it fits a slow machine's CI; with all of them
where SPECDEC_WHOLE_DEMO is set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sweeps.costmodel import lookup
from sweeps.costmodel.probes import loop, probes_of
from sweeps.events.types import RunStarted, SweepEnded
from sweeps.paths import presets
from sweeps.plan.build import plan_file
from sweeps.store.frames import load_reps, load_rounds, load_runs, sweep_folders
from sweeps.store.schema import RUNS
from sweeps.store.tables import Tables
from sweeps.supervise.folder import find_folders
from sweeps.supervise.prepare import read_plan
from sweeps.worker.loop import READINGS, TURNS
from sweeps.worker.widths import WIDTHS
from tests.e2e.engine import events_of, specdec, start_specdec, wait_for

pytestmark = [pytest.mark.models]

Rows = list[dict[str, Any]]
DEMO = presets() / "demo.toml"
TOKENS, REPS = (128, 3) if "SPECDEC_WHOLE_DEMO" in os.environ else (48, 2)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled sweep with `TOKENS` new tokens in `REPS` reps."""
    text = DEMO.read_text(encoding="utf-8")
    for was, now in (
        ("max_new_tokens = 128", f"max_new_tokens = {TOKENS}"),
        ("reps = 3", f"reps = {REPS}"),
    ):
        assert text.count(was) == 1
        text = text.replace(was, now)
    path = tmp_path_factory.mktemp("sweep") / "demo.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its results."""
    base = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPECDEC_STATE", str(base / "state"))
        done = specdec("run", str(sweep), "--headless", "--data", str(base / "data"), timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert done.stdout.rstrip().splitlines()[-3].startswith(("Best of", "No configuration"))
    yield base / "data"


@pytest.fixture(scope="module")
def rows(data: Path) -> Rows:
    done = specdec("table", "--data", str(data), "--format", "json")
    assert done.returncode == 0, done.stderr
    found: Rows = json.loads(done.stdout)
    return found


def test_one_row_a_run_and_prompt_with_all_columns(rows: Rows, sweep: Path) -> None:
    plan = plan_file(sweep)
    wanted = {(run.id, prompt.name) for run in plan.runs for prompt in plan.prompts}
    assert {(row["run"], row["prompt"]) for row in rows} == wanted
    assert len(rows) == len(wanted)
    assert all(list(row) == list(RUNS) for row in rows)


def test_what_the_demo_covers(rows: Rows) -> None:
    measured = {
        (r["kind"], r["draft"], r["draft_device"], r["num_assistant_tokens"], r["path"]) for r in rows
    }
    for draft in ("draft-s", "draft-m"):
        for nat in (1, 3, 5):
            assert ("speculative", draft, "CPU", nat, "cb") in measured
    for nat in (1, 3, 5):
        assert ("speculative", "draft-s", "NPU", nat, "stateful") in measured
    assert any(kind == "prompt-lookup" for kind, *_ in measured)
    alone = {(r["target"], r["target_device"], r["path"]) for r in rows if r["kind"] == "plain"}
    assert alone >= {("target", "CPU", "cb"), ("target", "CPU", "sdpa")}
    assert alone >= {(draft, "NPU", "npu") for draft in ("draft-s", "draft-m")}
    assert all(row["emulated"] == ("NPU" in (row["target_device"], row["draft_device"])) for row in rows)


def test_budgets_are_kept_and_speedups_have_their_own_baseline(rows: Rows) -> None:
    by_run = {(row["run"], row["prompt"]): row for row in rows}
    for row in rows:
        assert row["status"] == "ok", (row["run"], row["prompt"], row["reason"])
        assert row["tokens"] == TOKENS
        if row["kind"] not in ("speculative", "prompt-lookup"):
            continue
        base = by_run[row["baseline"], row["prompt"]]
        assert (base["kind"], base["target"], base["target_device"]) == ("plain", row["target"], "CPU")
        assert base["path"] == {"cb": "cb", "stateful": "sdpa"}[row["path"]]
        assert row["speedup"] == pytest.approx(row["tok_s"] / base["tok_s"])
        assert row["speedup_lo"] < row["speedup"] < row["speedup_hi"]
        assert row["speedup_default"] is not None
        if row["kind"] == "speculative":
            assert row["identity_speedup"] == pytest.approx(row["speedup"], rel=0.05)
            assert row["predicted_speedup"] is not None


def test_drafts_are_compared_with_the_baseline_and_with_each_other(rows: Rows) -> None:
    """On every prompt: where a draft's text leaves the baseline's, and whether drafts agree."""
    drafts = [row for row in rows if row["kind"] == "speculative"]
    for row in drafts:
        same = row["same_prefix_tokens"]
        assert (row["first_divergence"] is None) == (same == TOKENS)
        assert "other draft row" in row["divergence"]
        assert row["repeatable"] is True
        if row["first_divergence"] is not None:
            assert f"token {same}:" in row["divergence"]
    assert {row["prompt"] for row in drafts if row["draft_device"] == "NPU"} == {r["prompt"] for r in rows}


def test_counts_add_up_in_every_rep(data: Path) -> None:
    reps = load_reps(data).filter(pl.col("rounds").is_not_null())
    assert reps.height > 0
    assert reps.filter(pl.col("accepted") + pl.col("rounds") + 1 != pl.col("tokens")).is_empty()
    assert reps.filter(pl.col("proposals") < pl.col("accepted")).is_empty()
    spent = pl.col("draft_total_ms").fill_null(0) + pl.col("verify_total_ms").fill_null(0)
    assert reps.filter(pl.col("wall_ms") < spent).is_empty()
    assert reps["ttft_ms"].min() > 0  # type: ignore[operator]
    rounds = load_rounds(data).filter(pl.col("kind") == "speculative", pl.col("round") > 0)
    assert rounds.filter(pl.col("accepted") > pl.col("proposals")).is_empty()
    per_rep = rounds.group_by("run", "prompt", "rep").agg(pl.col("tokens").sum() + 1)
    assert set(per_rep["tokens"]) == {TOKENS}


def test_the_journal_holds_the_probes_of_the_cost_model(data: Path) -> None:
    """Verify widths of the target, and each draft timed in turns with it, before any speculative run."""
    tables = Tables(sweep_folders(data)[-1])
    tables.refresh()
    state = tables.state
    drafts = set()
    for (run, _), times in state.loops.items():
        drafts.add(state.runs[run].run.config.draft)
        (turns,) = {len(each) for each in times.verify_ms.values()}
        assert turns in [TURNS * readings for readings in range(1, READINGS + 1)]
        assert all(
            ms > 0 for each in (*times.first_ms.values(), *times.later_ms, times.back_ms) for ms in each
        )
        assert loop(times, ("target", "CPU", "draft", "CPU")) is not None
    assert drafts == {"draft-s", "draft-m"}
    assert state.widths
    for widths in state.widths.values():
        for kind in (widths.ms, widths.changed_ms, widths.after_trim_ms):
            assert set(kind) == {str(width) for width in WIDTHS}
            assert all(ms > 0 for each in kind.values() for ms in each)


def test_prompt_lookup_is_foretold_by_replaying_its_search(data: Path) -> None:
    """On the texts that the agreement runs scored; rows of another text and near ties have no claim to it."""
    tables = Tables(sweep_folders(data)[-1])
    tables.refresh()
    texts = probes_of(tables.state).texts
    rows = load_runs(data).filter(
        pl.col("kind") == "prompt-lookup", pl.col("status") == "ok", pl.col("first_divergence").is_null()
    )
    judged = 0
    for row in rows.iter_rows(named=True):
        prompt, text = texts[row["target"], row["prompt"]]
        if len(text) == row["max_new_tokens"]:
            played = lookup.replay(prompt, text, row["num_assistant_tokens"], row["max_ngram_size"])
            assert played.tokens_per_round == pytest.approx(row["tokens_per_round"], rel=0.02)
            judged += 1
    assert judged > 0


def test_a_second_run_measures_nothing_again(data: Path, sweep: Path) -> None:
    before = load_reps(data).height
    done = specdec("run", str(sweep), "--headless", "--data", str(data))
    assert done.returncode == 0
    assert load_reps(data).height == before


def test_the_demo_is_the_bundled_sweep(results: Path) -> None:
    demo = start_specdec("demo", "--headless", "--data", str(results))
    folder = wait_for(lambda: next((f for f in find_folders(results) if events_of(f, RunStarted)), None))
    assert folder.sweep_file.read_bytes() == DEMO.read_bytes()
    assert specdec("stop", "--data", str(results)).returncode == 0
    assert demo.wait(60) == 130
    assert events_of(folder, SweepEnded)[-1].status == "stopped"


def test_a_forecast_measures_probes_and_forgets_nothing(data: Path, rows: Rows, sweep: Path) -> None:
    """The last test of these results: it adds to them."""
    plan = plan_file(sweep)
    before = load_reps(data)
    done = specdec("forecast", str(sweep), "--data", str(data), "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    grid = {run.id for run in plan.runs if run.config.kind == "speculative"}
    assert {row["run"] for row in told} == grid
    for row in told:
        assert row["predicted_lo"] < row["predicted_speedup"] < row["predicted_hi"], row["missing"]
    added = load_reps(data).join(before, on=["run", "prompt", "rep"], how="anti")
    configs = {(row["kind"], row["num_assistant_tokens"]) for row in added.to_dicts()}
    assert configs == {("prompt-lookup", 1), ("prompt-lookup", 5)}
    (folder,) = find_folders(data)
    known = {run.id for run in read_plan(folder).runs}
    assert known == {run.id for run in plan.runs} | set(added["run"])
    again = {row["run"]: row for row in load_runs(data, published=False).to_dicts()}
    assert all(again[row["run"]]["status"] == "ok" for row in rows)
