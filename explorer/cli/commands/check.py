"""`specdec check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from explorer.cli.options import format_option

if TYPE_CHECKING:
    from sweeps.plan.model import Config, Plan


@click.command(name="check")
@click.argument("sweep")
@format_option
@click.pass_context
def command(ctx: click.Context, sweep: str, format_: str) -> None:
    """What SWEEP (a sweep file, or a preset's name) would run, and what is refused and why.

    Nothing is compiled. Exit 1 if anything is refused.
    """
    from explorer.cli.commands.inspect import show_objects
    from explorer.cli.sweeps_in import find_sweep_file, load_plan

    plan, _ = load_plan(find_sweep_file(sweep))
    show_objects(objects(plan), format_, lambda rows: describe(plan, rows))
    ctx.exit(1 if any(run.refused for run in plan.runs) else 0)


def objects(plan: Plan) -> list[dict[str, Any]]:
    """One object a run, in the order of the plan, then one a dropped grid point (`run` is null there)."""
    import msgspec

    rows = [
        {
            "run": run.id,
            **_configuration(run.config),
            "path": run.path,
            "emulated": run.emulated,
            "added": run.added,
            "dropped": False,
            "findings": [msgspec.to_builtins(finding) for finding in run.findings],
        }
        for run in plan.runs
    ]
    for point in plan.dropped:
        finding = {
            "level": "noted",
            "code": "dropped",
            "message": f"{point.place}: {point.reason}",
            "remedy": "",
        }
        rows.append(
            {
                "run": None,
                **_configuration(point.config),
                "path": None,
                "emulated": None,
                "added": False,
                "dropped": True,
                "findings": [finding],
            }
        )
    return rows


def describe(plan: Plan, rows: list[dict[str, Any]]) -> list[str]:
    """A line a run with its findings below, and the count at the end."""
    from explorer.cli.commands.inspect import describe_findings
    from explorer.live.labels import label

    lines: list[str] = []
    labels = [label(run.config, run.emulated) for run in plan.runs]
    labels += [label(point.config) for point in plan.dropped]
    for row, name in zip(rows, labels, strict=True):
        levels = {finding["level"] for finding in row["findings"]}
        state = "dropped" if row["dropped"] else "REFUSED" if "refused" in levels else "ok"
        lines.append(f"{row['run'] or '-':10}  {state:7}  {name}{'  (added)' if row['added'] else ''}")
        lines += describe_findings(row["findings"], indent=" " * 12)
    refused = sum(run.refused for run in plan.runs)
    prompts = len(plan.prompts)
    lines.append(
        f"{plan.sweep}: {len(plan.runs)} runs ({sum(run.added for run in plan.runs)} added) on "
        f"{prompts} {'prompt' if prompts == 1 else 'prompts'}, {refused} refused, {len(plan.dropped)} dropped"
    )
    return lines


def _configuration(config: Config) -> dict[str, Any]:
    import msgspec

    return msgspec.structs.asdict(config)
