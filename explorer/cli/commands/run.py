"""`specdec run SWEEP.toml`."""

from __future__ import annotations

import click

from explorer.cli.errors import Problem
from explorer.cli.options import data_dir, data_option, format_option


@click.command(name="run")
@click.argument("sweep", metavar="SWEEP.toml")
@click.option("--headless", is_flag=True, help="Progress lines instead of the app, then the table.")
@click.option("--detach", is_flag=True, help="Go on without this terminal; prints how to watch.")
@click.option(
    "--dry-run", is_flag=True, help="Show the plan with a count and a time estimate; start nothing."
)
@click.option(
    "--resume", is_flag=True, help="Go on with the sweep's newest results (the default when there are any)."
)
@click.option("--fresh", is_flag=True, help="Measure everything anew, in a results folder of its own.")
@click.option("--retry-failed", is_flag=True, help="Try failed and skipped runs again.")
@click.option("--only", metavar="RUN", multiple=True, help="Only this run, with what it is compared with.")
@click.option(
    "--executor", default="local", show_default=True, metavar="local", help="Where runs go: this machine."
)
@data_option
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    sweep: str,
    headless: bool,
    detach: bool,
    dry_run: bool,
    resume: bool,
    fresh: bool,
    retry_failed: bool,
    only: tuple[str, ...],
    executor: str,
    data: str | None,
    format_: str,
) -> None:
    """Run a sweep file (or a preset by name), each configuration in a fresh process.

    A second run of the same sweep measures only what is missing. Ctrl-C stops cleanly.
    """
    from explorer.cli.running import (
        has_terminal,
        prepared,
        print_results,
        results_folder,
        shell_line,
        supervise_detached,
        supervise_here,
        with_needs,
    )
    from explorer.cli.sweeps_in import find_sweep_file, load_plan, preset
    from sweeps.supervise.folder import find_folders

    if executor != "local":
        raise Problem(f"--executor {executor}: only `local` is available")
    if resume and fresh:
        raise Problem("--resume and --fresh exclude each other")
    directory = data_dir(ctx, data)
    plan, text = load_plan(find_sweep_file(sweep))
    if only:
        with_needs(plan, only)
    if dry_run:
        from explorer.cli.dry_run import print_plan

        print_plan(plan, directory, format_)
        ctx.exit(1 if any(run.refused for run in plan.runs) else 0)
    results = results_folder(directory)
    if resume and not find_folders(results, plan.sweep):
        raise Problem(f"--resume: no results of {plan.sweep!r} in {results}; leave --resume away to start")
    if not plan.runs:
        raise Problem(f"{sweep}: nothing to run, every grid point was dropped (--dry-run says why)", 1)
    folder = prepared(results, plan, text, fresh=fresh)
    if detach:
        pid = supervise_detached(folder, plan, only=only, retry_failed=retry_failed)
        click.echo(f"Started as process {pid}, independent of this terminal. Results: {folder.path}")
        click.echo(f"Watch: {shell_line('watch', folder.name, data=directory)}")
        click.echo(f"Stop:  {shell_line('stop', folder.name, data=directory)}")
        ctx.exit(0)
    if not headless and has_terminal():
        from explorer.launch import open_app

        supervise_detached(folder, plan, only=only, retry_failed=retry_failed)
        root = ctx.find_root().params
        ctx.exit(
            open_app(
                data=directory,
                ascii_only=bool(root.get("ascii_only")),
                mouse=not root.get("no_mouse"),
                place="watch",
                sweep=folder.name,
            )
        )
    again = (
        shell_line("demo", "--headless", data=directory)
        if sweep == str(preset("demo"))
        else shell_line("run", sweep, "--headless", data=directory)
    )
    code = supervise_here(folder, plan, again, only=only, retry_failed=retry_failed)
    if code != 130:
        print_results(folder, format_)
    ctx.exit(code)
