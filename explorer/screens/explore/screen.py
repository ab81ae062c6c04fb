"""The Explore screen: its keys, and why one of them cannot be used just now."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from explorer.actions import Action, bindings
from explorer.screens.explore.actions import ACTIONS
from explorer.screens.explore.outputs import Outputs


class ExploreScreen(Outputs):
    """All measurements in one table.

    Args:
        data: Folder of results; None: the default one.
    """

    HELP: ClassVar[str] = (
        "All measurements in one table: runs, then their reps, then their rounds (tab). Filter with /, "
        "summarise with F (frequency), W (pivot over ! key columns) or I (describe); enter opens the rows "
        "behind a cell, z goes back. Mark rows with space to compare (c), chart (g) or take them to the cost "
        "model (w)."
    )
    ACTIONS: ClassVar[tuple[Action, ...]] = ACTIONS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    @classmethod
    def actions(cls) -> tuple[Action, ...]:
        """Without the keys that go from pane to pane: there is one, and `g` draws charts."""
        return tuple(action for action in super().actions() if not action.id.endswith("-pane"))

    NEEDS_TABLE: ClassVar[frozenset[str]] = frozenset({"frequency", "pivot", "describe", "only-marked"})
    NEEDS_CELL: ClassVar[frozenset[str]] = frozenset(
        {
            "sort-up",
            "sort-down",
            "sort-also",
            "hide",
            "move-left",
            "move-right",
            "equal",
            "open",
            "mark",
            "cell",
            "copy",
        }
    )

    def why_not(self, action: str) -> str:
        """Why an action cannot be used now."""
        place, _, verb = action.partition(".")
        if place != "explore":
            return super().why_not(action)
        if self.shown is None:
            return "" if verb in ("filter", "level", "level-back", "reload") else "the results are being read"
        if verb in self.NEEDS_TABLE and self.view.kind != "table":
            return "this is a summary already: enter opens its rows, z goes back"
        if verb in self.NEEDS_CELL and not (self.table.model.height and self.column):
            return "there is no row"
        return self._marks_or_steps(verb)

    def _marks_or_steps(self, verb: str) -> str:
        if verb == "undo" and not self.history.past:
            return "this is the first view"
        if verb == "redo" and not self.history.future:
            return "this is the last view"
        marked = len(self.marks.get(self.view.level, ()))
        if verb in ("unmark", "only-marked") and not marked:
            return "no row is marked (space)"
        if verb == "compare" and marked < 2:
            return "mark two rows first (space)"
        if verb == "pivot" and not [key for key in self.view.keys if key != self.column]:
            return "make another column a key column first (!): its values become the rows"
        if verb == "views" and not self.kept_views():
            return "no view is kept yet (K)"
        return ""
