"""The Explore screen by its keys, on rows that hold every kind of trouble."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from textual.pilot import Pilot

from explorer.actions import offers
from explorer.analysis.view import Level, Sort, ViewState
from explorer.app import SpecdecApp
from explorer.screens.explore import loading
from explorer.screens.explore.dialogs import Charts, Pick, Read, TypeLine
from explorer.screens.explore.screen import ExploreScreen
from sweeps.store.schema import REPS, ROUNDS, RUNS, empty
from tests.ui.conftest import SIZES
from tests.ui.snapshot import check, lines_of, text_of

MakeApp = Callable[..., SpecdecApp]

BASE: dict[str, Any] = {
    "sweep": "demo-1", "kind": "speculative", "target": "target", "target_device": "CPU", "draft": "draft-s",
    "draft_device": "CPU", "path": "cb", "prompt": "story", "status": "ok", "reps": 3, "tokens": 128,
    "tok_s_sd": 1.5, "max_new_tokens": 128, "noisy": False, "emulated": False,
}  # fmt: skip
RUN_ROWS: list[dict[str, Any]] = [
    {
        "run": "base", "kind": "plain", "draft": None, "draft_device": None, "tok_s": 50.0, "speedup": 1.0,
        "added": True,
    },
    {
        "run": "a", "num_assistant_tokens": 1, "tok_s": 60.0,
        "speedup": 1.2, "speedup_lo": 1.15, "speedup_hi": 1.25,
        "acceptance": 0.6, "tokens_per_round": 1.6, "draft_ms": 2.0, "verify_ms": 20.0, "rest_ms": 1.0,
        "proposals_per_round": 1.0, "accepted": 60, "proposals": 100,
    },
    {
        "run": "b", "num_assistant_tokens": 3, "tok_s": 70.0,
        "speedup": 1.4, "speedup_lo": 1.3, "speedup_hi": 1.5,
        "acceptance": 0.5, "tokens_per_round": 2.5, "draft_ms": 2.0, "verify_ms": 24.0, "rest_ms": 1.0,
        "proposals_per_round": 3.0, "accepted": 150, "proposals": 300,
    },
    {
        "run": "c", "num_assistant_tokens": 3, "draft_device": "NPU", "path": "stateful", "emulated": True,
        "tok_s": 90.0, "speedup": 1.8, "speedup_lo": 0.9, "speedup_hi": 2.7, "noisy": True, "acceptance": 0.5,
        "tokens_per_round": 2.5,
    },
    {
        "run": "d", "num_assistant_tokens": 5, "draft_device": "NPU", "path": "stateful", "status": "failed",
        "failure": "device_lost", "reason": "ZE_RESULT_ERROR_DEVICE_LOST", "reps": 0, "tokens": None,
        "tok_s_sd": None,
    },
    {
        "run": "e", "num_assistant_tokens": 5, "status": "metric_suspect", "tok_s": 80.0,
        "reason": "identity off by 9 %",
    },
]  # fmt: skip


def run_frame() -> pl.DataFrame:
    """Six runs: a baseline, two good ones, a noisy, a failed and a suspect one."""
    rows = pl.DataFrame([{**BASE, **row} for row in RUN_ROWS], infer_schema_length=None)
    typed = rows.cast({name: RUNS[name].dtype for name in rows.columns})
    return pl.concat([empty(RUNS), typed], how="diagonal")


def rep_frame() -> pl.DataFrame:
    """Two reps of runs a and b; the texts part at token 2."""
    rows = [
        {
            "sweep": "demo-1", "run": run, "prompt": "story", "rep": rep, "tok_s": 60.0 + rep, "status": "ok",
            "target": "target", "draft": "draft-s", "draft_device": "CPU", "token_ids": ids,
        }
        for run, ids in (("a", [5, 6, 7]), ("b", [5, 6, 9]))
        for rep in (0, 1)
    ]  # fmt: skip
    typed = pl.DataFrame(rows).cast({"token_ids": pl.List(pl.Int32)})
    return pl.concat([empty(REPS), typed], how="diagonal")


def round_frame() -> pl.DataFrame:
    """Ten rounds of the first rep of run a."""
    rows = [
        {
            "sweep": "demo-1",
            "run": "a",
            "prompt": "story",
            "rep": 0,
            "round": number,
            "wall_ms": 20.0 + number,
        }
        for number in range(10)
    ]
    return pl.concat([empty(ROUNDS), pl.DataFrame(rows)], how="diagonal")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> dict[Level, pl.DataFrame]:
    """What the screen loads; a test may change it."""
    frames: dict[Level, pl.DataFrame] = {"runs": run_frame(), "reps": rep_frame(), "rounds": round_frame()}
    monkeypatch.setattr(loading, "load", lambda level, data: frames[level])
    monkeypatch.setattr("explorer.manners.has_results", lambda data: True)
    return frames


async def settle(pilot: Pilot[None]) -> ExploreScreen:
    """Wait for the loader; the screen."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return next(s for s in pilot.app.screen_stack if isinstance(s, ExploreScreen))


async def press(pilot: Pilot[None], *keys: str) -> ExploreScreen:
    """Press keys, before and after which nothing is under way."""
    await settle(pilot)
    await pilot.press(*keys)
    return await settle(pilot)


async def type_text(pilot: Pilot[None], text: str) -> ExploreScreen:
    """Type into the focused field at once: single keys take long in tests."""
    screen = await settle(pilot)
    screen.filter_line.input.value = text
    return await settle(pilot)


def body(app: SpecdecApp) -> str:
    """The screen's text."""
    return text_of(app)


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


async def test_other_places_can_ask_for_rows(make_app: MakeApp, rows: object) -> None:
    app = make_app(place="explore")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settle(pilot)
        screen.show_rows("status = 'failed'")
        await settle(pilot)
        assert screen.table.model.height == 1


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
