"""What Explore hands out and keeps: copies, exports, named views and the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.screens.explore.dialogs import TypeLine
from explorer.screens.explore.screen import ExploreScreen
from tests.ui.conftest import MakeApp
from tests.ui.explore_kit import body, press, settle, type_text
from tests.ui.snapshot import text_of


async def test_copies_say_where(make_app: MakeApp, rows: object, own_folders: Path) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.table.move_to(2, "speedup")
        await press(pilot, "y")
        assert app.clipboard == "1.40 1.30–1.50"
        written = own_folders / "state" / "clipboard.txt"
        assert written.read_text(encoding="utf-8") == "1.40 1.30–1.50"
        await press(pilot, "Y")
        assert app.clipboard.startswith("| target | draft | NAT |")


async def test_export_asks_before_it_overwrites(make_app: MakeApp, rows: object, tmp_path: Path) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(2):
            await settle(pilot)
            await press(pilot, "ctrl+e")
            assert isinstance(app.screen, TypeLine)
            app.screen.query_one("Input").value = str(tmp_path / "out.jsonl")  # type: ignore[attr-defined]
            await press(pilot, "enter")
        assert "enter again replaces it" in body(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, ExploreScreen)
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 6
    assert json.loads(lines[2])["speedup"] == 1.4


async def test_views_are_kept_and_opened_again(make_app: MakeApp, rows: object, own_folders: Path) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        assert screen.why_not("explore.views") == "no view is kept yet (K)"
        screen.table.move_to(3, "num_assistant_tokens")
        await press(pilot, "comma", "K")
        app.screen.query_one("Input").value = "nat three"  # type: ignore[attr-defined]
        await press(pilot, "enter", "R")
        assert screen.table.model.height == 6
        await press(pilot, "V")
        assert "nat three" in body(app)
        await press(pilot, "enter")
        assert screen.view.name == "nat three"
        assert screen.table.model.height == 2
    assert "nat three" in (own_folders / "config" / "views.json").read_text(encoding="utf-8")


async def test_session_brings_the_view_back(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "slash")
        await type_text(pilot, "draft_device = 'NPU'")
        await press(pilot, "enter", "q")
    again = make_app(place="explore")
    async with again.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        assert screen.view.filter == "draft_device = 'NPU'"
        assert screen.table.model.height == 2
        assert screen.filter_line.input.value == "draft_device = 'NPU'"


@pytest.mark.parametrize(
    "part",
    [
        {"level": ["runs"], "chart": "pie", "export": 7, "views": [1]},
        {"level": "zzz", "views": {"runs": {"sorts": [{"column": 5}], "hidden": 3}}},
    ],
)
async def test_a_session_of_nonsense_does_no_harm(
    make_app: MakeApp, rows: object, part: dict[str, Any]
) -> None:
    app = make_app("explore")
    app.session.part("explore").update(part)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("g")
        await pilot.pause()
        assert "speed-up against NAT" in text_of(app)
        await pilot.press("right", "escape", "ctrl+e")
        await pilot.pause()
        assert ".csv" in text_of(app)
        assert app.session.part("explore")["chart"] == "tok_s", "the chart that was looked at comes again"


async def test_a_file_of_views_that_holds_something_else_is_said(
    make_app: MakeApp, rows: object, own_folders: Path
) -> None:
    (own_folders / "config").mkdir()
    (own_folders / "config" / "views.json").write_text('{"version": 1, "views": [1, 2]}', encoding="utf-8")
    app = make_app("explore")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        await pilot.press("V")
        await pilot.pause(0.1)
        assert "views is an object" in text_of(app)


async def test_a_session_that_no_longer_fits_does_no_harm(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    app.session.part("explore")["views"] = {"runs": {"filter": "gone = 1"}, "reps": "nonsense"}
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        assert "no column gone" in body(app)
        await press(pilot, "R")
        assert screen.table.model.height == 6
