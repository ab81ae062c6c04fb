"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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


def data_dir(ctx: click.Context, data: str | None) -> str | None:
    """The command's own --data, or the one given before the command's name."""
    root = ctx.find_root()
    given = data or (root.params.get("data") if root is not ctx else None)
    return str(given) if given else None
