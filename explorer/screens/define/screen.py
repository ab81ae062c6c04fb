"""Define: a sweep as a form and as text, its faults at their lines, and the plan that it makes."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea
from textual.worker import Worker, WorkerState, get_current_worker

from explorer import messages
from explorer.actions import Action, bindings
from explorer.screens.base import PlaceScreen
from explorer.screens.define import form
from explorer.screens.define.dialogs import Choice
from explorer.screens.define.editing import FormEditor
from explorer.screens.define.examine import Examined, examine
from explorer.screens.define.filing import Document
from explorer.screens.define.form import Row
from explorer.screens.define.formview import FormView
from explorer.screens.define.keeper import Keeper
from explorer.screens.define.listview import LineList
from explorer.screens.define.outside import Helper
from explorer.screens.define.planview import PlanView
from explorer.screens.define.tomlarea import TomlArea
from explorer.screens.define.wire import Reply, Request
from sweeps import paths

TYPING_PAUSE_S = 0.3
"""So long after the last key the text is looked at."""


class DefineScreen(PlaceScreen):
    """Left the files, in the middle form or text, right the plan. The text is the truth."""

    PLACE = "define"
    HELP = (
        "A sweep file says which models run on which devices with which options. The form and the text "
        "show the same file: what the form changes is changed in the text, comments stay. On the right "
        "is the plan: every run, what was added as a baseline, and what is refused before a compile is spent."
    )
    PANES = (("files", "Files"), ("form", "Form"), ("text", "Text"), ("plan", "Plan"))
    CSS_PATH = "define.tcss"
    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action(
            "define.start", "Start this sweep", "r", "On its own: it goes on when the app is left.", "run"
        ),
        Action("define.start-run", "Start only the run under the plan's cursor", "R", "With its baselines."),
        Action("define.save", "Save the file", "s", "In one step; asks before it overwrites.", "save"),
        Action("define.save-as", "Save under another name", "S"),
        Action("define.duplicate", "Duplicate this sweep under a new name", "d"),
        Action("define.new", "New sweep", "n"),
        Action("define.open", "Open a file by its path", "o", do="open_path"),
        Action("define.switch", "Form or text", "t", "Two views of one file.", "form/text", do="switch_view"),
        Action("define.edit", "Write in the text", "enter", "esc ends it.", do="edit_text"),
        Action("define.undo", "Undo", "u,ctrl+z", "Also what the form changed.", "undo"),
        Action("define.redo", "Redo", "U,ctrl+y"),
        Action("define.next-fault", "Go to the next fault", "e"),
        Action(
            "define.emulate-npu", "Run the NPU's code path on the CPU", about="For machines without an NPU."
        ),
        Action("define.revert", "Read the file again, dropping changes"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    class Examined(Message):
        """The text's faults are known."""

        def __init__(self, examined: Examined) -> None:
            self.examined = examined
            super().__init__()

    class Answered(Message):
        """The helper process answered a request about `text`."""

        def __init__(self, do: str, text: str, reply: Reply) -> None:
            self.do, self.text, self.reply = do, text, reply
            super().__init__()

    def __init__(self, data: str | None = None) -> None:
        super().__init__()
        self._results = paths.results(data)
        self.keeper = Keeper(self)
        self.examined = Examined("", {})
        self.planned: Reply | None = None
        """The answer with the plan of the text as it stands; None while there is none."""
        self._helper = Helper()
        self.known = Reply()
        self.models: list[Choice] = []
        self._pause: Timer | None = None
        self._editor = FormEditor(self)
        self._starting = False
        self._passing = False
        """The pane that comes next was reached on the way round, not asked for."""

    # What is drawn

    def compose_place(self) -> Iterable[Widget]:
        files_pane = LineList(id="files", classes="pane")
        form_pane = FormView(id="form", classes="pane")
        text_pane = TomlArea(id="text", classes="pane")
        plan_pane = PlanView(id="plan", classes="pane")
        for pane, title in zip((files_pane, form_pane, text_pane, plan_pane), self.PANES, strict=True):
            pane.border_title = title[1]
        yield Horizontal(files_pane, form_pane, text_pane, plan_pane, id="places")
        yield Static("", id="issues", markup=False)

    def on_mount(self) -> None:
        self.set_class(self.kept.get("view") == "text", "-text")
        self.keeper.restore()
        self._find_models(self.document.folder)
        self.query_one("#files").focus()

    @property
    def toml(self) -> TomlArea:
        """The truth."""
        return self.query_one(TomlArea)

    @property
    def content(self) -> dict[str, Any] | None:
        """The text as a document, as it was last examined."""
        return self.examined.content

    @property
    def document(self) -> Document:
        """The file behind the text."""
        return self.keeper.document

    def say_status(self) -> None:
        """The header: file, whether it is changed, how many faults."""
        faults = len(self.examined.issues)
        wrong = f"{faults} fault{'s' if faults != 1 else ''}" if faults else ""
        state = "changed" if self.keeper.modified else ""
        self.status = "  ".join(part for part in (self.document.name, state, wrong) if part)
        self.refresh_bindings()

    # Looking at the text

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self.look_soon(TYPING_PAUSE_S if self.toml.has_focus else 0)
        self.say_status()

    def look_soon(self, pause: float) -> None:
        """Examine the text after a pause in which nothing more is typed."""
        if self._pause is not None:
            self._pause.stop()
        if pause:
            self._pause = self.set_timer(pause, self._look)
        else:
            self._look()

    def _look(self) -> None:
        self._examine(self.toml.text, self.document.folder)

    @work(thread=True, exclusive=True, group="look", exit_on_error=False)
    def _examine(self, text: str, folder: Path) -> None:
        worker = get_current_worker()
        found = examine(text, folder)
        self.post_message(self.Examined(found))
        steps: tuple[Literal["look", "plan"], ...] = ("look",) if found.issues else ("look", "plan")
        for do in steps if found.content is not None else ():
            # A newer text waits for the helper already: do not make it wait longer.
            if not worker.is_cancelled:
                request = Request(do, text, str(folder), str(self._results))
                self.post_message(self.Answered(do, text, self._helper.ask(request)))

    @on(Examined)
    def _show_faults(self, message: Examined) -> None:
        if message.examined.text != self.toml.text:
            return
        self.examined = message.examined
        sign = self.glyphs.states["failed"]
        self.toml.mark(self.examined.lines, sign)
        self._fill_form()
        self.say_status()
        issues = self.examined.issues
        shown = [f"{sign} line {issue.line}: {issue.place} {issue.message}" for issue in issues[:2]]
        more = [f"  and {len(issues) - 2} more (e goes to the next)"] if len(issues) > 2 else []
        line = self.query_one("#issues", Static)
        line.update(Text("\n".join(shown + more), no_wrap=True, overflow="ellipsis"))
        line.display = bool(issues)
        self.planned = None
        plan = self.query_one(PlanView)
        plan.border_subtitle = "" if issues else "checking"
        if issues:
            plan.say("No plan: the file has faults.")
        self.refresh_bindings()

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        reply = message.reply
        if message.do == "models":
            self.models = [Choice(found.written, found.about) for found in reply.models]
        elif message.do == "start":
            self._was_started(reply)
        elif message.text != self.toml.text:
            return
        elif message.do == "look" and not reply.fault:
            self.known = reply
            self._fill_form()
        elif message.do == "plan":
            self.planned = reply
            self.query_one(PlanView).border_subtitle = ""
            self.query_one(PlanView).fill(reply, self.glyphs)
            self.refresh_bindings()

    def _fill_form(self) -> None:
        view = self.query_one(FormView)
        if self.content is None:
            closed = Row("section", (), "The text is not TOML: the form opens again when it is.")
            view.fill([closed], {}, {})
        else:
            view.fill(form.rows(self.content), self.examined.places, self.known.facts)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A job that broke says so where its result would stand; the app goes on."""
        if event.state == WorkerState.ERROR and event.worker.group == "look":
            self.query_one(PlanView).say(f"No plan: {event.worker.error}")
        elif event.state == WorkerState.ERROR:
            self.notify(f"{event.worker.error}", severity="error")

    # Models and devices

    @work(thread=True, exclusive=True, group="models", exit_on_error=False)
    def _find_models(self, folder: Path) -> None:
        reply = self._helper.ask(Request("models", folder=str(folder)))
        self.post_message(self.Answered("models", "", reply))

    # The form's wishes

    @on(FormView.Wish)
    def _wish(self, message: FormView.Wish) -> None:
        row, editor = message.row, self._editor
        if message.verb == "toggle":
            editor.toggle(row)
        elif message.verb == "duplicate":
            editor.duplicate(row)
        elif message.verb == "add":
            self._asking(editor.add(row))
        else:
            self._asking(editor.remove(row, message.chip))

    @on(LineList.Chosen, "#form")
    def _edit(self, message: LineList.Chosen) -> None:
        row = self.query_one(FormView).row
        if row is not None:
            self._asking(self._editor.choose(row))

    # Files

    @on(LineList.Chosen, "#files")
    def _pick(self, message: LineList.Chosen) -> None:
        path = self.keeper.listed[message.index]
        if path is not None:
            self._asking(self.keeper.open(path))

    def _asking(self, questions: Coroutine[Any, Any, Any]) -> None:
        """Run what may open dialogs and wait for them."""
        self.run_worker(questions, group="ask", exit_on_error=False)

    def action_open_path(self) -> None:
        self._asking(self.keeper.open_path())

    def action_new(self) -> None:
        self._asking(self.keeper.new())

    def action_revert(self) -> None:
        self._asking(self.keeper.revert())

    def action_save(self) -> None:
        self._asking(self.keeper.save())

    def action_save_as(self) -> None:
        self._asking(self.keeper.save(anew=True))

    def action_duplicate(self) -> None:
        self._asking(self.keeper.duplicate())

    def action_emulate_npu(self) -> None:
        self._editor.emulate_npu()

    # Keys

    def why_not(self, action: str) -> str:
        if action in ("define.start", "define.start-run"):
            if self._starting:
                return "it is being started"
            if self.examined.issues:
                return "the file has faults"
            if self.planned is None or self.planned.plan is None:
                return "the plan is not ready yet"
            if all(run.refused for run in self.planned.plan.runs):
                return "every run is refused"
            run = self.query_one(PlanView).run
            if action == "define.start-run" and (run is None or run.refused):
                return "no run that can start is under the plan's cursor"
        if action == "define.save" and not self.keeper.modified and self.document.path is not None:
            return "there is nothing to save"
        if action == "define.undo" and not self.toml.history.undo_stack:
            return "nothing was changed"
        if action == "define.redo" and not self.toml.history.redo_stack:
            return "nothing was undone"
        if action == "define.revert" and not self.keeper.modified:
            return "nothing was changed"
        if action == "define.next-fault" and not self.examined.issues:
            return "there is no fault"
        if action == "define.duplicate" and self.content is None:
            return "the text is not TOML"
        if action == "define.emulate-npu" and "NPU" in (self.content or {}).get("devices", {}):
            return "[devices.NPU] has properties already"
        if action == "define.edit" and self.pane != "text":
            return "the text is not the current pane"
        if action == "define.switch" and self.has_class("-wide"):
            return "both are shown"
        return super().why_not(action)

    def action_switch_view(self) -> None:
        self.action_show_pane("form" if self.pane == "text" or self.has_class("-text") else "text")

    def action_next_pane(self, step: int = 1) -> None:
        """As everywhere, but the text is only shown until `enter`: else the next `g` would stand in it."""
        self._passing = True
        super().action_next_pane(step)

    def _focus_in(self, pane: str) -> None:
        passing, self._passing = self._passing, False
        if pane == "text" and passing:
            self.set_focus(None)
            self.notify("enter writes in the text, esc ends it.", timeout=3)
        else:
            super()._focus_in(pane)

    def action_edit_text(self) -> None:
        self.toml.focus()

    def _show(self, pane: str) -> None:
        if pane in ("form", "text"):
            self.set_class(pane == "text", "-text")
        super()._show(pane)

    def action_undo(self) -> None:
        self.toml.undo()

    def action_redo(self) -> None:
        self.toml.redo()

    def action_next_fault(self) -> None:
        """The next fault after the text's cursor, around."""
        row = self.toml.cursor_location[0] + 1
        places = sorted((issue.line or 1, issue.column or 1) for issue in self.examined.issues)
        line, column = next((place for place in places if place[0] > row), places[0])
        self.action_show_pane("text")
        self.toml.move_cursor((line - 1, column - 1))

    def leave_field(self) -> None:
        """`esc` in the text: the keys work again, the same pane stays in sight."""
        self.set_focus(None)

    # Starting

    def action_start(self) -> None:
        self._asking(self._start_asking(()))

    def action_start_run(self) -> None:
        run = self.query_one(PlanView).run
        if run is not None:
            self._asking(self._start_asking((run.id,)))

    async def _start_asking(self, only: tuple[str, ...]) -> None:
        if (self.keeper.modified or self.document.path is None) and not await self.keeper.save():
            self.notify("Not started: a sweep is started from its saved file.")
            return
        if self.document.path is not None:
            self._starting = True
            self.refresh_bindings()
            self.status = f"starting {self.document.name}"
            self._start(self.document.path, only)

    @work(thread=True, group="start", exit_on_error=False)
    def _start(self, file: Path, only: tuple[str, ...]) -> None:
        request = Request("start", results=str(self._results), file=str(file), only=list(only))
        self.post_message(self.Answered("start", "", self._helper.ask(request)))

    def _was_started(self, reply: Reply) -> None:
        self._starting = False
        self.say_status()
        self.refresh_bindings()
        if reply.fault:
            self.notify(f"Not started: {reply.fault}", severity="error", timeout=10)
        else:
            self.post_message(messages.ShowSweep(Path(reply.started)))

    def on_unmount(self) -> None:
        self._helper.close()

    def keep(self) -> None:
        """The file, the view, and what was not saved."""
        self.keeper.remember()
        self.kept["view"] = "text" if self.has_class("-text") else "form"
