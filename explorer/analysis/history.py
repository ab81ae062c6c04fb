"""The stack of views: going on, back and forth, with the place of the cursor in each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from explorer.analysis.view import ViewState

MOST: int = 200
"""Steps back that are kept."""


@dataclass(frozen=True)
class Entry:
    """A view, and where the cursor stood in it."""

    view: ViewState
    row: int = 0
    column: str = ""


@dataclass
class History:
    """A current entry between past and future ones."""

    current: Entry = field(default_factory=lambda: Entry(ViewState()))
    past: list[Entry] = field(default_factory=list)
    future: list[Entry] = field(default_factory=list)

    @property
    def view(self) -> ViewState:
        """The current view."""
        return self.current.view

    def note(self, row: int, column: str) -> None:
        """Remember where the cursor stands in the current view."""
        self.current = replace(self.current, row=row, column=column)

    def push(self, view: ViewState) -> bool:
        """Go on to a view; False when it is the current one already."""
        if view == self.current.view:
            return False
        self.past = [*self.past, self.current][-MOST:]
        self.future = []
        self.current = Entry(view)
        return True

    def amend(self, view: ViewState) -> None:
        """Change the current view without a step of its own (a filter while it is typed)."""
        self.current = replace(self.current, view=view)

    def undo(self) -> bool:
        """Go back; False at the first view."""
        if not self.past:
            return False
        self.future.append(self.current)
        self.current = self.past.pop()
        return True

    def redo(self) -> bool:
        """Go forth again; False at the last view."""
        if not self.future:
            return False
        self.past.append(self.current)
        self.current = self.future.pop()
        return True
