"""`specdec export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli.errors import Problem
from explorer.cli.options import format_option

if TYPE_CHECKING:
    from sweeps.models.export import WeightFormat


@click.command(name="export")
@click.argument("model")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--npu", is_flag=True, help="The recipe for an NPU: symmetric int4, groups of 128, ratio 1.0.")
@click.option("--weight-format", type=click.Choice(("int4", "int8", "fp16")), help="Default: int4.")
@click.option(
    "--sym/--asym",
    "symmetric",
    default=None,
    help="Symmetric int4 runs everywhere; asymmetric (the default without --npu) is a little more accurate.",
)
@click.option("--group-size", type=int, help="Weights that share a scale; -1: one scale a row. Default: 128.")
@format_option
def command(
    model: str,
    out: Path,
    npu: bool,
    weight_format: WeightFormat | None,
    symmetric: bool | None,
    group_size: int | None,
    format_: str,
) -> None:
    """Export MODEL (a folder, or a name on the Hugging Face hub) to the new folder OUT, and inspect it.

    Needs the extra `export` (optimum-intel, nncf, torch).
    """
    from explorer.cli.commands.inspect import describe, show_objects
    from sweeps.models.export import ExportError, export, recipe_for
    from sweeps.models.inspect import inspect, row

    try:
        recipe = recipe_for(npu=npu, weight_format=weight_format, symmetric=symmetric, group_size=group_size)
    except ExportError as error:
        raise Problem(str(error)) from None
    click.echo(f"{model} -> {out}: {recipe}", err=True)
    try:
        export(model, out, recipe)
    except ExportError as error:
        raise Problem(str(error), exit_code=1) from None
    facts = inspect(out)
    show_objects([row(facts)], format_, describe)
    if facts.broken:
        raise Problem(f"{out} was written but cannot be used", exit_code=1)
