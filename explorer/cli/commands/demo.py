"""`specdec demo`."""

from __future__ import annotations

import click

from explorer.cli.options import data_option, format_option


@click.command(name="demo")
@click.option("--headless", is_flag=True, help="Progress lines instead of the app, then the table.")
@click.option("--fresh", is_flag=True, help="Measure everything anew, in a results folder of its own.")
@data_option
@format_option
@click.pass_context
def command(ctx: click.Context, headless: bool, fresh: bool, data: str | None, format_: str) -> None:
    """Run the bundled sweep on the bundled models: real pipelines, no download, two to five minutes.

    NPU rows run the NPU code path on the CPU and are marked emulated.
    """
    from explorer.cli.commands.run import command as run_command
    from explorer.cli.sweeps_in import preset

    ctx.invoke(
        run_command, sweep=str(preset("demo")), headless=headless, fresh=fresh, data=data, format_=format_
    )
