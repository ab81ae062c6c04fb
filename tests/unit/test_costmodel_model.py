"""Terms learned back from rounds, predictions of rows not seen, intervals, calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from sweeps.costmodel.calibrate import DEFAULT_RATIO, Calibration, Donor, Loop, Probes, shrunk
from sweeps.costmodel.cases import cases, draft_alone, planned, target_alone
from sweeps.costmodel.chance import WARMING
from sweeps.costmodel.model import measured_terms, tables, train
from sweeps.costmodel.params import Params, profile, speedup, total_ms
from sweeps.costmodel.predict import CORRELATION, chance_rel, predict, predict_many
from sweeps.costmodel.roundtable import RoundTable, round_table
from sweeps.costmodel.rules import Rule, replay
from sweeps.costmodel.terms import Key, acceptance, default_prior, fit
from sweeps.costmodel.validate import splits, summary, validate
from sweeps.exchange import published
from sweeps.store.schema import ROUNDS, empty
from tests.unit.costmodel_kit import World

Frames = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=5)


@pytest.fixture(scope="module")
def frames(world: World) -> Frames:
    return world.frames()


def test_terms_are_learned_back(world: World, frames: Frames) -> None:
    mine = frames[1].filter((pl.col("draft") == "m") & (pl.col("path") == "stateful"))
    table = round_table(mine)
    learned = fit(table, default_prior(20.0, 4.0, "stateful"), 20.0)
    truth = {
        "draft": 5.6,
        "draft_first": 0.0,
        "catch_up": 5.6,
        "verify_base": 19.0,
        "verify_slope": 1.2,
        "verify_change": 1.6,
        "rest": 0.8,
        "rest_mismatch": 2.5,
    }
    for name, value in truth.items():
        assert abs(learned[name] - value) < max(5 * learned.se(name), 0.05 * max(value, 1.0)), name
    assert learned.first_round_ms == pytest.approx(world.first_round_ms, rel=0.1)
    assert learned.widths[0] <= 2
    assert learned.widths[1] >= 8


def test_rounds_without_the_librarys_times_give_verify_by_width_too() -> None:
    """Prompt lookup: only wall times, and a target whose fourth proposal is a step, not a slope."""
    steps = {1: 22.0, 2: 22.5, 3: 23.0, 4: 31.0, 5: 31.5, 8: 33.0}
    calls = [(nat, rep) for nat in steps for rep in range(3)]
    call = np.repeat(np.arange(len(calls), dtype=float), 40)
    c = np.repeat(np.array([float(nat) for nat, _ in calls]), 40)
    wall = np.array([steps[int(width)] for width in c]) + np.tile([0.1, -0.1], c.size // 2)
    none = np.full(c.size, np.nan)
    number = np.tile(np.arange(1.0, 41.0), len(calls))
    table = RoundTable(call, c, number, c, np.zeros(c.size), np.zeros(c.size), wall, none, none, none)
    found = fit(table, default_prior(20.0, 1e-6, "cb"), 20.0, fixed=True)
    by_width = dict(found.table)
    assert by_width[4] - by_width[3] == pytest.approx(8.0, abs=0.5)
    for width, ms in steps.items():
        assert by_width[width] + found["rest"] + found["rest_mismatch"] == pytest.approx(ms, rel=0.02)


def test_a_switch_of_the_drafts_width_costs_half_of_a_there_and_back() -> None:
    """At NAT 1 on cb rounds behind a whole one take two tokens; only a switch costs."""
    whole = np.array([0, 1, 1, 1, 0, 1, 1, 0, 0, 1] * 30, dtype=float)
    switched = np.concatenate([[0.0], (whole[1:] != whole[:-1]).astype(float)])
    one = np.ones_like(whole)
    draft = 2.0 + 1.5 * switched + 0.02 * np.sin(7.0 * np.arange(whole.size))
    verify, rest = 20.0 + 0.1 * np.cos(np.arange(whole.size)), 0.4 + 0.02 * np.sin(np.arange(whole.size))
    number = np.arange(1.0, whole.size + 1)
    table = RoundTable(one, one, number, one, one, whole, draft + verify + rest, draft, verify, one)
    found = fit(table, default_prior(20.0, 2.0, "cb"), 20.0, fixed=True)
    assert found["catch_up"] == pytest.approx(3.0, abs=0.05)
    assert found["draft"] + found["draft_first"] == pytest.approx(2.0, abs=0.05)


def test_a_rounds_first_proposals_are_dearer_and_the_next_less_and_less() -> None:
    """Learned from rounds of several NATs, and predicted for one that was not seen."""
    nats = np.array([1, 3, 5])
    c = np.repeat(nats, 200).astype(float)
    extra = {n: 1.5 * sum(WARMING**place for place in range(n)) for n in (1, 3, 5, 8)}
    draft = 2.0 * c + np.array([extra[int(n)] for n in c]) + 0.02 * np.sin(7.0 * np.arange(c.size))
    verify, rest = np.full(c.size, 20.0), np.full(c.size, 0.4)
    number, none = np.tile(np.arange(1.0, 201.0), nats.size), np.zeros(c.size)
    table = RoundTable(c, c, number, c, none, none, draft + verify + rest, draft, verify, c)
    found = fit(table, default_prior(20.0, 2.0, "cb"), 20.0, fixed=True)
    assert found["draft"] == pytest.approx(2.0, abs=0.03)
    assert found["draft_first"] == pytest.approx(1.5, abs=0.1)
    params = Params(20.0, found["draft"], 20.0, draft_first_ms=found["draft_first"], bits="?" + "0" * 127)
    counts = profile(params, 8)
    whole = float(total_ms(params, counts)) - 20.0 * float(counts.rounds)
    by_hand = sum(
        rounds * (2.0 * width + 1.5 * sum(WARMING**place for place in range(width)))
        for width, rounds in enumerate(counts.by_width)
    )
    assert whole == pytest.approx(by_hand, rel=0.02)


def test_a_few_stalled_rounds_do_not_move_the_slopes(frames: Frames) -> None:
    mine = frames[1].filter((pl.col("draft") == "s") & (pl.col("path") == "stateful"))
    stalled = mine.with_columns(
        (pl.col("wall_ms") + pl.when(pl.int_range(pl.len()) % 37 == 5).then(300.0).otherwise(0.0)).alias(
            "wall_ms"
        ),
        (pl.col("verify_ms") + pl.when(pl.int_range(pl.len()) % 37 == 5).then(300.0).otherwise(0.0)).alias(
            "verify_ms"
        ),
    )
    clean, rough = (fit(round_table(f), default_prior(20.0, 2.0, "stateful"), 20.0) for f in (mine, stalled))
    assert rough["verify_slope"] == pytest.approx(clean["verify_slope"], abs=0.1)
    assert rough["draft"] == pytest.approx(clean["draft"], rel=0.02)
    # ... but a call's total holds them: they went into the rest.
    assert rough["rest"] > clean["rest"] + 4.0


def test_one_width_leaves_the_slope_at_its_default_with_a_wide_error(frames: Frames) -> None:
    mine = frames[1].filter(
        (pl.col("draft") == "s") & (pl.col("path") == "cb") & (pl.col("num_assistant_tokens") == 3)
    )
    only = mine.filter(pl.col("proposals") == 3)
    prior = default_prior(20.0, 2.0, "cb")
    learned = fit(round_table(only), prior, 20.0)
    both = fit(
        round_table(frames[1].filter((pl.col("draft") == "s") & (pl.col("path") == "cb"))), prior, 20.0
    )
    assert learned.se("verify_slope") > 5 * both.se("verify_slope")
    assert learned["verify_base"] + 3 * learned["verify_slope"] == pytest.approx(22.6, rel=0.02)


def test_without_rounds_the_terms_are_the_prior() -> None:
    prior = default_prior(20.0, 2.0, "cb")
    learned = fit(round_table(empty(ROUNDS)), prior)
    assert learned.theta.tolist() == prior.mean.tolist()
    assert learned.rounds == 0


def test_acceptance_by_place_counts_what_was_judged(frames: Frames) -> None:
    table = round_table(frames[1].filter((pl.col("draft") == "m") & (pl.col("num_assistant_tokens") == 4)))
    counts = acceptance(table)
    assert sum(counts.accepted) == table.m.sum()
    assert all(a <= n for a, n in zip(counts.accepted, counts.tested, strict=True))
    assert all(0 < p < 1 for p in counts.conditional)


def test_baselines_and_drafts_alone(frames: Frames) -> None:
    assert draft_alone(frames[0])["s", "NPU"] == pytest.approx(2.0, rel=0.01)
    assert target_alone(frames[0], "T", "CPU", "stateful")["docs"][0] == pytest.approx(20.0, rel=0.02)
    assert all(c.target_ms == pytest.approx(20.0) for c in cases(frames[0]))


def test_fitted_on_nat_3_the_others_are_predicted(world: World, frames: Frames) -> None:
    found = validate(*frames, fitted=lambda c: c.nat == 3, strings=world.strings(), nats=False)
    assert set(found["num_assistant_tokens"]) == {1, 2, 4, 5, 8}
    off = found.with_columns(off=pl.col("predicted_tokens_per_round") / pl.col("tokens_per_round") - 1)
    assert off.filter(path="cb")["off"].abs().max() < 1e-9  # type: ignore[operator]
    # Drafts of this world lose nothing after refused proposals, which those on the NPU's code path do.
    assert off.filter(path="stateful")["off"].max() <= 1e-9  # type: ignore[operator]
    total = summary(found).row(0, named=True)
    assert total["method"] == "ours"
    assert total["median_error"] < 0.04


@pytest.mark.parametrize(("hold_out", "limit"), [("nat", 0.02), ("prompt", 0.02), ("draft", 0.08)])
def test_hold_outs(world: World, frames: Frames, hold_out: str, limit: float) -> None:
    found = validate(*frames, hold_out=hold_out, strings=world.strings(), nats=False)  # type: ignore[arg-type]
    assert found.height == 2 * 2 * 6 * 3
    assert summary(found)["median_error"][0] < limit


def test_no_case_teaches_its_own_prediction(frames: Frames) -> None:
    known = tables(*frames)
    for hold_out in ("run", "nat", "draft", "device", "prompt"):
        for split in splits(known.cases, hold_out):
            assert not set(split.train) & set(split.test)
    spoilt = frames[0].with_columns(
        pl.when(pl.col("num_assistant_tokens") == 5)
        .then(pl.col("speedup") * 3)
        .otherwise(pl.col("speedup"))
        .alias("speedup"),
        pl.when(pl.col("num_assistant_tokens") == 5)
        .then(pl.col("tok_s") * 3)
        .otherwise(pl.col("tok_s"))
        .alias("tok_s"),
    )
    a, b = (
        validate(runs, frames[1], hold_out="nat", nats=False).filter(pl.col("num_assistant_tokens") == 5)
        for runs in (frames[0], spoilt)
    )
    assert a["predicted_speedup"].to_list() == pytest.approx(b["predicted_speedup"].to_list())


def test_without_strings_the_runs_rounds_tell(frames: Frames) -> None:
    found = validate(*frames, hold_out="nat", nats=False)
    tau = found.select(
        (pl.col("predicted_tokens_per_round") / pl.col("tokens_per_round") - 1).abs()
    ).to_series()
    assert tau.median() < 0.01  # type: ignore[operator]
    assert found["acceptance_from"].str.contains("traced").all()


def test_intervals_hold_most_rows() -> None:
    """Acceptance unknown (held-out prompts, no strings): 90 % intervals over several worlds."""
    covered = []
    for seed in range(4):
        one = World(seed=seed, noise=0.05, prompts=("a", "bb", "ccc", "dddd", "e5e5e"))
        found = validate(*one.frames(nats=(1, 3, 5), reps=2), hold_out="prompt", nats=False)
        covered += found["covered"].to_list()
    assert 0.80 <= np.mean(covered) <= 0.99


def test_an_unseen_pair_is_said_to_be_borrowed(frames: Frames, world: World) -> None:
    found = validate(*frames, hold_out="draft", strings=world.strings(), nats=False)
    assert found["terms_from"].str.contains("borrowed from").all()
    assert found["extrapolates"].str.contains("borrowed").all()


def test_a_break_even_draft_time_is_a_time_or_none(frames: Frames, world: World) -> None:
    found = validate(*frames, hold_out="nat", strings=world.strings(), nats=False)
    times = found["break_even_draft_ms"].drop_nulls()
    assert times.len() > 0
    assert (times > 0).all()


def test_wider_rounds_than_seen_are_said_to_extrapolate(frames: Frames, world: World) -> None:
    found = validate(*frames, fitted=lambda c: c.nat == 3, strings=world.strings(), nats=False)
    wide = found.filter((pl.col("num_assistant_tokens") == 8) & (pl.col("path") == "cb"))
    assert wide["extrapolates"].str.contains("more than 3 tokens").all()


def test_forecast_before_any_speculative_row(frames: Frames, world: World) -> None:
    """Baselines, drafts alone and agreement strings only: counts are exact, times are defaults."""
    known = tables(frames[0].filter(pl.col("kind") == "plain"), frames[1].clear())
    model = train(known, [], world.strings())
    alone = draft_alone(frames[0])
    for case in cases(frames[0]):
        target = target_alone(frames[0], "T", "CPU", case.key.path)[case.prompt][0]
        plan = planned(
            case.key, case.nat, case.prompt, 128, target, alone[case.key.draft, case.key.draft_device]
        )
        found = model.predict(plan)
        assert found.counts is not None
        tau = float(found.counts.tokens_per_round)
        if case.key.path == "cb":
            assert tau == pytest.approx(case.tokens_per_round)
        else:  # Less what an NPU draft loses, which those of this world do not.
            assert case.tokens_per_round is not None
            assert tau <= case.tokens_per_round + 1e-9
        assert found.lo < case.speedup < found.hi
        assert found.extrapolates


def test_a_table_without_own_acceptance_does_not_peek(frames: Frames) -> None:
    """Held-out drafts without strings: the row's own acceptance may not be used where rounds exist."""
    found = validate(*frames, hold_out="draft", nats=False)
    assert found["acceptance_from"].str.contains("guess").all()


def test_measured_terms_by_pair(frames: Frames) -> None:
    found = {t.key: t for t in measured_terms(tables(*frames))}
    assert len(found) == 4
    one = found[Key("T", "CPU", "m", "NPU", "stateful")]
    assert one.in_loop_ratio == pytest.approx(1.4, rel=0.05)
    assert one.emulated
    assert set(one.target_ms) == {"class", "docs", "story"}
    assert 0.7 < one.acceptance.alpha < 0.95


def test_a_learned_factor_is_shrunk() -> None:
    assert shrunk([], DEFAULT_RATIO).mean == DEFAULT_RATIO[0]
    one, many = shrunk([2.0], DEFAULT_RATIO), shrunk([2.0] * 9, DEFAULT_RATIO)
    assert DEFAULT_RATIO[0] < one.mean < many.mean < 2.0
    assert many.sd < one.sd


def test_calibration_learns_the_in_loop_factor_by_device_pair(frames: Frames) -> None:
    known = tables(*frames)
    model = train(known, [c for c in known.cases if c.key.draft == "s"])
    factor = model.calibration.ratio("CPU", "NPU", "stateful")
    assert factor.pairs == 1
    assert factor.mean == pytest.approx((1.4 + 1.2) / 2, rel=0.05)
    assert model.calibration.ratio("GPU", "NPU", "stateful").pairs == 0


def test_a_lent_term_is_scaled_to_the_baseline_at_hand(frames: Frames) -> None:
    known = tables(*frames)
    model = train(known, known.cases)
    key = Key("T", "CPU", "m", "CPU", "cb")
    donor = Donor(key, model.fits[key], 20.0, 4.0)
    lent = Calibration((donor,)).borrow(key._replace(draft="other"), 40.0, 8.0)
    assert lent["verify_base"] == pytest.approx(2 * donor.fit["verify_base"])
    assert lent.rounds == 0


def test_errors_of_terms_go_with_the_baseline_at_hand(frames: Frames) -> None:
    known = tables(*frames)
    model = train(known, known.cases)
    case = next(c for c in known.cases if c.key.draft_device == "CPU")
    slower = replace(case, target_ms=3 * case.target_ms)
    one, other = model.fit_of(case), model.fit_of(slower)
    assert one.draft_level_too
    for name in ("draft", "verify_base", "rest"):
        assert other[name] == pytest.approx(3 * one[name])
        assert other.se(name) == pytest.approx(3 * one.se(name))
    assert other.mean_verify_ms == pytest.approx(3 * (one.mean_verify_ms or 0.0))
    there, here = model.predict(slower), model.predict(case)
    assert there.speedup == pytest.approx(here.speedup, rel=0.03)  # what a call costs once does not grow
    assert there.parts["terms"] == pytest.approx(here.parts["terms"], rel=0.05)


def test_lent_terms_are_only_as_sure_as_the_machine_is_steady(frames: Frames) -> None:
    """A probe is timed once: what reps of a baseline scatter by, it may be off by. Own rounds know better."""
    runs, rounds = frames
    plain = pl.col("kind") == "plain"
    moody = runs.with_columns(
        tok_s_sd=pl.when(plain).then(0.1 * pl.col("tok_s")).otherwise(pl.col("tok_s_sd"))
    )
    parts = {}
    for name, table in (("steady", runs), ("moody", moody)):
        known = tables(table, rounds)
        model = train(known, [c for c in known.cases if c.key.draft == "s"])
        for draft in ("s", "m"):
            case = next(c for c in known.cases if c.key.draft == draft)
            parts[name, draft] = model.predict(case).parts["model"]
    assert parts["moody", "s"] == parts["steady", "s"]
    assert parts["moody", "m"] == pytest.approx(np.hypot(parts["steady", "m"], 0.1), rel=0.03)


def test_a_probe_of_many_processes_is_surer_than_one_of_one(frames: Frames) -> None:
    runs, rounds = frames
    known = tables(runs.with_columns(tok_s_sd=0.2 * pl.col("tok_s")), rounds)
    case = next(c for c in known.cases if c.key.draft == "m")
    pair = (case.key.target, case.key.target_device, case.key.draft, case.key.draft_device)
    once = Loop(pair, 1.5, 0.2, 1.0, 1.0)
    parts = []
    for one in (once, replace(once, readings=16)):
        model = train(known, [c for c in known.cases if c.key.draft == "s"], probes=Probes(loops=(one,)))
        assert model.fit_of(case).rounds == 0
        parts.append(model.predict(case).parts["model"])
    assert parts[0] > 0.2 > parts[1] > 0.05


def test_many_configurations_at_once() -> None:
    rng = np.random.default_rng(1)
    count = 10_000
    params = [
        Params(
            target_ms=20 + 60 * u[0],
            draft_ms=30 * u[1],
            verify_base_ms=20 + 60 * u[2],
            verify_slope_ms=3 * u[3],
            rest_ms=5 * u[4],
            rest_mismatch_ms=5 * u[5],
            path=("cb", "stateful")[i % 2],
            alpha=float(u[6]),
            verify_ms=((1, 50.0), (3, 58.0), (5, 60.0)) if i % 7 == 0 else (),
        )
        for i, u in enumerate(rng.random((count, 7)))
    ]
    nats = (1 + np.arange(count) % 8).tolist()
    found = predict_many(params, nats)
    for i in range(0, count, 397):
        assert found[i] == pytest.approx(speedup(params[i], nats[i]), rel=1e-6)


def test_the_interval_grows_with_what_is_unknown() -> None:
    by_chance = predict(Params(80.0, 10.0, 75.0, alpha=0.6), 3)
    known = predict(Params(80.0, 10.0, 75.0, bits="?" + "110" * 43), 3)
    assert by_chance.lo < by_chance.speedup < by_chance.hi
    assert by_chance.hi / by_chance.lo > known.hi / known.lo
    assert known.parts["acceptance"] == 0.0


@pytest.mark.parametrize(
    ("rule", "nat", "alpha"), [("cb", 1, 0.6), ("cb", 3, 0.6), ("cb", 5, 0.85), ("stateful", 3, 0.6)]
)
def test_acceptance_noise_is_what_independent_texts_show(rule: Rule, nat: int, alpha: float) -> None:
    """Up to the factor for agreement that comes in runs, which independent bits lack."""
    rng = np.random.default_rng(0)
    rounds = [
        len(replay("".join("01"[int(hit)] for hit in rng.random(128) < alpha), rule, nat, 128).proposals)
        for _ in range(2000)
    ]
    counts = profile(Params(1.0, 0.1, 1.0, path=rule, alpha=alpha), nat)
    shown = float(chance_rel(counts)) / CORRELATION**0.5
    assert shown == pytest.approx(np.std(rounds) / np.mean(rounds), rel=0.2)


def test_the_lunar_lake_table_fitted_on_nat_3() -> None:
    """One row a path teaches (one fitted constant each); acceptance is each row's own, as published."""
    found = validate(published.load(), empty(ROUNDS), fitted=lambda c: c.nat == 3)
    assert found.height == 3
    assert found["error"].abs().max() < 0.05  # type: ignore[operator]
    npu = found.filter(pl.col("draft_device") == "NPU")
    assert npu["predicted_speedup"].max() < 1.0  # type: ignore[operator]
    assert npu["best_nat"].to_list() == [0, 0]
    # The textbook calls the NPU draft at NAT 1 a win.
    assert npu.filter(pl.col("num_assistant_tokens") == 1)["leviathan_alpha"].item() > 1.1
