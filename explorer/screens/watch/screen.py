"""The Watch screen: takes the reader's updates, feeds the panes in sight, turns keys into requests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.widget import Widget

from explorer.actions import Action, bindings
from explorer.live.state import LiveState, RunView
from explorer.live.tailer import Tailer, Update
from explorer.screens.base import NARROW
from explorer.screens.watch import attach, content
from explorer.screens.watch.asking import AskingScreen
from explorer.screens.watch.dialogs import Details
from explorer.widgets.line_pane import LinePane, ScrollPane
from explorer.widgets.log_pane import LogPane
from explorer.widgets.run_list import RunList
from explorer.widgets.spark import Spark
from explorer.widgets.status_line import StatusLine
from explorer.widgets.token_tail import TokenTail
from sweeps.supervise.folder import SweepFolder

LOWER = ("results", "log", "errors")
"""Panes that share one place, of which one is shown."""

FULL_S = 0.45
"""Between two draws of everything only the text goes on: numbers that change faster are not read."""

NOTHING_S = 2.0
"""How often a screen without a sweep looks for one."""


class WatchScreen(AskingScreen):
    """Attached to one sweep; `data` is the folder of results, `sweep` a name or folder (None: the newest)."""

    PLACE = "watch"
    HELP = (
        "Follow a sweep while it runs in a process of its own: leaving, pausing or losing the terminal never "
        "touches it. A sweep that is over can be replayed with the arrow keys."
    )
    PANES = (("now", "Run"), ("runs", "Runs"), ("results", "Results"), ("log", "Log"), ("errors", "Errors"))
    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = ""
    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action("watch.pause", "Pause or go on with the view", "space", "The sweep goes on.", footer="pause"),
        Action("watch.follow", "Follow the run that runs", "f", "Also ends a replay.", footer="follow"),
        Action("watch.details", "Details of the run", "enter"),
        Action("watch.log", "Log of the run", "L", "The run's standard error."),
        Action("watch.errors", "Errors", "E", "Failed and refused runs by class."),
        Action("watch.results", "Results", "R", "Finished runs with their speed-ups."),
        Action("watch.skip", "Skip the run", "s", "The selected run, now or when its turn comes."),
        Action("watch.stop-after", "Stop after this run", "S"),
        Action("watch.stop", "Stop now", "x", "Asks first. What is measured stays.", footer="stop"),
        Action(
            "watch.retry",
            "Go on: retry what failed, run what is left",
            "r",
            "Takes the sweep up again, on its own.",
            footer="go on",
        ),
        Action("watch.detach", "Leave the sweep alone", "d", "Leaves the app; the sweep goes on."),
        Action("watch.rewind", "Replay: back", "left", "By a hundredth of the sweep."),
        Action("watch.forward", "Replay: forward", "right"),
        Action("watch.event-back", "Replay: one event back", "shift+left,comma"),
        Action("watch.event-forward", "Replay: one event forward", "shift+right,full_stop"),
        Action("watch.run-back", "Replay: previous run", "left_square_bracket"),
        Action("watch.run-forward", "Replay: next run", "right_square_bracket"),
        Action("watch.start", "Replay: from the start", "home"),
        Action("watch.now", "Replay: back to now", "end"),
        Action("watch.older", "Watch the sweep before", "less_than_sign"),
        Action("watch.newer", "Watch the sweep after", "greater_than_sign"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    def __init__(self, data: str | None = None, sweep: str | None = None) -> None:
        super().__init__()
        self._data, self._sweep = data, sweep
        self._tailer: Tailer | None = None
        self._shown: Update | None = None
        self._paused = False
        self._follow = True
        self._selected: str | None = None
        self._lower = "results"
        self._told: Path | None = None
        self._drawn_results: tuple[object, ...] = ()
        self._offered: tuple[object, ...] = ()
        self._standing: tuple[object, ...] = ()
        self._drawn = 0.0

    # -- widgets --------------------------------------------------------------------------------------

    def compose_place(self) -> Iterable[Widget]:
        glyphs, ascii_only = self.glyphs, self.shell.ascii_only
        yield StatusLine(id="standing")
        with Horizontal(id="body"):
            with Vertical(id="side"):
                runs = RunList(id="runs", classes="pane")
                runs.border_title = "Runs"
                yield runs
            with Container(id="main"):
                with Vertical(id="now", classes="pane") as now:
                    now.border_title = "Run"
                    yield LinePane(id="head")
                    yield Spark("tok/s", glyphs=glyphs, id="spark")
                    yield LinePane(id="legend")
                    yield TokenTail(brackets=ascii_only, id="tail")
                with Vertical(id="lower"):
                    for name, title, kind in (
                        ("results", "Results (R)", ScrollPane),
                        ("log", "Log (L)", LogPane),
                        ("errors", "Errors (E)", ScrollPane),
                    ):
                        pane = kind(id=name, classes="pane lower")
                        pane.border_title = title
                        yield pane

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#legend", LinePane).show_lines([content.legend(self.shell.ascii_only)])
        self._show_lower("results")
        if self.app.size.width >= NARROW:
            self.query_one(RunList).focus()
        self.set_interval(NOTHING_S, self._look_for_sweep)
        found = attach.find(self._data, self._sweep)
        if found is not None:
            self.open_sweep(found)
        else:
            self._nothing()

    def on_unmount(self) -> None:
        if self._tailer is not None:
            self._tailer.stop()

    def on_screen_resume(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw, True)

    # -- which sweep ----------------------------------------------------------------------------------

    def open_sweep(self, folder: Path) -> None:
        """Attach to a results folder, leaving the one attached to."""
        if folder == self._folder:
            return
        if self._tailer is not None:
            self._tailer.stop()
        self._folder, self._newest, self._shown = folder, None, None
        self._selected, self._follow, self._paused, self._note = None, True, False, ""
        self.banner = ""
        self.status = folder.name
        self._tailer = attach.attach(folder, self.post_message)

    def _nothing(self) -> None:
        self.status = "no sweep"
        wanted = f"There is no sweep {self._sweep} here. " if self._sweep else "No sweep has run here yet. "
        self.banner = wanted + "Press D to run the demo on this machine, or 1 to write a sweep."

    def _look_for_sweep(self) -> None:
        """Attach as soon as there is something to attach to; tell of a sweep that started meanwhile."""
        if self._folder is None:
            found = attach.find(self._data, self._sweep)
            if found is not None:
                self.open_sweep(found)
        elif self._newest is not None and not self._newest.state.verdict.live:
            newest = attach.find(self._data, None)
            if newest is not None and newest != self._folder and newest != self._told:
                self._told = newest
                if SweepFolder(newest).journal.stat().st_mtime > self._newest.state.last:
                    self._note = f"{newest.name} is newer: > shows it"
                    self._draw()

    def action_older(self) -> None:
        self._step_sweep(1)

    def action_newer(self) -> None:
        self._step_sweep(-1)

    def _step_sweep(self, step: int) -> None:
        found = [folder.path for folder in attach.folders(self._data)]
        if self._folder in found:
            at = found.index(self._folder) + step
            if 0 <= at < len(found):
                self.open_sweep(found[at])
            else:
                self.notify("There is no older sweep." if step > 0 else "This is the newest sweep.")

    # -- updates --------------------------------------------------------------------------------------

    @on(attach.Updated)
    def _updated(self, message: attach.Updated) -> None:
        if message.folder != self._folder:
            return
        self._newest = message.update
        if not self._paused or self._shown is None or message.update.replay != self._shown.replay:
            self._shown = message.update
        if not self._only_text():
            self._draw()

    def _only_text(self) -> bool:
        """Draw the streaming text alone, where nothing else has to be said at once."""
        update, view = self._shown, self.selected
        if update is None or view is None or not self.is_current or not self.is_mounted:
            return False
        if update.replay or not update.state.verdict.live:  # No later one may come.
            self._standing = ()
            return False
        standing = (
            update.state.verdict.word, update.state.current, update.state.runs_over, update.fault, view.id,
            view.word, len(update.state.results), self._paused, self._note, update.reading is None,
        )  # fmt: skip
        if standing != self._standing or time.monotonic() - self._drawn >= FULL_S:
            self._standing = standing
            return False
        self._draw_text(view)
        return True

    @property
    def state(self) -> LiveState | None:
        """What is shown."""
        return self._shown.state if self._shown else None

    @property
    def selected(self) -> RunView | None:
        """The run under the cursor, or the one that runs when it is followed."""
        state = self.state
        if state is None:
            return None
        if self._follow or state.run(self._selected) is None:
            return state.run(state.current) or (state.runs[0] if state.runs else None)
        return state.run(self._selected)

    def _draw(self, anew: bool = False) -> None:
        """Feed the panes in sight; the others are fed when they come in sight."""
        update = self._shown
        if update is None or not self.is_current or not self.is_mounted:
            return
        self._drawn = time.monotonic()
        state, glyphs, view = update.state, self.glyphs, self.selected
        standing = self.query_one(StatusLine)
        standing.show_lines(
            content.status_lines(update, glyphs, standing.size.width, self._paused, self._note)
        )
        runs = self.query_one(RunList)
        if _in_sight(runs):
            places = {run.id: place for place, run in enumerate(state.runs)}
            results = content.by_run(state.results)
            runs.show_rows(
                len(state.runs),
                lambda index, selected: content.run_line(
                    state.runs[index],
                    results.get(state.runs[index].id, ()),
                    selected,
                    runs.size.width,
                    glyphs,
                ),
                cursor=places.get(view.id) if view else None,
            )
        self._draw_run(view, state, anew)
        self._draw_lower(view, state)
        offered = tuple(self.why_not(action.id) for action in self.ACTIONS)
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def _draw_run(self, view: RunView | None, state: LiveState, anew: bool) -> None:
        head = self.query_one("#head", LinePane)
        if not _in_sight(head):
            return
        head.show_lines(content.run_head(view, state, self.glyphs, head.size.width))
        rates = view.rates if view else ()
        spark = self.query_one(Spark)
        replay = self._shown is not None and self._shown.replay
        spark.show(rates, now=anew or replay or not (view and view.word == "running"))
        self._draw_text(view)

    def _draw_text(self, view: RunView | None) -> None:
        tail, rep = self.query_one(TokenTail), view.rep if view else None
        if _in_sight(tail):
            tail.show((view.id, rep.key) if view and rep else None, rep.pieces if rep else ())

    def _draw_lower(self, view: RunView | None, state: LiveState) -> None:
        pane = self.query_one(f"#{self._lower}", ScrollPane)
        if not _in_sight(pane):
            return
        if isinstance(pane, LogPane):
            path = self._folder / "stderr" / f"{view.id}.log" if view and self._folder else None
            pane.follow(path, "this run has written nothing to its standard error")
        elif self._lower == "results":
            drawn = (state.results, len(state.runs), pane.size.width)
            if drawn == self._drawn_results and pane.lines:
                return
            self._drawn_results = drawn
            pane.show_lines(content.result_lines(state.results, state, pane.size.width, self.glyphs))
        else:
            pane.show_lines(content.error_lines(state, self.glyphs))

    # -- panes ----------------------------------------------------------------------------------------

    def _show(self, pane: str) -> None:
        super()._show(pane)
        if pane in LOWER:
            self._show_lower(pane)
        group = "lower" if pane in LOWER else pane
        for name in ("now", "runs", "lower"):
            self.set_class(name == group, f"-on-{name}")
        self.call_after_refresh(self._draw, True)

    def _show_lower(self, pane: str) -> None:
        self._lower = pane
        for name in LOWER:
            self.query_one(f"#{name}").set_class(name == pane, "-shown")

    def action_log(self) -> None:
        self._toggle("log")

    def action_errors(self) -> None:
        self._toggle("errors")

    def action_results(self) -> None:
        self.action_show_pane("results")

    def _toggle(self, pane: str) -> None:
        """The pane, or back to the results when it is there already."""
        self.action_show_pane("results" if self._lower == pane and self.pane == pane else pane)

    # -- the view -------------------------------------------------------------------------------------

    @on(RunList.Moved)
    def _moved(self, message: RunList.Moved) -> None:
        if self.state is not None:
            view = self.state.runs[message.index]
            self._selected, self._follow = view.id, False
            self._draw(True)

    def action_pause(self) -> None:
        self._paused = not self._paused
        if not self._paused:
            self._shown = self._newest
        self._draw()

    def action_follow(self) -> None:
        self._follow, self._paused = True, False
        self._shown = self._newest
        if self._shown is not None and self._shown.replay:
            self._seek("now", 0)
        self._draw(True)

    def action_details(self) -> None:
        view, state = self.selected, self.state
        if view is not None and state is not None:
            lines = content.detail_lines(view, state, self.glyphs)
            self.app.push_screen(Details(f"Run {view.id}", lines))

    def _seek(self, how: str, value: float) -> None:
        self._paused = False
        if self._tailer is not None:
            self._tailer.seek(how, value)

    def action_back(self) -> None:
        """`esc` ends a replay first."""
        if self._shown is not None and self._shown.replay:
            self.action_now()
        else:
            super().action_back()

    def action_rewind(self) -> None:
        self._seek("step", -1)

    def action_forward(self) -> None:
        self._seek("step", 1)

    def action_event_back(self) -> None:
        self._seek("event", -1)

    def action_event_forward(self) -> None:
        self._seek("event", 1)

    def action_run_back(self) -> None:
        self._seek("run", -1)

    def action_run_forward(self) -> None:
        self._seek("run", 1)

    def action_start(self) -> None:
        self._seek("part", 0)

    def action_now(self) -> None:
        self._seek("now", 0)

    def what_if_rows(self) -> Sequence[dict[str, Any]]:
        view, update = self.selected, self._shown
        return [row for row in update.rows if row.get("run") == view.id] if view and update else []


def _in_sight(widget: Widget) -> bool:
    """Whether any of it is laid out: a hidden pane has no size."""
    return bool(widget.size) and widget.is_on_screen
