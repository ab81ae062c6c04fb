"""A view: everything that says what the table shows, as one immutable value. Undo is keeping the old one.

Also the named views that are kept as JSON.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

Level = Literal["runs", "reps", "rounds"]
ViewKind = Literal["table", "freq", "pivot", "describe"]
How = Literal["median", "mean", "gmean", "min", "max", "sd", "sum", "count"]
"""Aggregates, by their names on the command line."""

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
HOWS: Final[tuple[How, ...]] = get_args(How)
VERSION: Final = 1


@dataclass(frozen=True)
class Sort:
    """One sort column."""

    column: str
    descending: bool = False


@dataclass(frozen=True)
class Aggregate:
    """One aggregated column of a frequency table or pivot."""

    column: str
    how: How = "median"

    @property
    def name(self) -> str:
        """`median tok_s`: also the name of the column that it makes."""
        return f"{self.how} {self.column}"


@dataclass(frozen=True)
class ViewState:
    """What is shown. Columns may be named that a frame lacks: they are ignored."""

    level: Level = "runs"
    kind: ViewKind = "table"
    name: str = ""
    """Name under which it is kept."""
    filter: str = ""
    """What the person typed, in the filter language."""
    within: tuple[str, ...] = ()
    """Conditions (SQL) from drilling down; all must hold besides the filter."""
    sorts: tuple[Sort, ...] = ()
    hidden: tuple[str, ...] | None = None
    """None: what the level hides by default."""
    order: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """Columns that stay at the left; also the rows of a pivot."""
    by: str = ""
    """Column that a frequency table counts."""
    across: str = ""
    """Column whose values are the columns of a pivot."""
    aggregates: tuple[Aggregate, ...] = ()
    """Extra columns of a frequency table; the first is the value of a pivot."""

    def sorted_by(self, column: str, descending: bool, also: bool = False) -> ViewState:
        """Sort by a column; the same sort again takes it away. `also` keeps the other sorts."""
        sort = Sort(column, descending)
        others = tuple(other for other in self.sorts if other.column != column) if also else ()
        return replace(self, sorts=others if sort in self.sorts else (*others, sort))

    def hiding(self, column: str, defaults: Iterable[str]) -> ViewState:
        """Hide one more column; `defaults` is what the level hides by itself."""
        hidden = tuple(defaults) if self.hidden is None else self.hidden
        keys = tuple(key for key in self.keys if key != column)
        return replace(self, hidden=(*(name for name in hidden if name != column), column), keys=keys)

    def toggling_key(self, column: str) -> ViewState:
        """Make a column a key column, or an ordinary one again."""
        if column in self.keys:
            return replace(self, keys=tuple(key for key in self.keys if key != column))
        return replace(self, keys=(*self.keys, column))

    def toggling_aggregate(self, aggregate: Aggregate) -> ViewState:
        """Add an aggregate, or take it away."""
        if aggregate in self.aggregates:
            return replace(self, aggregates=tuple(each for each in self.aggregates if each != aggregate))
        return replace(self, aggregates=(*self.aggregates, aggregate))

    def inside(self, condition: str) -> ViewState:
        """The rows of this view that meet one more condition, as a plain table of their own."""
        within = self.within if condition in self.within else (*self.within, condition)
        return ViewState(self.level, "table", filter=self.filter, within=within, aggregates=self.aggregates)

    def derived(self, kind: ViewKind, **parameters: Any) -> ViewState:
        """A frequency table, pivot or description of the rows of this view."""
        return ViewState(
            self.level, kind, filter=self.filter, within=self.within, aggregates=self.aggregates, **parameters
        )

    @property
    def title(self) -> str:
        """A few words that name the view."""
        words = {
            "table": self.level,
            "freq": f"{self.level} by {self.by}",
            "pivot": f"{self.level}: {', '.join(self.keys)} x {self.across}",
            "describe": f"columns of {self.level}",
        }[self.kind]
        return f"{self.name}: {words}" if self.name else words

    @property
    def trail(self) -> str:
        """Where the rows come from: the conditions of drilling down; empty for all rows."""
        return " and ".join(self.within)


class ViewError(ValueError):
    """A view cannot be read or shown; the message is one line for a person."""


def to_json(view: ViewState) -> dict[str, Any]:
    """Plain values; only what differs from an empty view."""
    default = ViewState()
    fields = dataclasses.asdict(view)
    return {name: value for name, value in fields.items() if value != getattr(default, name)}


def from_json(value: object) -> ViewState:
    """The inverse of `to_json`.

    Raises:
        ViewError: not a view.
    """
    if not isinstance(value, Mapping):
        raise ViewError("a view is an object")
    known = {field.name for field in dataclasses.fields(ViewState)}
    for name in value:
        if name not in known:
            raise ViewError(f"a view has no part called {name}")
    found = dict(value)
    try:
        for name in ("within", "order", "keys"):
            if name in found:
                found[name] = _strings(found[name], name)
        if found.get("hidden") is not None:
            found["hidden"] = _strings(found["hidden"], "hidden")
        found["sorts"] = tuple(
            Sort(str(sort["column"]), bool(sort.get("descending"))) for sort in found.get("sorts", ())
        )
        found["aggregates"] = tuple(
            Aggregate(str(each["column"]), each.get("how", "median")) for each in found.get("aggregates", ())
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise ViewError(f"a part of the view is malformed: {error}") from error
    view = ViewState(**found)
    if view.level not in LEVELS or view.kind not in get_args(ViewKind):
        raise ViewError(f"no such view: {view.kind} of {view.level}")
    for text in (view.name, view.filter, view.by, view.across):
        if not isinstance(text, str):
            raise ViewError("names and filters are texts")
    if any(each.how not in HOWS for each in view.aggregates):
        raise ViewError(f"an aggregate is one of {', '.join(HOWS)}")
    return view


def _strings(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ViewError(f"{name} is a list of texts")
    return tuple(value)


def load_views(path: Path) -> dict[str, ViewState]:
    """Named views of a file; no file, or one that is not ours, holds none.

    Raises:
        ViewError: the file holds something else; it says what and where.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ViewError(f"{path}: {error}") from error
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise ViewError(f"{path}: not a file of views of version {VERSION}")
    found = content.get("views", {})
    if not isinstance(found, dict):
        raise ViewError(f"{path}: views is an object, name by name")
    views = {}
    for name, value in found.items():
        try:
            views[name] = replace(from_json(value), name=name)
        except ViewError as error:
            raise ViewError(f"{path}: view {name}: {error}") from error
    return views


def save_views(path: Path, views: Mapping[str, ViewState]) -> None:
    """Write named views, in one step."""
    from sweeps import atomic

    content = {"version": VERSION, "views": {name: to_json(view) for name, view in sorted(views.items())}}
    atomic.write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
