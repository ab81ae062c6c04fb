"""A text's faults, found in a few milliseconds: no model is opened, no native code runs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.spec.errors import SpecIssue
from sweeps.spec.load import check_text


@dataclass(frozen=True)
class Examined:
    """A text as it was looked at."""

    text: str
    content: dict[str, Any] | None
    """The document; None while the text is no TOML."""
    issues: tuple[SpecIssue, ...] = ()

    @property
    def lines(self) -> dict[int, str]:
        """First fault of each line (from 1)."""
        found: dict[int, str] = {}
        for issue in self.issues:
            found.setdefault(issue.line or 1, issue.message)
        return found

    @property
    def places(self) -> dict[str, str]:
        """Fault by place (`grid[0].draft`)."""
        return {issue.place: issue.message for issue in reversed(self.issues)}


def examine(text: str, folder: Path | None) -> Examined:
    """All faults of a text."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError):
        content = None
    return Examined(text, content, tuple(check_text(text, folder, models=True)))
