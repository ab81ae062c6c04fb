"""Which class shows which place, imported when the place is first shown."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from textual.screen import Screen

if TYPE_CHECKING:
    from explorer.app import SpecdecApp

MODES: Final = ("define", "watch", "explore")


def _class(place: str, name: str) -> Any:
    return getattr(importlib.import_module(f"explorer.screens.{place}.screen"), name)


def make(place: str, app: SpecdecApp) -> Screen[Any]:
    """A new screen for one of `MODES`."""
    arguments = (app.data, app.sweep) if place == "watch" else (app.data,)
    screen: Screen[Any] = _class(place, f"{place.capitalize()}Screen")(*arguments)
    return screen


def what_if(rows: Sequence[dict[str, Any]]) -> Screen[Any]:
    """A What-if screen on these run rows."""
    screen: Screen[Any] = _class("whatif", "WhatIfScreen")(rows)
    return screen


def forward(screen: Screen[Any], method: str, argument: object) -> None:
    """Call a place's method, if this place has it, once the screen is mounted."""
    found = getattr(screen, method, None)
    if found is not None:
        screen.call_after_refresh(found, argument)
