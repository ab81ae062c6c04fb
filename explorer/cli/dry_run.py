"""What a plan would start, printed."""

from __future__ import annotations

import click

from sweeps.plan.model import Plan


def print_plan(plan: Plan, data: str | None, format_: str) -> None:
    """The plan on standard output with its time estimate, learned from the runs recorded so far."""
    import polars as pl

    from sweeps.plan.estimate import estimate
    from sweeps.plan.show import plan_text, rows
    from sweeps.store.frames import load_runs

    guess = estimate(plan, load_runs(data, published=False))
    if format_ == "text":
        click.echo(plan_text(plan, guess))
        for run in plan.runs:
            for finding in run.findings:
                if finding.level != "noted":
                    click.echo(f"{run.id} {finding.level}: {finding.text}", err=True)
        return
    from explorer.cli.render import print_frame

    print_frame(pl.DataFrame(list(rows(plan, guess)), infer_schema_length=None), format_)
