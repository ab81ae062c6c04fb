"""The What-if screen by keyboard, on the published rows and on tables of known terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.actions import offers
from explorer.app import SpecdecApp
from explorer.help import text_of as help_of
from explorer.messages import AskWhatIf
from explorer.screens.whatif import screen as module
from explorer.screens.whatif.actions import ACTIONS, MISSED
from explorer.screens.whatif.missedscreen import MissedScreen
from explorer.screens.whatif.screen import WhatIfScreen
from explorer.screens.whatif.workbench import Workbench
from explorer.widgets.param_input import ParamInput
from sweeps import paths
from tests.ui.conftest import SIZES
from tests.ui.snapshot import check, lines_of, text_of
from tests.unit.whatif_kit import bench

Make = Callable[..., SpecdecApp]


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    """Wait for a thread's answer; no fixed sleeping."""
    for _ in range(300):
        if condition():
            await pilot.pause()
            return
        await pilot.pause(0.05)
    pytest.fail(f"waited in vain:\n{text_of(pilot.app)}")


async def opened(pilot: Pilot[Any], rows: tuple[dict[str, Any], ...] = ()) -> WhatIfScreen:
    """The screen over Explore, with its first scenario."""
    await pilot.pause()
    pilot.app.post_message(AskWhatIf(rows))
    await until(pilot, lambda: isinstance(pilot.app.screen, WhatIfScreen))
    found = pilot.app.screen
    assert isinstance(found, WhatIfScreen)
    await until(pilot, lambda: found.outcome is not None)
    return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """The screen gets a machine of known terms."""
    found = bench(prompts=("one", "two"))
    monkeypatch.setattr(module, "open_workbench", lambda data, sweep=None: found)
    return found


def value(found: WhatIfScreen, name: str) -> float:
    assert found.scenario is not None
    return found.scenario.value(name)


def edits(found: WhatIfScreen) -> dict[str, float]:
    return dict(found.scenario.edits) if found.scenario else {}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("look", ["colour", "nocolor", "ascii"])
async def test_looks(
    make_app: Make, made: Workbench, size: tuple[int, int], look: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scenario of known terms in every size, without colour and in ASCII."""
    if look == "nocolor":
        monkeypatch.setenv("NO_COLOR", "1")
    app = make_app("explore", ascii_only=look == "ascii")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.pause(0.2)
        if look == "ascii":
            assert "[w What-if]" in text_of(app)
            filtered = app.ascii_filter
            assert filtered is not None
        check(app, f"whatif-{look}-{size[0]}x{size[1]}")


@pytest.mark.parametrize("jump", [False, True], ids=["around", "by number"])
@pytest.mark.parametrize("pane", ["curve", "answers", "rows"])
async def test_narrow_panes(make_app: Make, made: Workbench, pane: str, jump: bool) -> None:
    """At 80x24 one pane at a time; `g` goes through them, a number straight to one."""
    app = make_app("explore")
    async with app.run_test(size=(80, 24)) as pilot:
        found = await opened(pilot)
        if jump:
            names = [name for name, _ in found.PANES]
            await pilot.press("ctrl+o", str(names.index(pane) + 1))
            await pilot.pause(0.2)
        for _ in range(0 if jump else 4):
            if found.pane == pane:
                break
            await pilot.press("g")
            await pilot.pause(0.1)
        assert found.pane == pane
        body = "\n".join(lines_of(app)[7:-1])
        expected = {
            "curve": "predicted",
            "answers": "break-even acceptance",
            "rows": "small@CPU cb NAT 5 two",
        }
        assert expected[pane] in body


async def test_published_rows_without_any_results(make_app: Make) -> None:
    """Few terms are known, and the screen says which are not."""
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot)
        assert found.scenario is not None
        assert found.scenario.base.case.key.target == "qwen3-14b"
        text = text_of(app)
        assert "default" in text
        await pilot.press("g", "g")
        await pilot.pause(0.1)
        await pilot.press("ctrl+end")
        text = " ".join(text_of(app).split())
        assert "Not known from rows, so assumed" in text


async def test_a_row_from_explore_is_the_one_shown(make_app: Make, made: Workbench) -> None:
    row = next(r for r in made.runs.to_dicts() if r["run"] == "nat5CPU" and r["prompt"] == "two")
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot, (row,))
        assert found.scenario is not None
        assert (found.scenario.nat, found.scenario.base.case.prompt) == (5, "two")
        assert "error" in lines_of(app)[2]


async def test_stepping_and_typing(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot)
        await pilot.press("right")
        await pilot.pause()
        assert value(found, "nat") == 2
        await pilot.press("down", "shift+left")
        await pilot.pause()
        assert value(found, "acceptance") == pytest.approx(value_before(found) - 0.1, abs=0.011)
        await pilot.press("down")
        await pilot.press("9", "full_stop", "5")
        assert "9.5_" in text_of(app)
        await pilot.press("backspace", "enter")
        await pilot.pause()
        assert value(found, "draft_ms") == 9
        assert "edited: NAT (was 1), acceptance, draft" in text_of(app)
        await pilot.press("7", "escape")
        assert value(found, "draft_ms") == 9
        assert app.screen is found  # the first escape dropped what was typed
        await pilot.press("backspace")
        await pilot.pause()
        assert value(found, "draft_ms") == pytest.approx(3.0, rel=0.1)


def value_before(found: WhatIfScreen) -> float:
    assert found.scenario is not None
    return found.scenario.own("acceptance")


async def test_keys_in_one_burst_go_to_the_new_focus(make_app: Make, made: Workbench) -> None:
    """Over a slow line an arrow and digits arrive together."""
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot)
        await pilot.press("down", "down")
        await pilot.press("up", "0", "full_stop", "4", "enter")
        await pilot.pause()
        assert value(found, "acceptance") == 0.4
        assert edits(found) == {"acceptance": 0.4}


async def test_a_wrong_number_says_what_is_right(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot)
        await pilot.press("9", "9", "enter")
        await pilot.pause(0.1)
        assert value(found, "nat") == 1
        assert any("from 1 to 16" in str(note.message) for note in app._notifications)


async def test_another_path_brings_another_base(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot)
        found.query_one("#param-path", ParamInput).focus()
        await pilot.press("right")
        await until(
            pilot, lambda: found.scenario is not None and found.scenario.base.choice.path == "stateful"
        )
        assert found.scenario is not None
        assert found.scenario.base.measured is None
        assert found.scenario.origin("draft_ms").word == "default"  # no pair on that path lends its own
        assert "the target was not measured alone on the path stateful" in " ".join(found.scenario.base.notes)
        assert not found.why_not("whatif.reset")
        await pilot.press("R")
        await until(pilot, lambda: found.scenario is not None and found.scenario.base.choice.path == "cb")


async def test_pin_compare_and_go_back(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(160, 50)) as pilot:
        found = await opened(pilot)
        assert found.why_not("whatif.unpin")
        await pilot.press("p", "down", "down", "1", "2", "enter")
        await pilot.pause()
        assert edits(found) == {"draft_ms": 12}
        assert "pinned" in text_of(app)
        await pilot.press("P")
        await pilot.pause()
        assert found.why_not("whatif.unpin")
        assert edits(found) == {}


async def test_pinning_again_after_a_step_and_back_lets_go(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(160, 50)) as pilot:
        found = await opened(pilot)
        await pilot.press("p", "down", "down", "right", "left")
        await pilot.pause(0.1)
        await pilot.press("p")
        await pilot.pause()
        assert found.pinned is None or found.pinned is found.outcome
        await pilot.press("p")
        await pilot.pause()
        assert app.is_running


async def test_best_nat_formulas_own_and_rows(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(200, 60)) as pilot:
        found = await opened(pilot)
        assert found.outcome is not None
        best = found.outcome.best[0]
        await pilot.press("b")
        await pilot.pause()
        assert value(found, "nat") == best
        await pilot.press("R", "f")
        await pilot.pause(0.1)
        assert "Leviathan (alpha)" in text_of(app)
        await pilot.press("o")
        await until(pilot, lambda: "this row included" in text_of(app))
        assert "NAT 1, 3, 5" in (found.scenario.base.fit.source if found.scenario else "")
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: found.scenario is not None and found.scenario.base.case.nat == 3)
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: found.scenario is not None and found.scenario.base.case.nat == 1)


async def test_the_list_of_rows_moves_the_scenario(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot)
        found.query_one("#rows").focus()
        await pilot.press("down", "down")
        await until(pilot, lambda: found.scenario is not None and found.scenario.base.case.nat == 5)


async def test_the_copy_is_in_a_file_too(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("y")
        await pilot.pause()
        text = (paths.state() / "clipboard.txt").read_text(encoding="utf-8")
        assert text.startswith("## What if: small on CPU for big on CPU, cb, prompt one, NAT 1")
        assert any(str(paths.state() / "clipboard.txt") in str(n.message) for n in app._notifications)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_all_misses(make_app: Make, made: Workbench, size: tuple[int, int]) -> None:
    app = make_app("explore")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("v")
        await until(pilot, lambda: "ours" in text_of(app))
        await pilot.pause(0.2)
        text = text_of(app)
        assert "learned from NAT 3 only (1 of 6)" in text
        assert "small@CPU cb NAT 1 one" in text
        assert ("agreement" in text) == (size[0] >= 100)
        if size[0] < 100:
            await pilot.press("c")
            await pilot.pause(0.2)
            assert "agreement" in text_of(app)
        await pilot.press("right")
        await until(pilot, lambda: "each NAT from the others (2 of 6)" in text_of(app))
        await until(pilot, lambda: "ours" in text_of(app))
        await pilot.press("y", "escape")
        await pilot.pause()
        assert "[w What-if]" in text_of(app)
        assert "ours" in (paths.state() / "clipboard.txt").read_text(encoding="utf-8")


async def test_every_action_is_in_palette_and_help(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        found = await opened(pilot)
        ids = {offer.action.id for offer in offers(found, app.keymap)}
        assert {action.id for action in (*ACTIONS, *ParamInput.ACTIONS)} <= ids
        text = help_of(found).plain
        for action in ACTIONS:
            assert action.name in text
            assert action.key
            assert hasattr(found, f"action_{action.method}")
        for action in MISSED:
            assert hasattr(MissedScreen, f"action_{action.method}")


async def test_escape_leaves(make_app: Make, made: Workbench) -> None:
    app = make_app("explore")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, WhatIfScreen)


async def test_unreadable_results_are_said(make_app: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(data: str | None, sweep: str | None = None) -> Workbench:
        raise OSError("results/x: permission denied")

    monkeypatch.setattr(module, "open_workbench", fail)
    app = make_app("explore")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.post_message(AskWhatIf(()))
        await until(pilot, lambda: "permission denied" in text_of(app))
        found = app.screen
        assert isinstance(found, WhatIfScreen)
        assert found.why_not("whatif.copy") == "there is no scenario yet"
        await pilot.press("y", "R", "p", "right")
        await pilot.pause()
        assert app.is_running
