"""Define's files: opened, saved, duplicated, and nothing of anybody's overwritten unasked."""

from __future__ import annotations

import tomllib
from pathlib import Path

from explorer.app import SpecdecApp
from explorer.screens.define.dialogs import Confirm
from sweeps import paths
from tests.ui.conftest import MakeApp
from tests.ui.define_kit import SWEEP, answer, examined, planned, screen_of, to_row, until
from tests.ui.snapshot import lines_of


async def test_saving_is_atomic_and_asks_when_another_program_wrote(app: SpecdecApp, mine: Path) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await to_row(pilot, app, "protocol.ignore_eos")
        await pilot.press("space", "s")
        await until(pilot, lambda: "ignore_eos = false" in mine.read_text(encoding="utf-8"))
        await examined(pilot, app)
        mine.write_text(SWEEP, encoding="utf-8")
        await pilot.press("space", "s")
        await pilot.pause()
        assert "changed by another program" in "\n".join(lines_of(app))
        await pilot.press("n")
        await pilot.pause()
        assert mine.read_text(encoding="utf-8") == SWEEP
        await pilot.press("s", "y")
        await until(pilot, lambda: "ignore_eos = true" in mine.read_text(encoding="utf-8"))
        assert [path.name for path in mine.parent.iterdir()] == ["mine.toml"]


async def test_line_ends_of_windows_are_kept(app: SpecdecApp, mine: Path) -> None:
    mine.write_bytes(SWEEP.replace("\n", "\r\n").encode())
    async with app.run_test(size=(120, 40)) as pilot:
        await to_row(pilot, app, "protocol.ignore_eos")
        await pilot.press("space", "s")
        await until(pilot, lambda: b"ignore_eos = false\r\n" in mine.read_bytes())
        assert mine.read_bytes().count(b"\n") == mine.read_bytes().count(b"\r\n")


async def test_a_preset_is_duplicated_not_written(make_app: MakeApp, own_folders: Path) -> None:
    app = make_app(place="define")
    before = (paths.presets() / "demo.toml").read_bytes()
    async with app.run_test(size=(120, 40)) as pilot:
        await examined(pilot, app)
        await pilot.press("d")
        await answer(pilot, app, "my-demo")
        path = own_folders / "config" / "sweeps" / "my-demo.toml"
        await until(pilot, path.is_file)
        await examined(pilot, app)
        assert tomllib.loads(path.read_text(encoding="utf-8"))["name"] == "my-demo"
        assert screen_of(app).document.path == path
        # The same name again: asked, and refused.
        await pilot.press("d")
        await answer(pilot, app, "my-demo")
        await pilot.pause()
        assert "exists. Overwrite it?" in "\n".join(lines_of(app))
        await pilot.press("escape")
    assert (paths.presets() / "demo.toml").read_bytes() == before


async def test_a_preset_is_never_written(app: SpecdecApp) -> None:
    preset = paths.presets() / "demo.toml"
    before = preset.read_bytes()
    async with app.run_test(size=(120, 40)) as pilot:
        await planned(pilot, app)
        screen_of(app).toml.focus()
        await pilot.press("#", "escape", "S")
        for spelled in (preset, preset.parent / ".." / "presets" / "demo", preset.with_suffix("")):
            await answer(pilot, app, str(spelled))
            assert "never written" in "\n".join(lines_of(app))
        assert preset.read_bytes() == before


async def test_an_enter_too_many_overwrites_nothing(app: SpecdecApp, mine: Path) -> None:
    other = mine.with_name("other.toml")
    other.write_text("name = 'other'\n", encoding="utf-8")
    async with app.run_test(size=(120, 40)) as pilot:
        await planned(pilot, app)
        await pilot.press("S")
        await answer(pilot, app, "other")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("enter")
        await pilot.pause()
        assert other.read_text(encoding="utf-8") == "name = 'other'\n"


async def test_unsaved_text_is_there_again_at_the_next_start(app: SpecdecApp, make_app: MakeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await to_row(pilot, app, "protocol.ignore_eos")
        await pilot.press("space")
        await examined(pilot, app)
        await pilot.press("q")
    again = make_app(place="define")
    async with again.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "ignore_eos = false" in screen_of(again).toml.text
        assert screen_of(again).keeper.modified


async def test_opening_another_file_asks_before_changes_are_dropped(app: SpecdecApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await to_row(pilot, app, "protocol.ignore_eos")
        await pilot.press("space", "o")
        await answer(pilot, app, str(paths.presets() / "nat-scan.toml"))
        await pilot.pause()
        assert "Drop them?" in "\n".join(lines_of(app))
        await pilot.press("y")
        await until(pilot, lambda: screen_of(app).document.name == "nat-scan (preset)")


async def test_a_missing_file_is_one_line(app: SpecdecApp) -> None:
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("o")
        await answer(pilot, app, "/nowhere/x.toml")
        await pilot.pause()
        assert "no such file" in "\n".join(lines_of(app))
