"""What a person asks of a sweep from Watch: files in its control folder, or a new supervisor."""

from __future__ import annotations

from pathlib import Path

from textual import on, work
from textual.message import Message

from explorer.live.state import RunView
from explorer.live.tailer import Update
from explorer.screens.base import PlaceScreen
from explorer.screens.watch.dialogs import Ask
from sweeps.supervise import control
from sweeps.supervise.folder import SweepFolder

NOTE_S = 8.0
"""How long the status line says what was asked of the sweep."""


UNDONE = ("failed", "cut off", "skipped", "cancelled", "queued", "waiting")
"""States of a run that a sweep taken up again would run."""


class AskingScreen(PlaceScreen):
    """Base of the Watch screen: the actions that reach the sweep, and when they make no sense."""

    def __init__(self) -> None:
        super().__init__()
        self._folder: Path | None = None
        self._newest: Update | None = None
        self._note = ""

    @property
    def selected(self) -> RunView | None:
        """The run that an action is about."""
        raise NotImplementedError

    def _draw(self, anew: bool = False) -> None:
        raise NotImplementedError

    def why_not(self, action: str) -> str:
        """Reasons from the newest state, not from a paused or replayed one."""
        verb = action.partition(".")[2]
        state = self._newest.state if self._newest else None
        reading = self._newest is not None and self._newest.reading is not None
        if not action.startswith("watch."):
            return super().why_not(action)
        if verb in ("older", "newer", "detach", "results", "log", "errors"):
            return ""
        if state is None:
            return "there is no sweep to watch"
        if reading and verb in ("skip", "stop", "stop-after", "retry"):
            return "its journal is still being read"
        if verb in ("skip", "stop", "stop-after") and not state.verdict.live:
            return f"the sweep is {state.verdict.word}"
        if verb == "skip":
            view = self.selected
            return "this run is over" if view is not None and view.over else ""
        if verb == "retry":
            if state.verdict.live:
                return "the sweep is running"
            if not any(view.word in UNDONE for view in state.runs):
                return "nothing has failed, and nothing is left to run"
        return ""

    def _request(self, name: str, told: str) -> None:
        if self._folder is None:
            return
        try:
            control.request(SweepFolder(self._folder).control, name)
        except OSError as error:
            self.notify(f"The request could not be left: {error}", severity="error")
            return
        self._tell_for_a_while(told)

    def _tell_for_a_while(self, note: str) -> None:
        def forget() -> None:
            if self._note == note:
                self._note = ""
                self._draw()

        self._note = note
        self._draw()
        self.set_timer(NOTE_S, forget)

    def action_skip(self) -> None:
        view = self.selected
        if view is not None and self._folder is not None:
            self._request(f"skip-{view.id}", f"asked to skip {view.label}")

    def action_stop_after(self) -> None:
        self._request(control.STOP_AFTER_RUN, "asked to stop after this run")

    def action_stop(self) -> None:
        question = Ask("Stop the sweep now?", "The run that runs is ended; what is measured stays.")
        self.app.push_screen(question, self._stop_answered)

    def _stop_answered(self, yes: bool | None) -> None:
        if yes:
            self._request(control.STOP, "asked to stop now")

    def action_retry(self) -> None:
        if self._folder is not None:
            self._note = "taking the sweep up again"
            self._draw()
            self._start_again(SweepFolder(self._folder))

    @work(thread=True, exclusive=True, group="watch-retry", exit_on_error=False)
    def _start_again(self, folder: SweepFolder) -> None:
        """A detached supervisor takes seconds to say that it lives: not in the app's loop."""
        from sweeps.supervise.detach import NotStarted, start_detached

        try:
            start_detached(folder, retry_failed=True)
        except (NotStarted, OSError) as error:
            self.post_message(self.Retried(str(error)))
        else:
            self.post_message(self.Retried(""))

    class Retried(Message):
        """The sweep was taken up again, or why not."""

        def __init__(self, fault: str) -> None:
            self.fault = fault
            super().__init__()

    @on(Retried)
    def _retried(self, message: Retried) -> None:
        self._note = ""
        if message.fault:
            self.notify(f"The sweep was not taken up again: {message.fault}", severity="error", timeout=10)
        self._draw()

    async def action_detach(self) -> None:
        await self.app.action_quit()
