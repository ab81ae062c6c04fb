"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from explorer.cli.errors import Problem

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("text", "json", "jsonl", "csv", "md")


def data_option(function: F) -> F:
    """`--data DIR`, also accepted after the command's name."""
    return click.option("--data", metavar="DIR", help="Folder of results.")(function)


def format_option(function: F) -> F:
    """`--format`: data goes to stdout in it, talk to stderr."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="Output format.",
    )(function)


def data_dir(ctx: click.Context, data: str | None, *, must_exist: bool = False) -> str | None:
    """The command's own --data, or the one given before the command's name.

    Raises Problem for an empty name and, with `must_exist`, for a folder that is not there: a command that
    only reads would answer with nothing, or with published rows, where a name is mistyped.
    """
    root = ctx.find_root()
    given = data if data is not None else (root.params.get("data") if root is not ctx else None)
    if given is None:
        return None
    folder = str(given)
    if not folder.strip():
        raise Problem("--data is empty; give a folder, or leave it away for the usual one")
    if must_exist and not Path(folder).expanduser().is_dir():
        raise Problem(f"--data {folder}: no such folder")
    return folder
