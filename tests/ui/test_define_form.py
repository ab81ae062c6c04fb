"""Define's panes as a person uses them: what they show, and what the form writes into the text."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from textual.widgets import Input

from explorer.app import SpecdecApp
from explorer.screens.define.formview import FormView
from tests.ui.conftest import SIZES, MakeApp
from tests.ui.define_kit import SWEEP, answer, examined, planned, runs_of, screen_of, to_row, until
from tests.ui.snapshot import check, lines_of


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("look", ["colour", "no-color", "ascii"])
async def test_looks(
    size: tuple[int, int], look: str, mine: Path, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    if look == "no-color":
        monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(place="define", ascii_only=look == "ascii")
    app.session.part("define")["file"] = str(mine)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: bool(screen_of(app).known.facts) and screen_of(app).planned is not None)
        await pilot.press("g")
        await pilot.pause()
        check(app, f"define-{size[0]}x{size[1]}-{look}")


async def test_the_plan_shows_what_was_added(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await planned(pilot, app)
        text = "\n".join(lines_of(app))
        assert (
            f"{len(runs_of(app))} runs" in text and "added" in text and "target CPU + draft CPU nat 3" in text
        )


async def test_a_fault_stands_at_its_line_and_stops_the_start(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("t")
        toml = screen_of(app).toml
        await until(pilot, lambda: app.focused is toml)
        toml.move_cursor((4, 0))
        await pilot.press(*"colour=1", "enter", "down")
        await until(pilot, lambda: bool(screen_of(app).examined.issues))
        await pilot.pause()
        text = lines_of(app)
        line = next(line for line in text if "colour=1" in line)
        assert " 5✗" in line and "unknown key" in line
        await pilot.press("escape", "r")
        await pilot.pause()
        assert "Not now: the file has faults." in "\n".join(lines_of(app))
        await pilot.press("u", "u")
        await until(pilot, lambda: not screen_of(app).examined.issues)
        assert toml.text == SWEEP


async def test_the_form_changes_the_text_in_one_place_and_undo_takes_it_back(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await to_row(pilot, app, "grid[0].num_assistant_tokens")
        await pilot.press("enter")
        await answer(pilot, app, "1, 3, 5")
        assert screen_of(app).toml.text == SWEEP.replace("[3]", "[1, 3, 5]")
        await examined(pilot, app)
        await pilot.press("right", "x")
        await examined(pilot, app)
        assert screen_of(app).toml.text == SWEEP.replace("[3]", "[1, 5]")
        await pilot.press("u")
        await pilot.press("u")
        assert screen_of(app).toml.text == SWEEP
        await pilot.press("U")
        assert screen_of(app).toml.text == SWEEP.replace("[3]", "[1, 3, 5]")


async def test_wrong_input_keeps_the_dialog_open(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await to_row(pilot, app, "protocol.reps")
        await pilot.press("enter")
        await answer(pilot, app, "0")
        assert "1 or more" in "\n".join(lines_of(app))
        await pilot.press("escape")
        await pilot.pause()
        assert screen_of(app).toml.text == SWEEP


async def test_an_npu_that_is_missing_is_offered_emulated(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: bool(screen_of(app).known.devices))
        if "NPU" in screen_of(app).known.devices:
            pytest.skip("this machine has an NPU")
        await to_row(pilot, app, "grid[0].draft_device")
        await pilot.press("a")
        await until(pilot, lambda: bool(app.screen.query(Input)))
        assert "emulated" in "\n".join(lines_of(app))
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "NPUW" in screen_of(app).toml.text)
        content = tomllib.loads(screen_of(app).toml.text)
        assert content["grid"][0]["draft_device"] == ["CPU", "NPU"]
        assert content["devices"]["NPU"]["NPUW_DEVICES"] == "CPU"
        await examined(pilot, app)
        await planned(pilot, app)
        assert "NPU*" in "\n".join(lines_of(app))


async def test_a_draft_is_offered_with_its_facts_and_whether_it_is_a_pair(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: bool(screen_of(app).known.pairs))
        await to_row(pilot, app, "grid[0].draft")
        await pilot.press("a")
        await until(pilot, lambda: bool(app.screen.query(Input)))
        text = "\n".join(lines_of(app))
        assert "draft  a pair with target" in text and "int4" in text


async def test_models_prompts_grids_and_properties_are_added(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await to_row(pilot, app, "models")
        await pilot.press("enter")
        await answer(pilot, app, "demo:draft-m")
        await answer(pilot, app, "second")
        await examined(pilot, app)
        await to_row(pilot, app, "prompts")
        await pilot.press("enter")
        await answer(pilot, app, "doc")
        await answer(pilot, app, "file demo:docstring")
        await examined(pilot, app)
        await to_row(pilot, app, "grid")
        await pilot.press("enter")
        await answer(pilot, app, "plain")
        await examined(pilot, app)
        await to_row(pilot, app, "devices")
        await pilot.press("enter")
        await answer(pilot, app, "CPU")
        await answer(pilot, app, "PERFORMANCE_HINT")
        await answer(pilot, app, "LATENCY")
        await examined(pilot, app)
        await to_row(pilot, app, "grid[0]")
        await pilot.press("c")
        await examined(pilot, app)
        content = tomllib.loads(screen_of(app).toml.text)
        assert content["models"]["second"] == "demo:draft-m"
        assert content["prompts"]["doc"] == {"file": "demo:docstring"}
        assert content["devices"] == {"CPU": {"PERFORMANCE_HINT": "LATENCY"}}
        assert [grid["kind"] for grid in content["grid"]] == ["speculative", "speculative", "plain"]
        assert not screen_of(app).examined.issues
        assert "# kept" in screen_of(app).toml.text and "# the pair" in screen_of(app).toml.text


async def test_the_form_closes_while_the_text_is_no_toml(app: SpecdecApp) -> None:
    async with app.run_test(size=(200, 60)) as pilot:
        screen_of(app).toml.load_text("name = ")
        await examined(pilot, app)
        assert "The text is not TOML" in "\n".join(lines_of(app))


async def test_going_round_the_panes_writes_nothing(app: SpecdecApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await planned(pilot, app)
        for _ in range(5):
            await pilot.press("g")
            await pilot.pause()
        assert screen_of(app).toml.text == SWEEP
        while screen_of(app).pane != "text":
            await pilot.press("g")
            await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: screen_of(app).toml.has_focus)
        await pilot.press("#", "escape")
        await pilot.pause()
        assert screen_of(app).toml.text == "#" + SWEEP


async def test_esc_leaves_the_cursor_of_a_list(app: SpecdecApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await planned(pilot, app)
        await to_row(pilot, app, "protocol.reps")
        view = screen_of(app).query_one(FormView)
        at = view.cursor
        await pilot.press("escape", "down")
        await pilot.pause()
        assert view.cursor == at + 1
