"""Which class shows which place, imported when the place is first shown."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from textual.screen import Screen

from explorer.screens.base import PendingPlace

if TYPE_CHECKING:
    from explorer.app import SpecdecApp

MODES: Final = ("define", "watch", "explore")


def _class(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(f"explorer.screens.{module}.screen"), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("explorer.screens"):
            raise
        return None


def make(place: str, app: SpecdecApp) -> Screen[Any]:
    """A new screen for one of `MODES`."""
    found = _class(place, f"{place.capitalize()}Screen")
    arguments = (app.data, app.sweep) if place == "watch" else (app.data,)
    screen: Screen[Any] = found(*arguments) if found else PendingPlace(place, "not part of this build yet")
    return screen


def what_if(rows: Sequence[dict[str, Any]]) -> Screen[Any]:
    """A What-if screen on these run rows."""
    found = _class("whatif", "WhatIfScreen")
    screen: Screen[Any] = found(rows) if found else PendingPlace("whatif", "not part of this build yet")
    return screen


def forward(screen: Screen[Any], method: str, argument: object) -> None:
    """Call a place's method, if this place has it, once the screen is mounted."""
    found = getattr(screen, method, None)
    if found is not None:
        screen.call_after_refresh(found, argument)
