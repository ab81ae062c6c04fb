"""How Explore shows its rows: at every size, by columns and order, in every kind of view, as charts."""

from __future__ import annotations

from typing import Any, cast

import polars as pl
import pytest

from explorer.actions import offers
from explorer.analysis.view import Level, Sort, ViewState
from explorer.screens.explore import loading
from explorer.screens.explore.dialogs import Charts, Pick
from explorer.screens.explore.screen import ExploreScreen
from tests.ui.conftest import SIZES, MakeApp
from tests.ui.explore_kit import body, press, settle
from tests.ui.snapshot import check


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_first_start_shows_the_published_rows(make_app: MakeApp, size: tuple[int, int]) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        check(app, f"explore-published-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_all_kinds_of_rows(make_app: MakeApp, rows: object, size: tuple[int, int]) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        check(app, f"explore-runs-{size[0]}x{size[1]}")


async def test_decisive_columns_fit_80_cells(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        text = body(app)
        for part in ("target", "draft", "NAT", "prompt", "speed-up", "acc", "tau", "status"):
            assert part in text
        assert "1.40 1.30–1.50" in text
        assert "✗ failed" in text
        assert "! ZE_RES" in text  # the reason stands where the number would
        assert "! identity off" in text


async def test_ascii_screen_is_ascii(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore", ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await press(pilot, "space", "exclamation_mark", "right", "right_square_bracket")
        own = [screen.table.render_line(y).text for y in range(screen.table.size.height)]
        assert "".join(own).isascii()
        check(app, "explore-ascii-80x24")
        await press(pilot, "u", "g")
        check(app, "explore-chart-ascii-80x24")
        assert "####" in body(app)


async def test_no_colour_screen(make_app: MakeApp, rows: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(place="explore")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settle(pilot)
        cursor = [
            segment for segment in screen.table.render_line(1) if segment.style and segment.style.reverse
        ]
        assert cursor
        check(app, "explore-nocolor-80x24")


async def test_sorting_never_ranks_a_noisy_row_first(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.table.move_to(column="speedup")
        await press(pilot, "right_square_bracket")
        assert screen.view.sorts == (Sort("speedup", True),)
        screen.table.move_to(0)
        assert screen.table.model.value(0, "run") == "b"
        assert "speed-up▼" in body(app)
        screen = await press(pilot, "right_square_bracket")
        assert not screen.view.sorts


async def test_columns_hide_move_and_come_back(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.table.move_to(column="prompt")
        await press(pilot, "minus")
        names = [column.name for column in screen.table.model.columns]
        assert "prompt" not in names
        await press(pilot, "equals_sign")
        names = [column.name for column in screen.table.model.columns]
        assert "prompt" in names
        assert "ttft_ms" in names  # empty, shown now too
        await press(pilot, "equals_sign")
        assert "ttft_ms" not in [column.name for column in screen.table.model.columns]
        screen.table.move_to(column="draft")
        await press(pilot, "less_than_sign")
        assert [column.name for column in screen.table.model.columns][:2] == ["draft", "target"]
        await press(pilot, "exclamation_mark")
        assert screen.table.model.frozen_count == 1


async def test_frequency_leads_to_its_rows(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settle(pilot)
        screen.table.move_to(column="speedup")
        await press(pilot, "plus")
        assert isinstance(app.screen, Pick)
        await press(pilot, "enter")
        screen.table.move_to(column="draft_device")
        await press(pilot, "F")
        check(app, "explore-frequency-80x24")
        assert screen.table.model.value(0, "n") == 3
        await press(pilot, "space")
        assert screen.marks["runs"] == {1, 2, 5}
        await press(pilot, "enter")
        assert [screen.table.model.value(row, "run") for row in range(3)] == ["a", "b", "e"]
        assert "within draft_device = 'CPU'" in body(app)
        await press(pilot, "z", "z")
        assert screen.view.kind == "table"
        assert screen.column == "draft_device"


async def test_pivot_shows_n_and_leads_to_its_rows(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settle(pilot)
        assert "key column" in screen.why_not("explore.pivot")
        screen.table.move_to(column="num_assistant_tokens")
        await press(pilot, "exclamation_mark")
        screen.table.move_to(column="draft_device")
        await press(pilot, "W")
        check(app, "explore-pivot-80x24")
        text = body(app)
        assert "1.40 n1" in text
        assert "1.80 n1~" in text  # noisy
        screen.table.move_to(1, "draft_device=NPU")
        await press(pilot, "enter")
        assert screen.table.model.height == 1
        assert screen.table.model.value(0, "run") == "c"


async def test_describe_leads_to_a_frequency_table(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "I")
        at = next(r for r in range(63) if screen.table.model.value(r, "column") == "path")
        screen.table.move_to(at)
        await press(pilot, "enter")
        assert (screen.view.kind, screen.view.by) == ("freq", "path")


async def test_enter_goes_from_runs_to_reps_to_rounds(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.table.move_to(1)
        await press(pilot, "enter")
        assert (screen.view.level, screen.table.model.height) == ("reps", 2)
        await press(pilot, "enter")
        assert (screen.view.level, screen.table.model.height) == ("rounds", 10)
        await press(pilot, "tab")
        assert (screen.view.level, screen.table.model.height) == ("runs", 6)
        await press(pilot, "z", "z", "z")
        assert screen.view.level == "runs"
        assert screen.table.cursor_row == 1


async def test_charts_of_every_kind(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "g")
        assert isinstance(app.screen, Charts)
        kinds = []
        for _ in range(4):
            kinds.append(app.screen.kind)
            check(app, f"explore-chart-{app.screen.kind}-120x40")
            await press(pilot, "right")
        assert kinds == ["speedup", "tok_s", "acceptance", "budget"]
        await press(pilot, "y")
        assert "speed-up against NAT" in app.clipboard
        await press(pilot, "escape")
        assert isinstance(app.screen, ExploreScreen)


async def test_unreadable_results_say_so(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(level: Level, data: str | None) -> pl.DataFrame:
        raise OSError("disk on fire")

    monkeypatch.setattr(loading, "load", fail)
    app = make_app(place="explore")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "could not be read: disk on fire" in body(app)
        await press(pilot, "F", "W", "I", "g", "c", "enter", "space")
        assert app.is_running


async def test_every_action_has_a_name_a_key_and_a_method(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        mine = [offer.action for offer in offers(screen, {}) if offer.action.id.startswith("explore.")]
        assert len(mine) == len(screen.ACTIONS)
        for action in mine:
            assert action.name
            assert action.key
            assert hasattr(screen, f"action_{action.method}")
        await press(pilot, "question_mark")
        assert "Frequency table of this column" in body(app) or cast(Any, app.screen).is_modal


async def test_no_key_ends_the_screen_on_any_view(make_app: MakeApp, rows: object) -> None:
    """Every key on every kind of view: what cannot be done says why, nothing breaks."""
    app = make_app(place="explore")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settle(pilot)
        views = [
            ViewState(),
            ViewState(filter="status = 'nothing'"),
            ViewState(kind="freq", by="speedup"),
            ViewState(kind="pivot", keys=("path",), across="num_assistant_tokens"),
            ViewState(kind="describe"),
            ViewState("reps"),
            ViewState("rounds"),
        ]
        for view in views:
            for action in screen.ACTIONS:
                screen.go_to(view)
                await app.run_action(action.method, screen)
                await pilot.pause()
                while app.screen is not screen:
                    await app.pop_screen()
                screen.table.focus()
        assert app.is_running
