"""Opening, saving and duplicating the sweep file, with the questions that belong to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from explorer.screens.define import files, filing
from explorer.screens.define.dialogs import Ask, Confirm
from explorer.screens.define.filing import Document
from explorer.screens.define.listview import Line, LineList
from explorer.screens.define.textedit import set_value
from sweeps import paths
from sweeps.spec.errors import SpecError

if TYPE_CHECKING:
    from explorer.screens.define.screen import DefineScreen


class Keeper:
    """Holds the document of the screen's text; coroutines are run by the screen's workers."""

    def __init__(self, screen: DefineScreen) -> None:
        self._screen = screen
        self.document = Document(None, "")
        self.listed: list[Path | None] = []
        """The file of each line of the list on the left."""

    @property
    def modified(self) -> bool:
        """Whether the text differs from the file."""
        return self._screen.toml.text != self.document.saved

    def restore(self) -> None:
        """What the last session left: the file, and a text that was not saved."""
        kept = self._screen.kept
        draft = kept.get("draft")
        text = draft if isinstance(draft, str) else None
        path = kept.get("file", str(paths.presets() / "demo.toml"))
        try:
            document = filing.read(Path(str(path))) if path else Document(None, "")
        except SpecError as error:
            document = Document(None, "")
            self._screen.notify(str(error), severity="warning")
        if document.path is None and text is None:
            text = files.TEMPLATE.format(name="my-sweep")
        self.show(document, text)

    def remember(self) -> None:
        """Write into the session what `restore` reads."""
        kept = self._screen.kept
        kept["file"] = str(self.document.path) if self.document.path else ""
        kept["draft"] = self._screen.toml.text if self.modified else None

    def show(self, document: Document, draft: str | None = None) -> None:
        """Put a document on the screen."""
        self.document = document
        self._screen.toml.load_text(document.saved if draft is None else draft)
        self._list()
        self._screen.look_soon(0)

    @property
    def _recent(self) -> list[str]:
        found = self._screen.kept.get("recent")
        return [str(name) for name in found] if isinstance(found, list) else []

    def _list(self) -> None:
        """Fill the list on the left."""
        path = self.document.path
        if path is not None and not self.document.preset:
            self._screen.kept["recent"] = files.remember(self._recent, path)
        lines: list[Line] = []
        self.listed = []
        cursor = None
        for title, found in files.sections(self._recent):
            lines.append((Text(title, Style(bold=True, underline=True)), False))
            self.listed += [None, *found] if found else [None, None]
            if not found:
                lines.append((Text("  none", Style(dim=True)), False))
            for file in found:
                here = file == path
                cursor = len(lines) if here else cursor
                mark = self._screen.glyphs.cursor if here else " "
                lines.append((Text(f"{mark} {file.stem}", Style(bold=here)), True))
        self._screen.query_one("#files", LineList).show(lines, cursor)

    async def _sure(self, question: str) -> bool:
        answer: bool | None = await self._screen.app.push_screen_wait(Confirm(question))
        return bool(answer)

    async def _may_drop(self) -> bool:
        question = f"{self.document.name} has changes that are not saved. Drop them?"
        return not self.modified or await self._sure(question)

    async def open(self, path: Path) -> None:
        """Open a file; asks before changes are dropped."""
        if not await self._may_drop():
            return
        try:
            self.show(filing.read(path))
        except SpecError as error:
            self._screen.notify(str(error), severity="error")

    async def open_path(self) -> None:
        """Ask for a path and open it."""
        typed = await self._screen.app.push_screen_wait(Ask("Open a sweep file", "", "Path of a .toml file."))
        if typed:
            await self.open(Path(typed.strip()).expanduser().absolute())

    async def revert(self) -> None:
        """The file as it is on disk."""
        if self.document.path is not None:
            await self.open(self.document.path)

    async def new(self) -> None:
        """A sweep from the template, not saved yet."""
        if not await self._may_drop():
            return
        name = await self._screen.app.push_screen_wait(Ask("New sweep", "my-sweep", "Its name."))
        if name:
            template = files.TEMPLATE.format(name="my-sweep")
            self.show(Document(None, ""), set_value(template, ("name",), name).apply(template))

    async def save(self, anew: bool = False) -> bool:
        """Save where the file belongs, or ask for a name; returns whether it was written."""
        path = self.document.path
        text = self._screen.toml.text
        if path is None or self.document.preset or anew:
            chosen = await self._ask_path(
                "Save as", str((self._screen.content or {}).get("name") or "my-sweep")
            )
            return chosen is not None and self._write(chosen, text)
        question = f"{path} was changed by another program since it was opened. Overwrite it?"
        if self.document.changed_on_disk() and not await self._sure(question):
            return False
        return self._write(path, text)

    async def duplicate(self) -> None:
        """The text as a sweep of another name, in a file of that name; it is then the one that is edited."""
        name = str((self._screen.content or {}).get("name") or "sweep")
        path = await self._ask_path("Duplicate as", f"{name}-copy")
        if path is not None:
            text = self._screen.toml.text
            self._write(path, set_value(text, ("name",), path.stem).apply(text))

    async def _ask_path(self, title: str, proposed: str) -> Path | None:
        """A path that may be written: not a preset, and if it exists the person said so."""
        beside = self.document.path
        hint = f"A name (goes to {files.target_of('x', beside).parent}) or a path."
        typed = await self._screen.app.push_screen_wait(
            Ask(title, proposed, hint, (), lambda name: files.target_of(name, beside))
        )
        if typed is None:
            return None
        path = files.target_of(typed, beside)
        if path.exists() and not await self._sure(f"{path} exists. Overwrite it?"):
            return None
        return path

    def _write(self, path: Path, text: str) -> bool:
        try:
            document = filing.write(self.document, path, text)
        except OSError as error:
            self._screen.notify(f"{path}: not saved ({error.strerror or error})", severity="error")
            return False
        if document.path == self.document.path and self._screen.toml.text == text:
            self.document = document  # The text, its undo and its plan stay.
            self._screen.say_status()
        else:
            self.show(document)
        self._screen.notify(f"Saved {path}")
        return True
