"""`specdec import`: results of other tools become rows of the run table."""

from __future__ import annotations

from pathlib import Path

import click

from explorer.cli.errors import Problem
from explorer.cli.options import data_dir, data_option


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--host", metavar="NAME", help="Machine that the rows were measured on.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Say what the file does not, e.g. kind=speculative, draft=qwen3-0_6b, path=cb.",
)
@data_option
@click.pass_context
def command(
    ctx: click.Context, files: tuple[Path, ...], host: str | None, settings: tuple[str, ...], data: str | None
) -> None:
    """Take in result files of llm_bench (CSV, JSON), llama-bench (JSON, JSONL), vllm bench serve (JSON), or a
    data-set folder that `specdec publish` wrote.

    A file that is imported again replaces its earlier rows. Prints the files that now hold the rows.
    """
    from sweeps import paths
    from sweeps.exchange import detect, imported
    from sweeps.exchange.rows import ExchangeError

    given = _settings(settings) | ({"host": host} if host else {})
    results = paths.results(data_dir(ctx, data))
    try:
        # All are read before any is kept: a fault in the last one leaves nothing half done.
        found = [(path, detect.load(path)) for path in files]
        changed = [(path, item, imported.change(item.runs, given)) for path, item in found]
    except ExchangeError as error:
        raise Problem(str(error)) from error
    for path, item, runs in changed:
        try:
            kept = imported.save(results, f"{item.tool}-{path.name}", runs)
        except OSError as error:
            raise Problem(f"{results}: cannot be written: {error.strerror or error}", exit_code=1) from error
        click.echo(f"{path}: {runs.height} {'row' if runs.height == 1 else 'rows'} of {item.tool}", err=True)
        for note in item.notes:
            click.echo(f"  {note}", err=True)
        click.echo(str(kept))


def _settings(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in given:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise Problem(f"--set {item}: not COLUMN=VALUE")
        found[name.strip()] = value
    return found
