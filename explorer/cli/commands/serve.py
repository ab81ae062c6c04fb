"""`specdec serve`."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import click

from explorer.cli.errors import Problem
from explorer.cli.options import data_dir, data_option

HOST = "127.0.0.1"
"""Loopback only: whoever reaches the page can start processes here."""


@click.command(name="serve")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@data_option
@click.pass_context
def command(ctx: click.Context, port: int, data: str | None) -> None:
    """The same app in a browser, for this machine only (use `ssh -L` to reach it from another).

    Each visit is a process of its own; a running sweep belongs to none of them.
    """
    if find_spec("textual_serve") is None:
        raise Problem('serving needs an extra: pip install "specdec-explorer[serve]"')
    from textual_serve.server import Server

    words = [sys.executable, "-m", "explorer"]
    directory = data_dir(ctx, data)
    if directory:
        words += ["--data", directory]
    line = subprocess.list2cmdline(words) if sys.platform == "win32" else _quoted(words)
    click.echo(f"http://{HOST}:{port} (ctrl+c ends it)", err=True)
    Server(line, host=HOST, port=port, title="specdec").serve()


def _quoted(words: list[str]) -> str:
    import shlex

    return shlex.join(words)
