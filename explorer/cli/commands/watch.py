"""`specdec watch [SWEEP]`."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from explorer.cli.errors import Problem
from explorer.cli.options import data_dir, data_option
from sweeps.supervise.folder import JOURNAL, SweepFolder

POLL_S = 0.25


@click.command(name="watch")
@click.argument("sweep", required=False)
@click.option("--headless", is_flag=True, help="Follow as plain text instead of opening the app.")
@data_option
@click.pass_context
def command(ctx: click.Context, sweep: str | None, headless: bool, data: str | None) -> None:
    """Attach to a sweep (the newest, or SWEEP), running or finished. Leaving does not stop it."""
    from explorer.cli.running import has_terminal
    from sweeps.paths import results
    from sweeps.supervise.folder import find_folders

    where = results(data_dir(ctx, data, must_exist=True))
    if sweep is not None and (Path(sweep) / JOURNAL).is_file():
        # The path of a results folder says both.
        where, sweep = Path(sweep).absolute().parent, Path(sweep).absolute().name
    found = find_folders(where, sweep)
    if not found:
        names = ", ".join(folder.name for folder in find_folders(where)[:5])
        there = f"there are {names}" if names else "`specdec demo` makes some"
        raise Problem(f"no results{f' of {sweep}' if sweep else ''} in {where}; {there}", 1)
    if not headless and has_terminal():
        from explorer.launch import open_app

        root = ctx.find_root().params
        ctx.exit(
            open_app(
                data=str(where),
                ascii_only=bool(root.get("ascii_only")),
                mouse=not root.get("no_mouse"),
                place="watch",
                sweep=found[0].name,
            )
        )
    ctx.exit(follow(found[0]))


def follow(folder: SweepFolder) -> int:
    """Print what happens until the sweep ends; Ctrl-C leaves it running. Returns the exit code."""
    from explorer.cli.progress import ProgressLine
    from explorer.cli.running import print_results
    from sweeps.events.journal import JournalReader
    from sweeps.supervise.prepare import read_plan
    from sweeps.supervise.state import standing

    try:
        progress = ProgressLine(read_plan(folder))
    except (OSError, msgspec.DecodeError):
        raise Problem(f"{folder.plan}: missing or broken, so there is nothing to count by", 1) from None
    reader = JournalReader(folder.journal)
    try:
        while True:
            events = reader.poll()
            for event in events:
                progress.event(event)
            if events:
                continue
            now = standing(folder)
            if not now.live:
                click.echo(f"{folder.name}: {now.word} ({now.evidence})", err=True)
                break
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        click.echo(f"\nLeft; the sweep goes on. Watch again: specdec watch {folder.name}", err=True)
        return 130
    print_results(folder)
    return {"finished": 0, "stopped": 130}.get(now.word, 1)
