"""`specdec publish`: recorded runs as a data-set folder that others can use without this program."""

from __future__ import annotations

from pathlib import Path

import click

from explorer.cli.errors import Problem
from explorer.cli.options import data_dir, data_option


@click.command("publish")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--sweep", help="Only this sweep, or this results folder (default: all).")
@click.option("--where", default="", metavar="SQL", help="Only rows that meet this, e.g. \"status = 'ok'\".")
@click.option(
    "--title", default="Speculative decoding measurements", show_default=True, help="Title of the card."
)
@click.option(
    "--about", default="", metavar="TEXT", help="What was asked and how, in your words; goes into the card."
)
@click.option("--licence", default="unknown", show_default=True, help="Licence of the data, e.g. cc-by-4.0.")
@click.option("--host", metavar="NAME", help="Write this instead of this machine's name.")
@data_option
@click.pass_context
def command(
    ctx: click.Context,
    folder: Path,
    sweep: str | None,
    where: str,
    title: str,
    about: str,
    licence: str,
    host: str | None,
    data: str | None,
) -> None:
    """Write runs to FOLDER as CSV, JSONL and Parquet, with a data-set card.

    Measured and imported rows, not the published ones that ship with the program. Failed runs are data too
    and stay in, with their reason; --where chooses. The name of your home folder is written as `~`.
    """
    import polars as pl

    from sweeps.exchange import dataset
    from sweeps.exchange.published import SOURCE
    from sweeps.exchange.rows import ExchangeError
    from sweeps.store.frames import load_runs
    from sweeps.store.query import FilterError, filter_rows

    try:
        ours = load_runs(data_dir(ctx, data), sweep).filter(pl.col("source").ne_missing(SOURCE))
        runs = filter_rows(ours, where)
        if ours.is_empty():
            raise Problem(
                f"no run{f' of {sweep}' if sweep else ''} to publish; `specdec demo` makes some", exit_code=1
            )
        if runs.is_empty():
            raise Problem(f"none of {ours.height} rows meets --where {where}", exit_code=1)
        files = dataset.write(folder, runs, title=title, about=about, licence=licence, host=host)
    except FilterError as error:
        raise Problem(f"--where: {error}") from error
    except ExchangeError as error:
        raise Problem(str(error)) from error
    except OSError as error:
        raise Problem(f"{folder}: cannot be written: {error.strerror or error}", exit_code=1) from error
    click.echo(
        f"{runs.height} {'row' if runs.height == 1 else 'rows'}; read the card before you share it", err=True
    )
    for file in files:
        click.echo(str(file))
