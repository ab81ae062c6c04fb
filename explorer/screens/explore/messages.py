"""What the loader tells the screen."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
from textual.message import Message

from explorer.analysis.view import Level


@dataclass
class Loaded(Message):
    """All rows of a level were read."""

    level: Level
    frame: pl.DataFrame


@dataclass
class LoadFailed(Message):
    """They could not be read."""

    level: Level
    reason: str
