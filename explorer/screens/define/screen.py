"""Define: a sweep as a form and as text, its faults at their lines, and the plan that it makes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.style import Style
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
from explorer.screens.define import files, filing, form
from explorer.screens.define.dialogs import Ask, Choice, Confirm
from explorer.screens.define.editing import FormEditor
from explorer.screens.define.examine import Examined, examine
from explorer.screens.define.filing import Document
from explorer.screens.define.form import Row
from explorer.screens.define.formview import FormView
from explorer.screens.define.listview import Line, LineList
from explorer.screens.define.outside import Helper
from explorer.screens.define.planview import PlanView
from explorer.screens.define.textedit import set_value
from explorer.screens.define.tomlarea import TomlArea
from explorer.screens.define.wire import Reply, Request
from sweeps import paths
from sweeps.spec.errors import SpecError

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
        Action("define.undo", "Undo", "u,ctrl+z", "Also what the form changed.", "undo"),
        Action("define.redo", "Redo", "U,ctrl+y"),
        Action("define.next-fault", "Go to the next fault", "e"),
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
        self.document = Document(None, "")
        self.examined = Examined("", {})
        self.planned: Reply | None = None
        """The answer with the plan of the text as it stands; None while there is none."""
        self._helper = Helper()
        self._known = Reply()
        self._models: list[Choice] = []
        self._listed: list[Path | None] = []
        self._pause: Timer | None = None
        self._editor = FormEditor(self)
        self._starting = False

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
        kept = self.kept
        path = Path(str(kept.get("file") or paths.presets() / "demo.toml"))
        draft = kept.get("draft")
        self.set_class(kept.get("view") == "text", "-text")
        try:
            self._open(filing.read(path), draft if isinstance(draft, str) else None)
        except SpecError as error:
            fresh = Document(None, "")
            self._open(fresh, draft if isinstance(draft, str) else files.TEMPLATE.format(name="my-sweep"))
            if kept.get("file"):
                self.notify(str(error), severity="warning")
        self._find_models(self.document.folder)
        self.query_one("#files").focus()

    def _open(self, document: Document, draft: str | None = None) -> None:
        self.document = document
        self.toml.load_text(document.saved if draft is None else draft)
        if document.path is not None and not document.preset:
            self.kept["recent"] = files.remember(self._recent, document.path)
        self._list_files()
        self._look_soon(0)

    @property
    def _recent(self) -> list[str]:
        found = self.kept.get("recent")
        return [str(name) for name in found] if isinstance(found, list) else []

    def _list_files(self) -> None:
        lines: list[Line] = []
        self._listed = []
        cursor = None
        for title, found in files.sections(self._recent):
            lines.append((Text(title, Style(bold=True, underline=True)), False))
            self._listed.append(None)
            for path in found:
                here = path == self.document.path
                cursor = len(lines) if here else cursor
                mark = self.glyphs.cursor if here else " "
                lines.append((Text(f"{mark} {path.stem}", Style(bold=here)), True))
                self._listed.append(path)
            if not found:
                lines.append((Text("  none", Style(dim=True)), False))
                self._listed.append(None)
        self.query_one("#files", LineList).show(lines, cursor)

    @property
    def toml(self) -> TomlArea:
        """The truth."""
        return self.query_one(TomlArea)

    @property
    def content(self) -> dict[str, Any] | None:
        """The text as a document, as it was last examined."""
        return self.examined.content

    @property
    def modified(self) -> bool:
        """Whether the text differs from the file."""
        return self.toml.text != self.document.saved

    def _say_status(self) -> None:
        state = "changed" if self.modified else ""
        faults = len(self.examined.issues)
        wrong = f"{faults} fault{'s' if faults != 1 else ''}" if faults else ""
        self.status = "  ".join(part for part in (self.document.name, state, wrong) if part)

    # Looking at the text

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._look_soon(TYPING_PAUSE_S if self.toml.has_focus else 0)
        self._say_status()

    def _look_soon(self, pause: float) -> None:
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
        self._say_status()
        issues = self.examined.issues
        shown = [f"{sign} line {issue.line}: {issue.place} {issue.message}" for issue in issues[:2]]
        more = [f"  and {len(issues) - 2} more (e goes to the next)"] if len(issues) > 2 else []
        line = self.query_one("#issues", Static)
        line.update(Text("\n".join(shown + more), no_wrap=True, overflow="ellipsis"))
        line.display = bool(issues)
        self.planned = None
        if issues:
            self.query_one(PlanView).say("No plan: the file has faults.")
        else:
            self.query_one(PlanView).border_subtitle = "checking"
        self.refresh_bindings()

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        reply = message.reply
        if message.do == "models":
            self._models = [Choice(found.written, found.about) for found in reply.models]
        elif message.do == "start":
            self._was_started(reply)
        elif message.text != self.toml.text:
            return
        elif message.do == "look" and not reply.fault:
            self._known = reply
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
            view.fill(form.rows(self.content), self.examined.places, self._known.facts)

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

    def model_choices(self) -> list[Choice]:
        """Folders that can be picked, with their facts."""
        return self._models

    def about_model(self, name: str, row: Row) -> str:
        """Facts of a model of this file; on a draft's axis also whether it is a pair with the target."""
        about = self._known.facts.get(name, "")
        if row.label != "draft" or self.content is None or len(row.path) < 2:
            return about
        targets = self.content["grid"][row.path[1]].get("target", "")
        target = str(targets[0] if isinstance(targets, list) and targets else targets)
        pair = self._known.pairs.get(target, {}).get(name, "")
        return f"{pair}; {about}" if pair else about

    @property
    def npu_is_missing(self) -> bool:
        """Whether the machine is known to have no NPU."""
        return bool(self._known.devices) and "NPU" not in self._known.devices

    def device_choices(self) -> list[Choice]:
        """The machine's devices, and the emulated NPU where there is none."""
        found = [Choice(name, "on this machine") for name in self._known.devices or ("CPU",)]
        if self.npu_is_missing:
            found.append(Choice("NPU", "emulated: the NPU code path computing on the CPU"))
        return found

    # The form's wishes

    @on(FormView.Wish)
    def _wish(self, message: FormView.Wish) -> None:
        row, editor = message.row, self._editor
        if message.verb == "toggle":
            editor.toggle(row)
        elif message.verb == "duplicate":
            editor.duplicate(row)
        elif message.verb == "add":
            self.run_worker(editor.add(row), group="ask", exit_on_error=False)
        else:
            self.run_worker(editor.remove(row, message.chip), group="ask", exit_on_error=False)

    @on(LineList.Chosen, "#form")
    def _edit(self, message: LineList.Chosen) -> None:
        row = self.query_one(FormView).row
        if row is not None:
            self.run_worker(self._editor.choose(row), group="ask", exit_on_error=False)

    # Files

    @on(LineList.Chosen, "#files")
    def _pick(self, message: LineList.Chosen) -> None:
        path = self._listed[message.index]
        if path is not None:
            self.run_worker(self._open_asking(path), group="ask", exit_on_error=False)

    async def _may_drop(self) -> bool:
        if not self.modified:
            return True
        question = f"{self.document.name} has changes that are not saved. Drop them?"
        return await self._sure(question)

    async def _sure(self, question: str) -> bool:
        answer: bool | None = await self.app.push_screen_wait(Confirm(question))
        return bool(answer)

    async def _open_asking(self, path: Path) -> None:
        if not await self._may_drop():
            return
        try:
            self._open(filing.read(path))
        except SpecError as error:
            self.notify(str(error), severity="error")

    @work(group="ask", exit_on_error=False)
    async def action_open_path(self) -> None:
        typed = await self.app.push_screen_wait(Ask("Open a sweep file", "", "Path of a .toml file."))
        if typed:
            await self._open_asking(Path(typed.strip()).expanduser().absolute())

    @work(group="ask", exit_on_error=False)
    async def action_new(self) -> None:
        if not await self._may_drop():
            return
        name = await self.app.push_screen_wait(Ask("New sweep", "my-sweep", "Its name."))
        if name:
            template = files.TEMPLATE.format(name="my-sweep")
            self._open(Document(None, ""), set_value(template, ("name",), name).apply(template))

    @work(group="ask", exit_on_error=False)
    async def action_revert(self) -> None:
        if self.document.path is not None:
            await self._open_asking(self.document.path)

    @work(group="ask", exit_on_error=False)
    async def action_save(self) -> None:
        await self._save()

    @work(group="ask", exit_on_error=False)
    async def action_save_as(self) -> None:
        await self._save(anew=True)

    async def _save(self, anew: bool = False) -> bool:
        """Save where the file belongs, or ask for a name; returns whether it was written."""
        path = self.document.path
        if path is None or self.document.preset or anew:
            return await self._write_to(self.toml.text, "Save as")
        question = f"{path} was changed by another program since it was opened. Overwrite it?"
        if self.document.changed_on_disk() and not await self._sure(question):
            return False
        return self._write(path, self.toml.text)

    async def _write_to(self, text: str, title: str) -> bool:
        beside = self.document.path
        proposed = str((self.content or {}).get("name") or "my-sweep")
        hint = f"A name (goes to {files.target_of('x', beside).parent}) or a path."
        typed = await self.app.push_screen_wait(
            Ask(title, proposed, hint, (), lambda name: files.target_of(name, beside))
        )
        if typed is None:
            return False
        path = files.target_of(typed, beside)
        if files.is_preset(path):
            self.notify("Presets are not written; choose another folder.", severity="error")
            return False
        if path.exists() and not await self._sure(f"{path} exists. Overwrite it?"):
            return False
        return self._write(path, text)

    def _write(self, path: Path, text: str) -> bool:
        try:
            document = filing.write(self.document, path, text)
        except OSError as error:
            self.notify(f"{path}: not saved ({error.strerror or error})", severity="error")
            return False
        moved = document.path != self.document.path
        self.document = document
        if self.toml.text != text:
            self.toml.load_text(text)
        self.kept["recent"] = files.remember(self._recent, path)
        self._list_files()
        self._say_status()
        self.notify(f"Saved {path}")
        if moved:
            self._look_soon(0)
        self.refresh_bindings()
        return True

    @work(group="ask", exit_on_error=False)
    async def action_duplicate(self) -> None:
        if self.content is None:
            return
        name = f"{self.content.get('name', 'sweep')}-copy"
        text = set_value(self.toml.text, ("name",), name).apply(self.toml.text)
        self.examined = Examined(text, {**self.content, "name": name})
        await self._write_to(text, "Duplicate as")
        self._look_soon(0)

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
        if action == "define.save" and not self.modified and self.document.path is not None:
            return "there is nothing to save"
        if action == "define.revert" and not self.modified:
            return "nothing was changed"
        if action == "define.next-fault" and not self.examined.issues:
            return "there is no fault"
        if action == "define.duplicate" and self.content is None:
            return "the text is not TOML"
        if action == "define.switch" and self.has_class("-wide"):
            return "both are shown"
        return super().why_not(action)

    def action_switch_view(self) -> None:
        self.action_show_pane("form" if self.pane == "text" or self.has_class("-text") else "text")

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
        self.run_worker(self._start_asking(()), group="ask", exit_on_error=False)

    def action_start_run(self) -> None:
        run = self.query_one(PlanView).run
        if run is not None:
            self.run_worker(self._start_asking((run.id,)), group="ask", exit_on_error=False)

    async def _start_asking(self, only: tuple[str, ...]) -> None:
        if (self.modified or self.document.path is None) and not await self._save():
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
        self._say_status()
        self.refresh_bindings()
        if reply.fault:
            self.notify(f"Not started: {reply.fault}", severity="error", timeout=10)
        else:
            self.post_message(messages.ShowSweep(Path(reply.started)))

    def on_unmount(self) -> None:
        self._helper.close()

    def keep(self) -> None:
        """The file, the view, and what was not saved."""
        self.kept["file"] = str(self.document.path) if self.document.path else ""
        self.kept["draft"] = self.toml.text if self.modified else None
        self.kept["view"] = "text" if self.has_class("-text") else "form"
