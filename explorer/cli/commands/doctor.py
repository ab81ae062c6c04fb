"""`specdec doctor`."""

from __future__ import annotations

import click

from explorer.cli.options import data_dir, data_option, format_option


@click.command(name="doctor")
@data_option
@format_option
@click.pass_context
def command(ctx: click.Context, data: str | None, format_: str) -> None:
    """Versions, devices, and what disturbs measuring on this machine.

    Exit code 1 if something must be put right.
    """
    import msgspec
    import polars as pl

    from explorer.cli.render import print_frame
    from sweeps.doctor import examine
    from sweeps.paths import results

    checks = examine(results(data_dir(ctx, data)))
    if format_ == "text":
        marks = {"ok": "ok     ", "note": "note   ", "warning": "WARNING", "problem": "PROBLEM"}
        for check in checks:
            click.echo(f"{marks[check.level]}  {check.name}: {check.value}")
            if check.remedy:
                click.echo(f"         -> {check.remedy}")
    else:
        print_frame(pl.DataFrame([msgspec.structs.asdict(check) for check in checks]), format_)
    ctx.exit(1 if any(check.level == "problem" for check in checks) else 0)
