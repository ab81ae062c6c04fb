"""Predicted against measured over all rows, on top of What-if: chart, methods, every miss explained."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.worker import Worker, WorkerState

from explorer.actions import Acting, Action, bindings
from explorer.screens.base import NARROW, shell_of
from explorer.screens.whatif import missed
from explorer.screens.whatif.actions import MISSED
from explorer.screens.whatif.messages import Failed, Validated
from explorer.screens.whatif.workbench import Workbench
from explorer.widgets.chart import Chart
from explorer.widgets.line_pane import LinePane, ScrollPane, line


class MissedScreen(Acting, ModalScreen[None]):
    """Arrow keys go through the ways of leaving rows out; each is computed once."""

    ACTIONS: ClassVar[tuple[Action, ...]] = MISSED
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(MISSED)]
    DEFAULT_CSS = """
    MissedScreen { background: $background; }
    MissedScreen > Vertical { border: round $primary; background: $surface; }
    MissedScreen #missed-methods { height: 6; padding: 0 1; }
    MissedScreen #missed-body { height: 1fr; }
    MissedScreen #missed-chart { width: 1fr; }
    MissedScreen #missed-rows { width: 1fr; padding: 0 1; }
    MissedScreen.-rows #missed-chart { display: none; }
    MissedScreen.-chart #missed-rows { display: none; }
    """

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self._bench = bench
        self._way = 0
        self._done: dict[int, missed.Validation] = {}
        self._pending: set[int] = set()

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_subtitle = "left/right other ways, c chart, y copy, esc close"
            yield LinePane(id="missed-methods")
            with Horizontal(id="missed-body"):
                yield Chart(shell_of(self).ascii_only, id="missed-chart")
                yield ScrollPane(id="missed-rows")

    def on_mount(self) -> None:
        self._fit()
        self.query_one(ScrollPane).focus()
        self._go(0)

    def on_resize(self) -> None:
        self._fit()
        self.call_after_refresh(self._draw)

    def _fit(self) -> None:
        """Side by side where there is room, else the rows first."""
        narrow = self.app.size.width < NARROW
        if narrow and not self.has_class("-rows") and not self.has_class("-chart"):
            self.add_class("-rows")
        elif not narrow:
            self.remove_class("-rows", "-chart")

    def _go(self, way: int) -> None:
        self._way = way % len(missed.WAYS)
        if self._way not in self._done and self._way not in self._pending:
            self._pending.add(self._way)
            self._validate(self._way)
        self._draw()

    @work(thread=True, group="whatif-missed", exit_on_error=False)
    def _validate(self, way: int) -> None:
        bench = self._bench
        try:
            with bench.lock:
                found = missed.run(bench, missed.WAYS[way])
        except ValueError as error:
            self.post_message(Failed(str(error)))
            return
        self.post_message(Validated(found, way))

    @on(Validated)
    def _validated(self, message: Validated) -> None:
        self._done[message.asked] = message.found
        self._pending.discard(message.asked)
        self._draw()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """What no one foresaw in a thread is said too."""
        if event.state is WorkerState.ERROR:
            self.post_message(Failed(f"{type(event.worker.error).__name__}: {event.worker.error}"))

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self.query_one("#missed-methods", LinePane).show_lines(
            [line(("not possible: ", "bad"), message.reason)]
        )

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        way = missed.WAYS[self._way]
        frame = self.query_one(Vertical)
        frame.border_title = f"Predicted against measured: {way.name} ({self._way + 1} of {len(missed.WAYS)})"
        found = self._done.get(self._way)
        methods, rows = self.query_one("#missed-methods", LinePane), self.query_one(ScrollPane)
        chart = self.query_one(Chart)
        if found is None:
            methods.show_lines([line("predicting the rows; this takes some seconds")])
            rows.show_lines([])
            chart.visible = False
            return
        chart.visible = bool(found.misses)
        chart.show(missed.scatter(found))
        methods.show_lines(line(*parts) for parts in missed.summary_lines(found))
        # The width is known after the first layout.
        self.call_after_refresh(self._draw_rows, found)

    def _draw_rows(self, found: missed.Validation) -> None:
        rows, glyphs = self.query_one(ScrollPane), shell_of(self).glyphs
        parts = missed.miss_lines(found.misses, rows.size.width, glyphs)
        rows.show_lines(line(*each) for each in parts)

    def why_not(self, action: str) -> str:
        if action == "missed.copy" and self._way not in self._done:
            return "it is still being computed"
        if action == "missed.chart" and self.app.size.width >= NARROW:
            return "both are shown"
        return ""

    def action_next(self) -> None:
        self._go(self._way + 1)

    def action_previous(self) -> None:
        self._go(self._way - 1)

    def action_chart(self) -> None:
        chart = self.has_class("-rows")
        self.set_class(chart, "-chart")
        self.set_class(not chart, "-rows")
        self.call_after_refresh(self._draw)

    def action_copy(self) -> None:
        found = self._done[self._way]
        glyphs = shell_of(self).glyphs
        parts = [*missed.summary_lines(found), *missed.miss_lines(found.misses, 100, glyphs)]
        text = "\n".join("".join(span.text for span in line(*each)).rstrip() for each in parts)
        shell_of(self).copy(f"{found.way.name}\n{text}\n", "the comparison as text")

    def action_close(self) -> None:
        self.dismiss(None)
