"""Which rows Explore shows: a filter typed, the value of a cell, marks, and what other places ask for."""

from __future__ import annotations

import polars as pl

from explorer.analysis.view import Level, ViewState
from explorer.screens.explore.dialogs import Read
from tests.ui.conftest import MakeApp
from tests.ui.explore_kit import body, press, settle, type_text
from tests.ui.snapshot import check, lines_of


async def test_filter_previews_and_keeps_the_last_good_rows(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "slash")
        await type_text(pilot, "draft_device = 'NPU'")
        assert screen.table.model.height == 2
        await type_text(pilot, "draft_device = 'NPU' AND nothing = 1")
        assert screen.table.model.height == 2
        assert "at 26: no column nothing" in body(app)
        pointer = next(line for line in lines_of(app) if "^ at 26" in line)
        assert pointer.index("^") == 1 + 25
        await press(pilot, "enter")
        assert screen.filter_line.input.has_focus, "nothing typed is lost: it can be mended"
        assert screen.filter_line.input.value.endswith("nothing = 1")
        await type_text(pilot, "draft_device = 'NPU'")
        await press(pilot, "enter")
        assert screen.view.filter == "draft_device = 'NPU'"
        assert screen.focused is screen.table
        await press(pilot, "z")
        assert (screen.view.filter, screen.table.model.height) == ("", 6)
        assert screen.filter_line.input.value == ""
        await press(pilot, "Z")
        assert screen.table.model.height == 2


async def test_words_search_and_begun_columns_hint(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "slash")
        await type_text(pilot, "device_lost")
        assert screen.table.model.height == 1
        await type_text(pilot, "speed")
        assert screen.table.model.height == 1
        assert "speedup is a column" in body(app)
        await press(pilot, "escape")
        assert (screen.view, screen.table.model.height) == (ViewState(), 6)


async def test_completion_by_tab(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "slash", "s", "t", "a", "t", "tab")
        assert screen.filter_line.input.value == "status"
        await pilot.press("space", "equals_sign", "space", "apostrophe", "f")
        screen = await press(pilot, "tab")
        assert screen.filter_line.input.value == "status = 'failed'"
        assert screen.table.model.height == 1


async def test_equal_to_this_cell(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.table.move_to(3, "num_assistant_tokens")
        await press(pilot, "comma")
        assert screen.view.within == ("num_assistant_tokens = 3",)
        assert screen.table.model.height == 2


async def test_marked_rows_are_compared(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        assert screen.why_not("explore.compare").startswith("mark two")
        screen.table.move_to(1)
        await press(pilot, "space", "space")
        assert [row["run"] for row in screen.what_if_rows()] == ["a", "b"]
        await press(pilot, "c")
        assert isinstance(app.screen, Read)
        check(app, "explore-compare-120x40")
        text = body(app)
        assert "B: token 2: 9 here, 7 in A" in text
        assert "1.40 1.30–1.50" in text
        await press(pilot, "y")
        assert "| num_assistant_tokens | 1 | 3 |" in app.clipboard
        await press(pilot, "escape")
        await press(pilot, "quotation_mark")
        assert screen.table.model.height == 2
        await press(pilot, "u")
        assert screen.marks["runs"] == frozenset()


async def test_marks_follow_their_rows_when_results_grow(
    make_app: MakeApp, rows: dict[Level, pl.DataFrame]
) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.table.move_to(1)
        await press(pilot, "space")
        newer = rows["runs"].head(1).with_columns(run=pl.lit("new"))
        rows["runs"] = pl.concat([newer, rows["runs"]])
        await press(pilot, "f5")
        assert screen.table.model.height == 7
        assert screen.marks["runs"] == {2}
        assert [row["run"] for row in screen.what_if_rows()] == ["a"]


async def test_other_places_can_ask_for_rows(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.show_rows("status = 'failed'")
        await settle(pilot)
        assert screen.table.model.height == 1
