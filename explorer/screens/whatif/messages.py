"""What the threads of What-if tell its screens."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from explorer.screens.whatif.missed import Validation
from explorer.screens.whatif.scenario import Scenario
from explorer.screens.whatif.workbench import Workbench
from sweeps.costmodel.cases import Case


@dataclass
class Opened(Message):
    """The rows are read; where to start, and a remark on it."""

    bench: Workbench
    case: Case
    rows: list[Case]
    remark: str


@dataclass
class Prepared(Message):
    """A scenario is ready; `asked` counts the requests, and an old one's answer is dropped."""

    scenario: Scenario
    asked: int


@dataclass
class Failed(Message):
    """Something could not be done; says what."""

    reason: str


@dataclass
class Validated(Message):
    """All rows were predicted from others."""

    found: Validation
    asked: int
