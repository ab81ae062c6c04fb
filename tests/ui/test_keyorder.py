"""Keys that come in one burst, as over a slow link, do what they would do one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual import events
from textual.keys import _character_to_key

from explorer.app import SpecdecApp
from explorer.screens.explore.dialogs import TypeLine
from explorer.screens.explore.screen import ExploreScreen
from tests.ui.explore_kit import run_frame

MakeApp = Callable[..., SpecdecApp]


def burst(app: SpecdecApp, *keys: str) -> None:
    """All keys at once, before any of them is looked at; a text of several letters is typed."""
    for key in keys:
        for part in [key] if key in ("enter", "escape", "ctrl+e", "ctrl+u") else list(key):
            name = part if len(part) > 1 else _character_to_key(part)
            app.post_message(events.Key(name, part if len(part) == 1 else None))


@pytest.fixture
def app(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> SpecdecApp:
    monkeypatch.setattr("explorer.screens.explore.loading.load", lambda level, data: run_frame())
    return make_app("explore")


async def settle(app: SpecdecApp, done: Callable[[], bool]) -> None:
    """Wait until something is so, for at most two seconds."""
    import asyncio

    for _ in range(200):
        if done():
            return
        await asyncio.sleep(0.01)
    pytest.fail("the keys did not have their effect")


async def test_a_filter_typed_in_one_burst(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        burst(app, "/speedup > 1.1", "enter", "/ and noisy", "escape", "j")
        screen = app.screen
        assert isinstance(screen, ExploreScreen)
        await settle(app, lambda: screen.table.has_focus and screen.table.cursor_row > 0)
        assert app.current_mode == "explore"
        assert screen.view.filter == "speedup > 1.1"
        assert not screen.view.sorts


async def test_what_is_typed_behind_a_key_that_opens_a_dialog_goes_to_the_dialog(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        burst(app, "Kbest", "enter")
        screen = app.screen_stack[0]
        assert isinstance(screen, ExploreScreen)
        await settle(app, lambda: screen.view.name == "best")
        assert not isinstance(app.screen, TypeLine)


async def test_a_place_and_its_key_in_one_burst(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.screens.explore.loading.load", lambda level, data: run_frame())
    app = make_app("watch")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        burst(app, "3/noisy", "enter")
        await settle(app, lambda: isinstance(app.screen, ExploreScreen) and app.screen.view.filter == "noisy")


async def test_keys_go_on_when_a_widget_never_answers(
    app: SpecdecApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.keyorder.PATIENCE_S", 0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        monkeypatch.setattr(type(app), "_follow", lambda self, node, then: None)
        burst(app, "jj")
        screen = app.screen
        assert isinstance(screen, ExploreScreen)
        await settle(app, lambda: screen.table.cursor_row == 2)
