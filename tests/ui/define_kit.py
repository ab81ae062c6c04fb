"""A sweep file of the person's own, and hands for the Define screen."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.pilot import Pilot
from textual.widgets import Input

from explorer.app import SpecdecApp
from explorer.screens.define.formview import FormView
from explorer.screens.define.screen import DefineScreen
from sweeps.plan.model import Run
from tests.ui.snapshot import lines_of

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


def screen_of(app: SpecdecApp) -> DefineScreen:
    """The Define screen, whatever lies on top of it."""
    assert isinstance(app.screen_stack[0], DefineScreen)
    return app.screen_stack[0]


async def until(pilot: Pilot[None], condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what a thread or the helper process will bring."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "\n".join(lines_of(pilot.app))
        await pilot.pause(0.05)


async def planned(pilot: Pilot[None], app: SpecdecApp) -> None:
    """Wait for the first plan."""
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
    """Wait until the text as it stands has been looked at."""
    await until(pilot, lambda: screen_of(app).examined.text == screen_of(app).toml.text)
    await pilot.pause()
