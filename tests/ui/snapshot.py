"""Text snapshots: the screen as plain lines, compared with a file that a person can read.

`SNAPSHOT_UPDATE=1 pytest tests/ui` writes the files anew; the diff is then read before it is committed.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

FOLDER = Path(__file__).parent / "snapshots"


def lines_of(app: App[Any]) -> list[str]:
    """What the terminal shows now, row by row, without colours and trailing blanks.

    Private: Textual offers its composed screen only as SVG, in which a diff cannot be read.
    """
    strips = app.screen._compositor.render_strips(app.size)
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def text_of(app: App[Any]) -> str:
    """`lines_of` as one text."""
    return "\n".join(lines_of(app)) + "\n"


def check(app: App[Any], name: str) -> None:
    """Compare the screen with `snapshots/<name>.txt`; a missing file is a failure that says what to do."""
    path = FOLDER / f"{name}.txt"
    found = text_of(app)
    if os.environ.get("SNAPSHOT_UPDATE") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8", newline="\n")
        return
    if not path.is_file():
        pytest.fail(f"no snapshot {path.name}; look at the screen, then run with SNAPSHOT_UPDATE=1:\n{found}")
    expected = path.read_text(encoding="utf-8")
    if found != expected:
        diff = difflib.unified_diff(
            expected.splitlines(), found.splitlines(), "expected", "found", lineterm=""
        )
        pytest.fail("\n".join([f"the screen differs from {path.name}", *diff]))
