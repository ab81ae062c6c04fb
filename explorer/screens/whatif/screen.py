"""The What-if screen: draws an outcome, turns keys into edits. What is shown is made in pure modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from textual import on, work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from explorer.actions import Action, bindings
from explorer.screens.base import PlaceScreen
from explorer.screens.whatif import lines
from explorer.screens.whatif.actions import ACTIONS
from explorer.screens.whatif.charts import curve_chart
from explorer.screens.whatif.fields import BY_NAME, FIELDS
from explorer.screens.whatif.markdown import markdown
from explorer.screens.whatif.messages import Failed, Opened, Prepared
from explorer.screens.whatif.missedscreen import MissedScreen
from explorer.screens.whatif.outcome import Outcome, evaluate, grid_ready
from explorer.screens.whatif.scenario import Choice, Origin, Scenario
from explorer.screens.whatif.workbench import NothingMeasured, Workbench, open_workbench
from explorer.widgets.budget_bar import Budget, BudgetBar
from explorer.widgets.chart import Chart
from explorer.widgets.line_pane import Line, LinePane, ScrollPane, line
from explorer.widgets.param_input import ParamInput
from explorer.widgets.run_list import RunList
from explorer.widgets.status_line import StatusLine
from sweeps.costmodel.cases import Case

CHOSEN: Final = {
    "draft": (
        "draft from",
        "The draft and its device; another one brings its own terms, learned or borrowed.",
    ),
    "path": (
        "path",
        "The engine: cb proposes NAT tokens each round, stateful adapts. Another one has other terms.",
    ),
}
"""Parameters that are a choice: label and meaning."""


class WhatIfScreen(PlaceScreen):
    """On run rows (mappings by column name); without rows on the newest sweep, else the published rows."""

    PLACE: ClassVar[str] = "whatif"
    HELP: ClassVar[str] = (
        "The cost model on one row. Step a term with the arrow keys or type over it, and see what becomes of "
        "the speed-up; each value says where it came from. The prediction is made without the row itself, so "
        "its error is one (o changes that). Pin a scenario to compare the next ones with it."
    )
    PANES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("terms", "Terms"),
        ("curve", "Chart"),
        ("answers", "Answers"),
        ("rows", "Rows"),
    )
    CSS_PATH = "screen.tcss"
    ACTIONS: ClassVar[tuple[Action, ...]] = ACTIONS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    def __init__(self, rows: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__()
        self._rows = tuple(rows)
        self._bench: Workbench | None = None
        self._cases: list[Case] = []
        self._case: Case | None = None
        self._choices: list[Choice] = []
        self._asked = 0
        self._without_own = True
        self._formulas = False
        self._param = "nat"
        self.outcome: Outcome | None = None
        self.pinned: Outcome | None = None

    # -- widgets --------------------------------------------------------------------------------------

    def compose_place(self) -> Iterable[Widget]:
        ascii_only = self.shell.ascii_only
        yield StatusLine(id="headline")
        yield BudgetBar(("draft", "verify", "rest"), ascii_only, id="budget")
        with Horizontal(id="body"):
            with Vertical(id="side"):
                with Vertical(id="terms", classes="pane") as terms:
                    terms.border_title = "Terms"
                    with VerticalScroll(id="fields", can_focus=False):
                        for name, (label, _) in CHOSEN.items():
                            yield ParamInput(name, label, typed=False)
                        for field in FIELDS:
                            yield ParamInput(field.name, field.label)
                    yield LinePane(id="story")
                rows = RunList(id="rows", classes="pane")
                rows.border_title = "Rows: measured, predicted, error"
                yield rows
            with Vertical(id="main"):
                with Vertical(id="curve", classes="pane") as curve:
                    curve.border_title = "Speed-up against NAT"
                    yield Chart(ascii_only, id="chart")
                answers = ScrollPane(id="answers", classes="pane")
                answers.border_title = "Answers"
                yield answers

    def on_mount(self) -> None:
        super().on_mount()
        self._formulas = bool(self.kept.get("formulas", False))
        self.status = "reading the results"
        self.query_one("#param-nat", ParamInput).focus()
        self._open()

    def keep(self) -> None:
        self.kept["formulas"] = self._formulas

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    # -- rows and scenarios, made in threads -------------------------------------------------------------

    @work(thread=True, exclusive=True, group="whatif-open", exit_on_error=False)
    def _open(self) -> None:
        sweep = str(self._rows[0].get("sweep") or "") if self._rows else None
        try:
            bench = open_workbench(self.shell.data, sweep)
            self.post_message(self._start(bench))
        except (OSError, ValueError) as error:
            self.post_message(Failed(str(error)))

    def _start(self, bench: Workbench) -> Opened:
        """Where to begin: the first of the rows that can be built on, else the newest sweep."""
        found: list[Case] = []
        remarks: list[str] = []
        for row in self._rows:
            try:
                case, remark = bench.case_of(row)
            except NothingMeasured as error:
                remarks.append(str(error))
                continue
            if case not in found:
                found.append(case)
            remarks += [remark] if remark else []
        case = found[0] if found else bench.first()
        if self._rows and not found:
            remarks.append("this is another row")
        rows = found if len(found) > 1 else lines.same_rows(bench.cases, case)
        return Opened(bench, case, rows, "; ".join(list(dict.fromkeys(remarks))[:2]))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """What no one foresaw in a thread is said too."""
        if event.state is WorkerState.ERROR:
            self.post_message(Failed(f"{type(event.worker.error).__name__}: {event.worker.error}"))

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self.status = "nothing to show"
        self.banner = message.reason[:1].upper() + message.reason[1:] + "."

    @on(Opened)
    def _opened(self, message: Opened) -> None:
        self._bench, self._cases = message.bench, message.rows
        self.banner = message.remark[:1].upper() + message.remark[1:] + "." if message.remark else ""
        self.select(message.case)

    def select(self, case: Case, choice: Choice | None = None) -> None:
        """Make a scenario on a row, with another draft or path where `choice` says so."""
        if self._bench is None:
            return
        if case is not self._case:
            self._choices = self._bench.choices(case)
        self._case = case
        self._asked += 1
        self.status = "computing"
        self._prepare(self._bench, case, choice, self._asked)

    @work(thread=True, group="whatif-prepare", exit_on_error=False)
    def _prepare(self, bench: Workbench, case: Case, choice: Choice | None, asked: int) -> None:
        try:
            with bench.lock:
                if asked != self._asked:  # Another one was asked for meanwhile.
                    return
                scenario = bench.scenario(case, choice, self._without_own)
                grid_ready(scenario)
        except ValueError as error:
            self.post_message(Failed(str(error)))
            return
        self.post_message(Prepared(scenario, asked))

    @on(Prepared)
    def _prepared(self, message: Prepared) -> None:
        if message.asked == self._asked:
            self.status = "without this row" if self._without_own else "this row included"
            self.show(message.scenario)

    # -- drawing ------------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario | None:
        """What is shown."""
        return self.outcome.scenario if self.outcome else None

    def show(self, scenario: Scenario) -> None:
        """Evaluate a scenario and draw what follows from it."""
        self.outcome = evaluate(scenario)
        self._draw()
        self.refresh_bindings()

    def _draw(self) -> None:
        outcome = self.outcome
        if outcome is None or not self.is_mounted:
            return
        glyphs, scenario = self.glyphs, outcome.scenario
        head = self.query_one("#headline", StatusLine)
        head.show_lines(_lines(lines.headline(outcome, head.size.width, glyphs)))
        self.query_one("#budget", BudgetBar).show(self._budgets(outcome))
        for param in self.query(ParamInput):
            param.show(self._param_line(param.param, scenario))
        self._draw_story()
        answers = self.query_one("#answers", ScrollPane)
        answers.show_lines(_lines(lines.answers(outcome, self.pinned, answers.size.width, glyphs)))
        chart = self.query_one(Chart)
        if chart.size:
            chart.show(curve_chart(outcome, self.pinned, self._formulas, self.shell.ascii_only))
        rows = self.query_one(RunList)
        if rows.size:
            here = self._cases.index(self._case) if self._case in self._cases else None
            rows.show_rows(len(self._cases), self._row, here)

    def _budgets(self, outcome: Outcome) -> list[Budget]:
        found = [Budget("predicted", outcome.budget[:3])]
        measured = outcome.scenario.base.measured_round
        if self.pinned is not None:
            found.append(Budget("pinned", self.pinned.budget[:3]))
        elif measured is not None:
            found.append(Budget("measured", measured[:3]))
        return found

    def _param_line(self, name: str, scenario: Scenario) -> Line:
        if name in CHOSEN:
            choice = scenario.base.choice
            moved = not self._is_own(choice)
            text = choice.path if name == "path" else choice.name
            if name == "draft" and choice.alone_ms:
                text += f" ({choice.alone_ms:.2f} ms alone)"
            return line(f" {text}", ("  edited", "warn") if moved else "")
        return line(*lines.field_line(scenario, name, self.glyphs))

    def _draw_story(self) -> None:
        scenario = self.scenario
        if scenario is None:
            return
        if self._param in CHOSEN:
            about, origin = CHOSEN[self._param][1], Origin("chosen")
        else:
            about, origin = BY_NAME[self._param].about, scenario.origin(self._param)
        story = self.query_one("#story", LinePane)
        story.show_lines(_lines(lines.field_story(origin, about, story.size.width)))

    def _row(self, index: int, selected: bool) -> Line:
        case = self._cases[index]
        own = self.outcome if self.outcome is not None and case is self._case else None
        predicted = own.prediction.speedup if own is not None and own.error is not None else None
        return line(*lines.row_line(case, predicted, self.query_one(RunList).size.width, self.glyphs))

    def _show(self, pane: str) -> None:
        super()._show(pane)
        for name in ("side", "main"):
            inside = pane in (("terms", "rows") if name == "side" else ("curve", "answers"))
            self.query_one(f"#{name}").set_class(inside, "-on")
        self.call_after_refresh(self._draw)

    # -- edits --------------------------------------------------------------------------------------------

    @on(ParamInput.Entered)
    def _entered(self, message: ParamInput.Entered) -> None:
        self._param = message.name
        self._draw_story()

    @on(ParamInput.Stepped)
    def _stepped(self, message: ParamInput.Stepped) -> None:
        scenario = self.scenario
        if scenario is None:
            return
        if message.name in CHOSEN:
            self._choose(message.name, message.steps, scenario.base.choice)
            return
        value = scenario.value(message.name)
        value = 0.0 if value != value else value
        self.show(scenario.edited(message.name, BY_NAME[message.name].stepped(value, message.steps)))

    @on(ParamInput.Typed)
    def _typed(self, message: ParamInput.Typed) -> None:
        if self.scenario is None:
            return
        try:
            value = BY_NAME[message.name].parse(message.text)
        except ValueError as error:
            self.notify(str(error), severity="warning", timeout=6)
            return
        self.show(self.scenario.edited(message.name, value))

    @on(ParamInput.Cleared)
    def _cleared(self, message: ParamInput.Cleared) -> None:
        if self.scenario is None:
            return
        if message.name in CHOSEN and self._case is not None:
            self.select(self._case)
        elif message.name not in CHOSEN:
            self.show(self.scenario.reset(message.name))

    def _choose(self, name: str, steps: int, now: Choice) -> None:
        """The next draft (on its natural path), or the next path of this draft."""
        if name == "draft":
            firsts = {choice.name: choice for choice in reversed(self._choices)}
            options = [choice for choice in self._choices if firsts[choice.name] is choice]
            here = next(i for i, choice in enumerate(options) if choice.name == now.name)
        else:
            options = [choice for choice in self._choices if choice.name == now.name]
            here = next(i for i, choice in enumerate(options) if choice.path == now.path)
        chosen = options[(here + steps) % len(options)]
        if chosen != now and self._case is not None:
            self.select(self._case, chosen)

    def _is_own(self, choice: Choice) -> bool:
        return bool(self._choices) and choice == self._choices[0]

    # -- actions ------------------------------------------------------------------------------------------

    def why_not(self, action: str) -> str:
        if not action.startswith("whatif."):
            return super().why_not(action)
        scenario = self.scenario
        if scenario is None:
            return "there is no scenario yet"
        if action == "whatif.reset" and not scenario.is_edited and self._is_own(scenario.base.choice):
            return "nothing is edited"
        if action == "whatif.unpin" and self.pinned is None:
            return "nothing is pinned"
        if action in ("whatif.next-row", "whatif.previous-row") and len(self._cases) < 2:
            return "there is one row only"
        return ""

    def action_back(self) -> None:
        """Nothing here is a text field for longer than a number: `esc` leaves."""
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()

    def action_reset(self) -> None:
        scenario = self.scenario
        if scenario is not None and self._case is not None:
            if self._is_own(scenario.base.choice):
                self.show(scenario.reset())
            else:
                self.select(self._case)

    def action_pin(self) -> None:
        self.pinned = None if self._is_pinned() else self.outcome
        self._draw()
        self.refresh_bindings()

    def _is_pinned(self) -> bool:
        """Whether what is shown is what is pinned: by its scenario, for outcomes hold arrays."""
        if self.pinned is None or self.outcome is None:
            return False
        ours, theirs = self.outcome.scenario, self.pinned.scenario
        same = ours.base is theirs.base and ours.nat == theirs.nat
        return same and dict(ours.edits) == dict(theirs.edits)

    def action_unpin(self) -> None:
        if self.pinned is not None:
            pinned, self.pinned = self.pinned, None
            self._case = next((c for c in self._cases if c == pinned.scenario.base.case), self._case)
            self.show(pinned.scenario)

    def action_best(self) -> None:
        outcome = self.outcome
        if outcome is not None:
            nat = outcome.best[0]
            if nat == 0:
                self.notify("No NAT is faster than the target alone.", timeout=4)
            else:
                self.show(outcome.scenario.edited("nat", nat))

    def action_formulas(self) -> None:
        self._formulas = not self._formulas
        self._draw()

    def action_own(self) -> None:
        self._without_own = not self._without_own
        scenario = self.scenario
        if self._case is not None and scenario is not None:
            choice = scenario.base.choice
            self.select(self._case, None if self._is_own(choice) else choice)

    def action_missed(self) -> None:
        if self._bench is not None:
            self.app.push_screen(MissedScreen(self._bench))

    def action_copy(self) -> None:
        if self.outcome is not None:
            self.shell.copy(markdown(self.outcome, self.pinned), "the scenario as Markdown")

    def action_next_row(self, step: int = 1) -> None:
        if self._cases:
            here = self._cases.index(self._case) if self._case in self._cases else 0
            self.select(self._cases[(here + step) % len(self._cases)])

    def action_previous_row(self) -> None:
        self.action_next_row(-1)

    @on(RunList.Moved)
    def _moved(self, message: RunList.Moved) -> None:
        self.select(self._cases[message.index])

    def what_if_rows(self) -> Sequence[dict[str, Any]]:
        return self._rows


def _lines(parts: Iterable[lines.Parts]) -> list[Line]:
    return [line(*each) for each in parts]
