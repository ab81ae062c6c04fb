"""Opens the app: everything that must be settled before Textual is imported."""

from __future__ import annotations

import os
import sys
from typing import Literal

Place = Literal["define", "watch", "explore"]


def open_app(
    data: str | None = None,
    ascii_only: bool = False,
    mouse: bool = True,
    place: Place | None = None,
    sweep: str | None = None,
) -> int:
    """Run the app until it is left; returns the exit code.

    Args:
        data: Folder of results; None: the default one.
        ascii_only: Draw with ASCII characters only; so does a terminal whose encoding has no others.
        mouse: Ask the terminal for mouse reports. Without them a moving mouse costs no bytes.
        place: Where to open; None: where the last session was left.
        sweep: The sweep (name or results folder) that Watch attaches to; None: the newest.

    Raises:
        Problem: There is no terminal.
    """
    # Textual reads from standard input and draws on standard error.
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        from explorer.cli.errors import Problem

        raise Problem(
            "the app needs a terminal on standard input, output and error; without one use "
            "`specdec table`, `specdec watch --headless` or `specdec run --headless`"
        )
    # Textual reads both when it is imported. 20 frames a second are enough for key echo over SSH.
    os.environ.setdefault("TEXTUAL_FPS", "20")
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    from explorer.app import SpecdecApp

    ascii_only = ascii_only or not _draws(sys.stderr.encoding)
    app = SpecdecApp(data=data, ascii_only=ascii_only, place=place, sweep=sweep)
    app.run(mouse=mouse)
    return app.return_code or 0


def _draws(encoding: str | None) -> bool:
    """Whether the characters that are drawn with exist in an encoding."""
    try:
        "█✓▸⣀…".encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
