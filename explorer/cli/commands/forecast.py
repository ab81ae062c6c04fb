"""`specdec forecast SWEEP.toml`."""

from __future__ import annotations

import click

from explorer.cli.errors import say_damage
from explorer.cli.options import data_dir, data_option, format_option

COMPACT = (
    "target",
    "draft",
    "draft_device",
    "path",
    "num_assistant_tokens",
    "prompt",
    "predicted_speedup",
    "predicted_lo",
    "predicted_hi",
    "predicted_tokens_per_round",
    "worth",
    "missing",
)
"""Columns shown as text; every other format has all."""


@click.command(name="forecast")
@click.argument("sweep", metavar="SWEEP.toml")
@click.option("--fresh", is_flag=True, help="Measure anew, in a results folder of its own.")
@click.option("--dry-run", is_flag=True, help="Show what would be measured; start nothing.")
@data_option
@format_option
@click.pass_context
def command(
    ctx: click.Context, sweep: str, fresh: bool, dry_run: bool, data: str | None, format_: str
) -> None:
    """Predict a whole grid before any speculative run.

    Measures the baselines, the drafts alone, one agreement pass a draft and the verify cost by width; then
    predicts every speculative row, ranked, with 90 % intervals. `specdec run` of the same file goes on from
    what was measured here.
    """
    from explorer.cli.render import marked_devices, print_frame
    from explorer.cli.running import prepared, results_folder, shell_line, supervise_here
    from explorer.cli.sweeps_in import find_sweep_file, load_plan
    from sweeps.costmodel.forecast import forecast, reading
    from sweeps.plan.forecast import forecast_plan, make_identifier, with_probes
    from sweeps.store.frames import load_folder
    from sweeps.store.tables import Tables

    directory = data_dir(ctx, data)
    plan, text = load_plan(find_sweep_file(sweep))
    probes = forecast_plan(plan, make_identifier(plan))
    if dry_run:
        from explorer.cli.dry_run import print_plan

        print_plan(probes, directory, format_)
        ctx.exit(0)
    # The grid itself stays in the plan: what was measured of it keeps its name, the rest waits for `run`.
    whole = with_probes(plan, probes)
    folder = prepared(results_folder(directory), whole, text, fresh=fresh)
    again = shell_line("forecast", sweep, data=directory)
    code = supervise_here(folder, whole, again, only=[run.id for run in probes.runs])
    if code == 130:
        ctx.exit(code)
    tables = Tables(folder.path)
    tables.refresh()
    frames = load_folder(folder.path)
    if tables.reader.broken:
        say_damage({folder.path.name: tables.reader.broken})
    frame = forecast(plan, tables.state, frames.runs, frames.rounds)
    shown = marked_devices(frame).select(COMPACT) if format_ in ("text", "md") else frame
    print_frame(shown, format_, all_columns=True)
    if format_ == "text":
        click.echo("")
        for line in reading(frame):
            click.echo(line)
    ctx.exit(code)
