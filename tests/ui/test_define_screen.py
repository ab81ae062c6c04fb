"""Define as a person uses it: keys in, screen and files out."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from explorer.app import SpecdecApp
from explorer.cli.running import with_needs
from explorer.screens.define.dialogs import Confirm
from explorer.screens.define.formview import FormView
from explorer.screens.define.outside import Helper
from explorer.screens.define.planview import PlanView
from explorer.screens.define.screen import DefineScreen
from explorer.screens.define.wire import Request
from sweeps import paths
from sweeps.events.journal import JournalReader
from sweeps.events.types import RunEnded
from sweeps.plan.model import Run
from tests.ui.conftest import SIZES
from tests.ui.snapshot import check, lines_of

MakeApp = Callable[..., SpecdecApp]
SWEEP = """\
name = "mine"  # kept

[protocol]
max_new_tokens = 4
warmup = 0
reps = 1

[models]
target = "demo:target"
draft = "demo:draft-s"

[prompts]
short = "def f(x):"

[[grid]]  # the pair
kind = "speculative"
target = "target"
target_device = "CPU"
draft = "draft"
draft_device = "CPU"
num_assistant_tokens = [3]
"""


@pytest.fixture
def mine(own_folders: Path) -> Path:
    """A sweep file of the person's own."""
    path = own_folders / "config" / "sweeps" / "mine.toml"
    path.parent.mkdir(parents=True)
    path.write_text(SWEEP, encoding="utf-8", newline="\n")
    return path


@pytest.fixture
def app(mine: Path, make_app: MakeApp) -> SpecdecApp:
    """Define on `mine.toml`."""
    app = make_app(place="define")
    app.session.part("define")["file"] = str(mine)
    return app


def screen_of(app: SpecdecApp) -> DefineScreen:
    assert isinstance(app.screen_stack[0], DefineScreen)
    return app.screen_stack[0]


async def until(pilot: Pilot[None], condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what a thread or the helper process will bring."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "\n".join(lines_of(pilot.app))
        await pilot.pause(0.05)


def wait_for_end(journal: Path) -> None:
    """Until a sweep that was started on its own says that it ended."""
    deadline = time.monotonic() + 120
    while '"sweep_ended"' not in journal.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.2)


async def planned(pilot: Pilot[None], app: SpecdecApp) -> None:
    await until(pilot, lambda: screen_of(app).planned is not None)
    await pilot.pause()


def runs_of(app: SpecdecApp) -> tuple[Run, ...]:
    """The runs of the plan that is shown."""
    reply = screen_of(app).planned
    assert reply is not None and reply.plan is not None
    return reply.plan.runs


async def to_row(pilot: Pilot[None], app: SpecdecApp, place: str) -> None:
    """Put the form's cursor on a row, as its arrow keys would."""
    view = app.screen.query_one(FormView)
    await until(pilot, lambda: any(row.place == place for row in view.rows))
    if app.focused is not view:
        screen_of(app).action_show_pane("form")
        await until(pilot, lambda: app.focused is view)
    view.cursor = next(i for i, row in enumerate(view.rows) if row.place == place and row.kind != "section")
    await pilot.pause()


async def answer(pilot: Pilot[None], app: SpecdecApp, typed: str) -> None:
    """Type into the open dialog and take it."""
    await until(pilot, lambda: bool(app.screen.query(Input)))
    app.screen.query_one(Input).value = typed
    await pilot.press("enter")
    await pilot.pause()


async def examined(pilot: Pilot[None], app: SpecdecApp) -> None:
    await until(pilot, lambda: screen_of(app).examined.text == screen_of(app).toml.text)
    await pilot.pause()


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


async def test_the_form_closes_while_the_text_is_no_toml(app: SpecdecApp) -> None:
    async with app.run_test(size=(200, 60)) as pilot:
        screen_of(app).toml.load_text("name = ")
        await examined(pilot, app)
        assert "The text is not TOML" in "\n".join(lines_of(app))


@pytest.mark.models
async def test_a_sweep_is_started_and_outlives_the_app(app: SpecdecApp, results: Path) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await planned(pilot, app)
        runs = runs_of(app)
        await pilot.press("r")
        await until(pilot, lambda: app.current_mode == "watch")
        await pilot.press("q")
    journal = next(results.glob("mine-*/journal.jsonl"))
    wait_for_end(journal)
    assert journal.read_text(encoding="utf-8").count('"type":"run_ended"') == len(runs)


@pytest.mark.models
async def test_just_the_selected_run_is_started_with_what_it_is_compared_with(
    app: SpecdecApp, results: Path
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await planned(pilot, app)
        reply = screen_of(app).planned
        assert reply is not None
        plan = reply.plan
        assert plan is not None
        wanted = next(run for run in plan.runs if run.baseline is not None and not run.refused)
        view = screen_of(app).query_one(PlanView)
        screen_of(app).action_show_pane("plan")
        for _ in plan.runs:
            if view.run is not None and view.run.id == wanted.id:
                break
            await pilot.press("down")
            await pilot.pause()
        assert view.run is not None
        assert view.run.id == wanted.id
        await pilot.press("R")
        await until(pilot, lambda: app.current_mode == "watch")
        await pilot.press("q")
    journal = next(results.glob("mine-*/journal.jsonl"))
    wait_for_end(journal)
    ended = {event.run for event in JournalReader(journal).poll() if isinstance(event, RunEnded)}
    assert ended == with_needs(plan, [wanted.id])
    assert ended < {run.id for run in plan.runs}


def test_the_helper_says_faults_and_comes_back_after_a_death() -> None:
    helper = Helper()
    try:
        assert "expected" in helper.ask(Request("plan", text="name = 3")).fault
        first = helper._child
        assert first is not None
        first.kill()
        first.wait()
        assert "died" in helper.ask(Request("plan", text="")).fault
        assert "missing" in helper.ask(Request("plan", text="")).fault
    finally:
        helper.close()
    assert helper.ask(Request("plan")).fault == "the app is leaving"


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
