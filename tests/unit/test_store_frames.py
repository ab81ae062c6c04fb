"""The three tables: exact columns, honest rows, and the Parquet cache beside the journal."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import polars as pl
import pytest

from sweeps.events.types import Agreement, Event, RepStarted, RunEnded, RunStarted, Sample, SweepEnded
from sweeps.plan.model import Run
from sweeps.store import frames
from sweeps.store.frames import load_reps, load_rounds, load_runs, rebuild, write_parquet
from sweeps.store.schema import REPS, ROUNDS, RUNS, Column
from sweeps.store.tables import Tables
from sweeps.supervise.owner import beat, myself
from tests.unit import journal_kit as kit

JOURNALS = Path(__file__).parents[1] / "data" / "journals"
BASE = kit.plain("base")
SDPA = kit.plain("sdpa", "SDPA")
CB = kit.speculative("cb3", default="sdpa")
STATEFUL = kit.speculative("st3", draft_device="NPU", baseline="sdpa")
RATES = (10.0, 10.2, 9.8)


def sweep() -> list[Event]:
    """Two baselines and two drafts, three reps each; a round takes 21 ms."""
    plan = kit.plan(BASE, SDPA, CB, STATEFUL)
    events: list[Event] = [kit.started(plan)]
    for run, factor in ((BASE, 1.0), (SDPA, 1.1), (CB, 2.1), (STATEFUL, 4.0)):
        events += kit.whole_run(run, [kit.rep(run, n, ms=ms * factor) for n, ms in enumerate(RATES)])
    return [*events, SweepEnded(status="done")]


def runs_of(folder: Path) -> dict[str, dict[str, object]]:
    return {row["run"]: row for row in frames.load_folder(folder).runs.to_dicts()}


def schema(columns: dict[str, Column]) -> pl.Schema:
    return pl.Schema({name: column.dtype for name, column in columns.items()})


def test_columns_are_exactly_those_of_the_schema_in_its_order(results: Path) -> None:
    kit.write(results, sweep())
    for frame, columns in (
        (load_runs(results), RUNS),
        (load_reps(results), REPS),
        (load_rounds(results), ROUNDS),
    ):
        assert frame.schema == schema(columns)
        assert list(frame.columns) == list(columns)
        assert frame.height > 0


def test_an_empty_results_folder_has_empty_tables(results: Path) -> None:
    assert load_runs(results, published=False).schema == schema(RUNS)
    assert load_runs(results, published=False).is_empty()
    assert load_reps(results / "nowhere").schema == schema(REPS)


def test_a_clean_sweep(results: Path) -> None:
    rows = runs_of(kit.write(results, sweep()))
    assert {row["status"] for row in rows.values()} == {"ok"}
    cb = rows["cb3"]
    assert (cb["reps"], cb["tokens"], cb["finish"], cb["path"], cb["host"]) == (
        3,
        32,
        "length",
        "cb",
        "laptop",
    )
    assert (cb["accepted"], cb["proposals"]) == (60, 90)
    assert cb["acceptance"] == pytest.approx(2 / 3)
    assert cb["tokens_per_round"] == pytest.approx(31 / 11)
    # 31 tokens in 11 rounds of 21 ms against 10 ms a token.
    assert cb["speedup"] == pytest.approx(31 / (11 * 2.1), rel=1e-4)
    assert cb["identity_speedup"] == pytest.approx(cb["speedup"], rel=1e-9)
    assert cb["speedup_default"] == pytest.approx(1.1 * 31 / (11 * 2.1), rel=1e-4)
    lo, hi = cb["speedup_lo"], cb["speedup_hi"]
    assert isinstance(lo, float) and isinstance(hi, float) and lo < 31 / (11 * 2.1) < hi
    assert (cb["rel_mad"], cb["noisy"], cb["repeatable"]) == (pytest.approx(0.0196, abs=1e-3), False, True)
    assert cb["baseline"] == "base"
    base = rows["base"]
    assert base["tok_s"] == pytest.approx(100, rel=1e-3)
    assert (base["speedup"], base["acceptance"], base["rounds"], base["draft_ms"]) == (None, None, None, None)
    assert rows["st3"]["speedup"] == pytest.approx(rows["st3"]["tok_s"] / rows["sdpa"]["tok_s"])  # type: ignore[operator]


def test_every_rep_and_round_adds_up(results: Path) -> None:
    kit.write(results, sweep())
    reps = load_reps(results).filter(pl.col("rounds").is_not_null())
    assert reps.height == 6
    assert (reps["accepted"] + reps["rounds"] + 1 == reps["tokens"]).all()
    assert (reps["proposals"] >= reps["accepted"]).all()
    assert (reps["rounds_total_ms"] >= reps["draft_total_ms"] + reps["verify_total_ms"]).all()
    rounds = load_rounds(results).filter(pl.col("round") > 0, pl.col("kind") == "speculative")
    summed = rounds.group_by("run", "rep", maintain_order=True).agg(
        pl.col("accepted", "proposals", "draft_ms").sum(), pl.col("tokens").sum()
    )
    assert summed["tokens"].to_list() == [31] * 6
    assert sorted(summed["proposals"].to_list()) == sorted(reps["proposals"].to_list())


def test_unlike_rows_are_not_divided_and_say_why(results: Path) -> None:
    fallen_back = [kit.rep(BASE, n, end_calls=1) for n in range(3)]
    events = [kit.started(kit.plan(BASE, CB)), *kit.whole_run(BASE, fallen_back)]
    events += kit.whole_run(CB, [kit.rep(CB, n) for n in range(3)])
    rows = runs_of(kit.write(results, events))
    assert rows["base"]["path"] == "sdpa"
    assert "asked for cb, ran on sdpa" in str(rows["base"]["notes"])
    assert rows["cb3"]["speedup"] is None
    assert rows["cb3"]["status"] == "ok"
    assert rows["cb3"]["reason"] == "no speed-up: another path in the baseline: sdpa against cb"
    assert rows["cb3"]["speedup_default"] is None


def test_rows_of_another_length_are_not_divided(results: Path) -> None:
    short = [kit.rep(CB, n, sizes=kit.bursts(30, 3), finish="STOP") for n in range(3)]
    events = [kit.started(kit.plan(BASE, CB)), *kit.whole_run(BASE, [kit.rep(BASE, n) for n in range(3)])]
    rows = runs_of(kit.write(results, [*events, *kit.whole_run(CB, short)]))
    assert (rows["cb3"]["status"], rows["cb3"]["finish"], rows["cb3"]["tokens"]) == (
        "budget_not_met",
        "stop_token",
        30,
    )
    assert rows["cb3"]["speedup"] is None


def test_one_rep_has_no_spread(results: Path) -> None:
    events = [kit.started(kit.plan(BASE, CB, reps=1)), kit.rep(BASE, 0), kit.rep(CB, 0)]
    cb = runs_of(kit.write(results, events))["cb3"]
    assert cb["speedup"] is not None
    assert [
        cb[name] for name in ("tok_s_sd", "speedup_lo", "speedup_hi", "rel_mad", "noisy", "repeatable")
    ] == [None] * 6


def test_interleaved_passes_are_paired(results: Path) -> None:
    plan = kit.plan(BASE, CB, order="interleaved")
    events: list[Event] = [kit.started(plan)]
    for number, ms in enumerate((10.0, 15.0, 10.0)):
        for run in (BASE, CB):
            events += kit.whole_run(run, [kit.rep(run, number, ms=ms)], attempt=number + 1)
    cb = runs_of(kit.write(results, events))["cb3"]
    assert cb["status"] == "ok"
    assert cb["speedup_lo"] == pytest.approx(cb["speedup"])
    assert "pairs of passes" in str(cb["notes"])


def under(run: Run, ms: float, **conditions: object) -> list[Event]:
    """A run whose every rep has one sample of the processor's conditions."""
    events: list[Event] = []
    for number in range(3):
        sample = Sample(run=run.id, rss_mb=500.0, cpu=2.0, **conditions)  # type: ignore[arg-type]
        done = kit.rep(run, number, ms=ms)
        started = RepStarted(t=done.t, run=run.id, prompt=done.prompt, rep=number)
        events += [started, sample, done]
    return [*kit.whole_run(run, [])[:-1], *events, kit.whole_run(run, [])[-1]]


def test_a_throttled_row_is_noisy_and_says_so(results: Path) -> None:
    events = [kit.started(kit.plan(BASE, CB)), *under(BASE, 10), *under(CB, 15, throttles=2)]
    folder = kit.write(results, events)
    base, cb = runs_of(folder)["base"], runs_of(folder)["cb3"]
    assert (base["noisy"], cb["noisy"]) == (False, True)
    assert "the processor was throttled 6 times" in str(cb["notes"])
    assert frames.load_folder(folder).reps.filter(run="cb3")["throttles"].to_list() == [2, 2, 2]


def test_a_clock_unlike_the_baselines_makes_a_row_noisy(results: Path) -> None:
    for clock, noisy in ((3000.0, False), (2800.0, False), (2000.0, True)):
        events = [kit.started(kit.plan(BASE, CB)), *under(BASE, 10, freq_mhz=3000.0)]
        folder = kit.write(results / str(clock), [*events, *under(CB, 15, freq_mhz=clock)])
        cb = runs_of(folder)["cb3"]
        assert cb["noisy"] is noisy
        assert ("the clock was -33% off the baseline's" in str(cb["notes"])) is noisy
        assert frames.load_folder(folder).reps.filter(run="cb3")["freq_mhz"].to_list() == [clock] * 3


def test_a_row_measured_on_battery_says_so(results: Path) -> None:
    events = [kit.started(kit.plan(BASE, CB)), *under(BASE, 10), *under(CB, 15, on_battery=True)]
    assert "on battery" in str(runs_of(kit.write(results, events))["cb3"]["notes"])


def test_a_suspect_rep_withholds_the_number_in_every_table(results: Path) -> None:
    bad = kit.rep(CB, 1)
    bad = kit.rep(CB, 1, burst_us=[-170_000, *bad.burst_us[1:]])
    events = [kit.started(kit.plan(BASE, CB)), *(kit.rep(BASE, n) for n in range(3))]
    folder = kit.write(results, [*events, kit.rep(CB, 0), bad, kit.rep(CB, 2)])
    cb = runs_of(folder)["cb3"]
    assert cb["status"] == "metric_suspect"
    assert str(cb["reason"]).startswith("ttft_not_positive: first token after -170.000 ms")
    assert cb["ttft_ms"] is None
    reps = frames.load_folder(folder).reps.filter(run="cb3")
    assert reps["ttft_ms"].is_null().to_list() == [False, True, False]


def test_timers_that_contradict_the_clock_are_suspect(results: Path) -> None:
    lying = [kit.rep(CB, n, verify_us=[4000.0] + [60_000.0] * 11) for n in range(3)]
    cb = runs_of(
        kit.write(results, [kit.started(kit.plan(BASE, CB)), *lying, *(kit.rep(BASE, n) for n in range(3))])
    )
    assert cb["cb3"]["status"] == "metric_suspect"
    assert cb["cb3"]["verify_ms"] is None
    assert cb["cb3"]["identity_speedup"] is None


def test_a_round_budget_that_misses_the_measured_speedup_is_suspect(results: Path) -> None:
    # The timers fit into the call with its long prefill, but not into the rounds.
    late = [
        kit.rep(
            CB,
            n,
            verify_us=[0.0] + [9_000.0] * 11,
            burst_us=[80_000 + 10_000 * i for i in range(12)],
            wall_us=190_200,
        )
        for n in range(3)
    ]
    events = [kit.started(kit.plan(BASE, CB)), *(kit.rep(BASE, n) for n in range(3)), *late]
    cb = runs_of(kit.write(results, events))["cb3"]
    assert cb["status"] == "metric_suspect"
    assert str(cb["reason"]).startswith("identity_off: the round budget gives")
    assert (cb["speedup"], cb["speedup_lo"], cb["identity_speedup"]) == (None, None, None)
    assert cb["tok_s"] is not None


def test_a_draft_of_which_nothing_is_accepted(results: Path) -> None:
    useless = [kit.rep(CB, n, sizes=[1] * 32) for n in range(3)]
    cb = runs_of(kit.write(results, [kit.started(kit.plan(BASE, CB)), *useless]))["cb3"]
    assert cb["status"] == "metric_suspect"
    assert str(cb["reason"]).startswith("zero_acceptance: none of 261 proposals")
    assert cb["acceptance"] is None
    assert cb["tok_s"] is not None


def test_texts_are_compared_with_the_baseline_and_among_drafts(results: Path) -> None:
    other = [*range(100, 110), *range(500, 522)]
    npu = [kit.rep(STATEFUL, n, ids=other) for n in range(3)]
    events = [kit.started(kit.plan(BASE, SDPA, CB, STATEFUL))]
    for run in (BASE, SDPA, CB):
        events += [kit.rep(run, n) for n in range(3)]  # type: ignore[misc]
    rows = runs_of(kit.write(results, [*events, *npu]))
    assert (rows["cb3"]["same_prefix_tokens"], rows["cb3"]["first_divergence"]) == (32, None)
    assert (rows["st3"]["same_prefix_tokens"], rows["st3"]["first_divergence"]) == (10, 10)
    assert str(rows["st3"]["divergence"]).startswith("token 10: 500 here, 110 in the baseline; unlike 1 of 1")
    assert "110 here, 500 in small on NPU NAT 3" in str(rows["cb3"]["divergence"])
    assert [rows[run]["text"] for run in ("base", "sdpa", "cb3", "st3")] == ["A", "A", "A", "B"]
    # Another text is no failure.
    assert rows["st3"]["status"] == "ok"


def test_an_agreement_pass_is_a_row_without_rates(results: Path) -> None:
    run = kit.speculative("agr", kind="agreement")
    bits = Agreement(run="agr", prompt="story", bits="1101", token_ids=[1, 2, 3, 4])
    rows = runs_of(kit.write(results, [kit.started(kit.plan(BASE, run)), kit.rep(BASE, 0), bits]))
    agreed = rows["agr"]
    assert (agreed["status"], agreed["reps"], agreed["tokens"]) == ("ok", 1, 4)
    assert agreed["notes"] == "agrees with 75.0% of 4 tokens"
    assert (agreed["tok_s"], agreed["speedup"], agreed["acceptance"], agreed["reason"]) == (
        None,
        None,
        None,
        None,
    )


def test_failed_and_queued_runs_have_a_row_a_prompt(results: Path) -> None:
    events = [
        kit.started(kit.plan(BASE, CB, prompts=("story", "code"))),
        RunStarted(run="base", attempt=1, pid=1, todo=6),
        kit.rep(BASE, 0),
        kit.rep(BASE, 1),
        RepStarted(run="base", prompt="story", rep=2),
        Sample(run="base", rss_mb=812.5, cpu=1.0),
        RunEnded(
            run="base", attempt=1, status="failed", failure="native_crash", reason="SIGSEGV", prompt="story"
        ),
        SweepEnded(status="stopped"),
    ]
    found = frames.load_folder(kit.write(results, events)).runs
    assert found.select("run", "prompt", "status", "failure", "reps").rows() == [
        ("base", "story", "failed", "native_crash", 2),
        ("base", "code", "failed", "native_crash", 0),
        ("cb3", "story", "queued", None, 0),
        ("cb3", "code", "queued", None, 0),
    ]
    assert found["reason"][0] == "SIGSEGV (2 of 3 reps kept)"
    assert found["peak_rss_mb"][0] == 812.5
    assert found["tok_s"][0] is not None


def test_a_running_sweep_is_read_from_its_journal(results: Path) -> None:
    events = [kit.started(kit.plan(BASE)), RunStarted(run="base", attempt=1, pid=1, todo=3), kit.rep(BASE, 0)]
    folder = kit.write(results, events)
    owner = myself(folder)
    beat(folder / "supervisor.json", owner)
    assert runs_of(folder)["base"]["status"] == "running"
    assert runs_of(folder)["base"]["reps"] == 1
    another = msgspec.structs.replace(owner, process_started=owner.process_started - 300)
    beat(folder / "supervisor.json", another)
    assert runs_of(folder)["base"]["status"] == "cancelled"
    assert "--resume" in str(runs_of(folder)["base"]["reason"])


def test_tables_follow_a_growing_journal(results: Path) -> None:
    events = sweep()
    folder = kit.write(results, events[:6])
    tables = Tables(folder)
    assert tables.refresh()
    assert tables.reps().height == 2
    first = tables._measured["base", "story", 0]
    kit.write(results, events)
    assert tables.refresh()
    assert tables.reps().height == 12
    assert tables._measured["base", "story", 0] is first
    assert not tables.refresh()
    told = frames.load_folder(folder).runs.with_columns(predicted_speedup=pl.lit(None, pl.Float64))
    assert tables.runs().equals(told)


def test_parquet_is_used_while_it_has_seen_the_whole_journal(results: Path) -> None:
    folder = kit.write(results, sweep())
    fresh = {name: frames.load_folder(folder).table(name) for name in ("runs", "reps", "rounds")}
    write_parquet(folder)
    cached = frames.load_folder(folder)
    for name, frame in fresh.items():
        assert cached.table(name).equals(frame, null_equal=True)
    assert cached._followed is None
    kit.write(results, [*sweep(), kit.rep(BASE, 0, ms=50.0)])
    grown = frames.load_folder(folder)
    assert grown.reps["tok_s"][0] == pytest.approx(20)
    assert grown._followed is not None


def test_a_damaged_or_missing_parquet_is_made_again(results: Path) -> None:
    folder = kit.write(results, sweep())
    write_parquet(folder)
    expected = frames.load_folder(folder).runs
    (folder / "runs.parquet").write_bytes(b"PAR1 cut off")
    assert frames.load_folder(folder).runs.equals(expected, null_equal=True)
    rebuild(folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "journal.jsonl",
        "reps.parquet",
        "rounds.parquet",
        "runs.parquet",
    ]
    assert pl.read_parquet(folder / "runs.parquet").equals(expected, null_equal=True)


def test_a_sweep_is_found_by_its_folder_or_its_name(results: Path) -> None:
    old = kit.write(results, sweep(), "kit-20260101T000000Z")
    new = kit.write(results, sweep(), "kit-20260202T000000Z")
    kit.write(results, sweep(), "kitchen-20260101T000000Z")
    os.utime(old / "journal.jsonl", (1, 1))
    assert load_reps(results)["sweep"].n_unique() == 3
    assert load_reps(results, "kit")["sweep"].unique().to_list() == [new.name]
    assert load_reps(results, old.name)["sweep"].unique().to_list() == [old.name]
    assert load_reps(results, "none").is_empty()


def test_published_rows_stand_in_the_same_table(results: Path) -> None:
    kit.write(results, sweep())
    own = load_runs(results, published=False)
    both = load_runs(results)
    assert own["source"].unique().to_list() == ["measured"]
    published = both.filter(source="published")
    assert both.height == own.height + published.height
    assert published.height >= 9
    name = str(published["sweep"][0])
    assert load_runs(results, name, published=False).height == published.filter(sweep=name).height


def test_a_journal_of_version_1_from_real_pipelines(results: Path) -> None:
    """Written by the worker with openvino-genai 2026.4.1 on the demo models; to be read for ever."""
    folder = results / "v1-20261130T183724Z"
    folder.mkdir()
    shutil.copy(JOURNALS / "v1.jsonl", folder / "journal.jsonl")
    loaded = frames.load_folder(folder)
    runs = loaded.runs
    assert runs["status"].unique().to_list() == ["ok"]
    assert runs.height == 12
    assert runs["path"].to_list() == ["cb"] * 2 + ["sdpa"] * 2 + ["cb"] * 4 + ["stateful"] * 2 + ["cb"] * 2
    drafted = runs.filter(kind="speculative")
    assert drafted["proposals"].to_list() == [132, 96, 126, 120]
    assert drafted["accepted"].to_list() == [48, 60, 46, 56]
    assert ((drafted["identity_speedup"] / drafted["speedup"] - 1).abs() < 0.001).all()
    assert runs["repeatable"].all()
    # The stateful path's getters freeze at the first call: a warm-up's TTFT of 234 ms.
    assert "says ttft_ms 234" in str(drafted["notes"][2])
    reps = loaded.reps
    assert (reps["tokens"] == 48).all()
    rounds = loaded.rounds.filter(pl.col("round") > 0, kind="speculative")
    assert rounds["proposals"].null_count() == 0
    assert rounds["draft_ms"].null_count() == 0
