"""`specdec table`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from explorer.cli.errors import Problem, pointed, say_damage
from explorer.cli.options import data_dir, data_option, format_option

if TYPE_CHECKING:
    import polars as pl


@click.command(name="table")
@data_option
@click.option(
    "--sweep", metavar="S", help="One sweep: its name (the newest of it) or the name of its folder."
)
@click.option(
    "--where", metavar="SQL", default="", help="Condition over the columns, or words to search for."
)
@click.option("--sort", "sort_", metavar="COL[,-COL]", default="", help="Sort; a minus sorts descending.")
@click.option("--columns", metavar="COL,..|all", default="", help="These columns, or all of them.")
@click.option("--reps", "table", flag_value="reps", help="One row a rep instead of one a run and prompt.")
@click.option("--rounds", "table", flag_value="rounds", help="One row a draft-then-verify round.")
@click.option(
    "--pivot", "pivot_", metavar="SPEC", default="", help="Cross table: rows=..,cols=..,values=..[,agg=mean]."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most so many rows.")
@click.option(
    "--published", is_flag=True, help="Published rows as well (always, while you have none of your own)."
)
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    data: str | None,
    sweep: str | None,
    where: str,
    sort_: str,
    columns: str,
    table: str | None,
    pivot_: str,
    limit: int | None,
    published: bool,
    format_: str,
) -> None:
    """The run table: filter, sort, pivot, print.

    \b
    specdec table --where "draft_device = 'NPU' and speedup < 1" --sort -speedup
    specdec table --pivot rows=draft,cols=draft_device,num_assistant_tokens,values=speedup,agg=gmean
    specdec table --columns all --format csv > runs.csv
    """
    from explorer.cli.render import print_frame, print_pivot
    from sweeps.store.query import FilterError, filter_rows, known_columns, parse_sort, sort_rows

    frame = _load(data_dir(ctx, data, must_exist=True), sweep, table or "runs", published)
    try:
        frame = filter_rows(frame, where)
    except FilterError as error:
        raise Problem(pointed("--where", where.strip(), error)) from None
    try:
        frame = sort_rows(frame, parse_sort(sort_))
    except FilterError as error:
        raise Problem(f"--sort: {error}") from None
    try:
        if pivot_:
            print_pivot(_pivot(frame, pivot_), format_)
            return
        everything = columns.strip() == "all"
        if columns and not everything:
            frame = frame.select(known_columns([name.strip() for name in columns.split(",")], frame))
    except FilterError as error:
        raise Problem(f"{'--pivot' if pivot_ else '--columns'}: {error}") from None
    print_frame(frame if limit is None else frame.head(limit), format_, all_columns=bool(columns))


def _load(data: str | None, sweep: str | None, table: str, published: bool) -> pl.DataFrame:
    from sweeps.exchange.rows import ExchangeError
    from sweeps.paths import results
    from sweeps.store import frames

    damage: frames.Damage = {}
    try:
        if table == "runs":
            found = frames.load_runs(data, sweep, published=published, damage=damage)
            if found.is_empty() and sweep is None and not published:
                found = frames.load_runs(data, published=True)
                click.echo(f"no results in {results(data)} yet: these are published rows", err=True)
        else:
            load = frames.load_reps if table == "reps" else frames.load_rounds
            found = load(data, sweep, damage=damage)
    except ExchangeError as error:
        raise Problem(str(error), exit_code=1) from None
    except OSError as error:
        raise Problem(
            f"{error.filename or results(data)}: cannot be read: {error.strerror}", exit_code=1
        ) from None
    say_damage(damage)
    if found.is_empty() and sweep is not None:
        names = ", ".join(folder.name for folder in frames.sweep_folders(data)[-5:])
        raise Problem(
            f"--sweep {sweep}: no such sweep in {results(data)}" + (f"; there are {names}" if names else "")
        )
    return found


def _pivot(frame: pl.DataFrame, text: str) -> Any:
    from sweeps.store.pivot import parse_pivot, pivot
    from sweeps.store.query import FilterError

    parts = parse_pivot(text)
    if len(parts["values"]) > 1 or len(parts.get("agg", [])) > 1:
        raise FilterError("pivot: one column in values= and one aggregate in agg=")
    agg = parts.get("agg") or ["mean"]
    return pivot(frame, parts["rows"], parts.get("cols", []), parts["values"][0], agg[0])
