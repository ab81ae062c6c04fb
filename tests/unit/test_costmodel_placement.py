"""Which draft on which device wins: ranked by rate, with how sure it is and what is the path's part."""

from __future__ import annotations

import json

import polars as pl
import pytest
from click.testing import CliRunner

from explorer.cli import cli
from explorer.cli.errors import Problem
from sweeps.costmodel import placement
from sweeps.costmodel.model import tables, train
from tests.unit.costmodel_kit import World


@pytest.fixture(scope="module")
def world() -> World:
    return World(noise=0.01)


@pytest.fixture(scope="module")
def placed(world: World) -> tuple[pl.DataFrame, list[str]]:
    return placement.placements(*world.frames(), world.strings())


def measured_best(world: World, prompt: str) -> tuple[str, str]:
    """(draft, device) of the row with the highest measured rate."""
    runs, _ = world.frames()
    rows = runs.filter((pl.col("kind") == "speculative") & (pl.col("prompt") == prompt))
    top = rows.sort("tok_s", descending=True).row(0, named=True)
    return top["draft"], top["draft_device"]


def test_every_place_is_ranked_by_rate_and_the_best_is_the_measured_one(
    world: World, placed: tuple[pl.DataFrame, list[str]]
) -> None:
    frame, _ = placed
    for (prompt,), group in frame.group_by("prompt", maintain_order=True):
        assert group["predicted_tok_s"].is_sorted(descending=True)
        assert set(group.select("draft", "draft_device").iter_rows()) == {
            (draft, device) for draft in world.drafts for device in ("CPU", "NPU")
        }
        best = group.row(0, named=True)
        assert (best["draft"], best["draft_device"]) == measured_best(world, str(prompt))
        assert best["best_beats_it"] is None
        sure = group["best_beats_it"].drop_nulls().to_list()
        assert len(sure) == group.height - 1
        assert all(0.5 <= each <= 1.0 for each in sure)


def test_two_places_that_differ_only_by_noise_are_told_apart_by_chance_alone(world: World) -> None:
    known = tables(*world.frames())
    model = train(known, known.cases, world.strings())
    best = placement.places(model, known.cases, known.cases[0])[0]
    assert placement.beats(best, best) == pytest.approx(0.5)


def test_the_paths_part_of_a_slowdown(world: World) -> None:
    known = tables(*world.frames())
    model = train(known, known.cases, world.strings())
    found = placement.places(model, known.cases, known.cases[0])
    rates = {(p.case.key.draft, p.case.key.path): p.rate for p in found}
    for one in placement.split(found):
        assert one.emulated
        assert one.factors.device is None
        assert one.factors.path == pytest.approx(rates[one.draft, "stateful"] / rates[one.draft, "cb"])


def test_it_is_said_in_words(world: World, placed: tuple[pl.DataFrame, list[str]]) -> None:
    _, said = placed
    prompts = [line for line in said if not line.startswith(" ")]
    assert prompts == [f"T on CPU, {prompt}:" for prompt in world.prompts]
    assert sum("fastest:" in line for line in said) == len(world.prompts)
    assert any("the NPU's code path alone" in line for line in said)


def test_the_command_names_the_winner_of_the_published_table() -> None:
    done = CliRunner().invoke(cli, ["predict", "--placement", "--published", "--format", "json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert {row["draft_device"] for row in rows} >= {"CPU", "NPU"}
    by_prompt: dict[str, str] = {}
    for row in rows:
        by_prompt.setdefault(row["prompt"], row["draft_device"])
    assert set(by_prompt.values()) <= {"CPU", "GPU"}, "no NPU row of that table wins"


def test_options_that_placement_does_not_take_are_refused() -> None:
    for extra in (["--fit", "nat=3"], ["--hold-out", "draft"]):
        done = CliRunner().invoke(cli, ["predict", "--placement", "--published", *extra])
        assert isinstance(done.exception, Problem | SystemExit)
        assert done.exit_code != 0


def test_a_wrong_condition_is_pointed_at() -> None:
    done = CliRunner().invoke(cli, ["predict", "--published", "--where", "draft < 3"])
    assert isinstance(done.exception, Problem)
    assert str(done.exception).endswith("(at 'draft < 3', character 1)")
