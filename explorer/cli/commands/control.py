"""`specdec stop`: requests to the supervisor, from any terminal."""

from __future__ import annotations

import click

from explorer.cli.errors import Problem
from explorer.cli.options import data_dir, data_option


@click.command(name="stop")
@click.argument("sweep", required=False)
@click.option("--after-run", is_flag=True, help="Let the running configuration finish first.")
@click.option("--skip", metavar="RUN", multiple=True, help="Only skip this run; the sweep goes on.")
@data_option
@click.pass_context
def command(
    ctx: click.Context, sweep: str | None, after_run: bool, skip: tuple[str, ...], data: str | None
) -> None:
    """Stop the running sweep (the newest, or SWEEP).

    What is finished stays; `specdec run` goes on with it.
    """
    from explorer.cli.running import with_needs
    from sweeps.paths import results
    from sweeps.supervise import control
    from sweeps.supervise.folder import find_folders
    from sweeps.supervise.owner import read_owner
    from sweeps.supervise.prepare import read_plan
    from sweeps.supervise.state import last_event_is_end

    where = results(data_dir(ctx, data, must_exist=True))
    for folder in find_folders(where, sweep):
        owner = read_owner(folder.supervisor)
        if owner is None or owner.alive() is False or last_event_is_end(folder.journal):
            continue
        if skip:
            plan = read_plan(folder)
            for prefix in skip:
                with_needs(plan, [prefix], "--skip")
                run = next(run for run in plan.runs if run.id.startswith(prefix))
                control.request_skip(folder.control, run.id)
                click.echo(f"{folder.name}: run {run.id} will be skipped", err=True)
        else:
            control.request(folder.control, control.STOP_AFTER_RUN if after_run else control.STOP)
            click.echo(f"{folder.name}: stops {'after this run' if after_run else 'now'}", err=True)
        return
    raise Problem(f"no running sweep{f' {sweep}' if sweep else ''} in {where}", 1)
