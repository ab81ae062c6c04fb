"""The export recipe that works, through optimum-intel's own command line in a child process.

Nothing of it is imported here: the exporter loads torch (2-6 GB on disk) and belongs to an extra.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from sweeps.models.fitness import NPU_ROW_MULTIPLE

WeightFormat = Literal["int4", "int8", "fp16"]
NEEDED = ("optimum.intel", "nncf", "torch")
PER_CHANNEL = -1
"""The exporter's word for one scale a row."""

Runner = Callable[[Sequence[str]], int]
"""Runs a command with its talk on standard error; returns its exit status."""


class ExportError(Exception):
    """Why there is no export: one line."""


class Recipe(msgspec.Struct, frozen=True):
    """How weights are compressed."""

    weight_format: WeightFormat = "int4"
    symmetric: bool = False
    group_size: int = 128
    npu: bool = False

    def __str__(self) -> str:
        if self.weight_format != "int4":
            return self.weight_format
        groups = "one scale a row" if self.group_size == PER_CHANNEL else f"groups of {self.group_size}"
        return f"int4, {'symmetric' if self.symmetric else 'asymmetric'}, {groups}, ratio 1.0"


def recipe_for(
    *,
    npu: bool = False,
    weight_format: WeightFormat | None = None,
    symmetric: bool | None = None,
    group_size: int | None = None,
) -> Recipe:
    """Fill in what was not asked for. For the NPU: symmetric int4, groups of 128, ratio 1.0.

    Raises ExportError for what an NPU would not run, and for group sizes that int4 does not know.
    """
    format_ = weight_format or "int4"
    size = 128 if group_size is None else group_size
    if size != PER_CHANNEL and size < 1:
        raise ExportError(f"--group-size {size}: give a positive number, or -1 for one scale a row")
    if group_size is not None and format_ != "int4":
        raise ExportError(f"--group-size belongs to int4, not to {format_}")
    if npu:
        if format_ != "int4":
            raise ExportError(f"--npu needs int4 weights: an NPU does not run {format_} throughout")
        if symmetric is False:
            raise ExportError("--npu needs symmetric weights: asymmetric int4 aborts an NPU's compiler")
        if size != PER_CHANNEL and size % NPU_ROW_MULTIPLE:
            raise ExportError(
                f"--group-size {size}: the NPU takes multiples of {NPU_ROW_MULTIPLE}, or -1 (one scale a row)"
            )
    return Recipe(format_, npu if symmetric is None else symmetric, size, npu)


def arguments(recipe: Recipe, model: str, out: Path) -> list[str]:
    """The exporter's command line."""
    line = [sys.executable, "-m", "optimum.commands.optimum_cli", "export", "openvino"]
    line += ["--model", model, "--task", "text-generation-with-past", "--weight-format", recipe.weight_format]
    if recipe.weight_format == "int4":
        line += ["--sym"] if recipe.symmetric else []
        line += ["--group-size", str(recipe.group_size), "--ratio", "1.0"]
        # A smaller group where 128 does not divide a layer is fine on CPU and GPU; on an NPU it may end
        # in groups that its path cannot unpack, so there the exporter must fail and say which layer.
        line += ["--group-size-fallback", "error" if recipe.npu else "adjust"]
    return [*line, str(out)]


def missing() -> list[str]:
    """Packages of the extra that are not installed."""
    return [name for name in NEEDED if not _installed(name)]


def export(model: str, out: Path, recipe: Recipe, run: Runner | None = None) -> None:
    """Export `model` (a folder, or a name on the Hugging Face hub) to the new folder `out`.

    The exporter writes beside `out`; a finished export is moved into place, so an interrupted one never
    looks like a model. Raises ExportError: the folder is taken, the extra is missing, the exporter failed.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"{out} is there already: nothing is overwritten; name another folder or remove it")
    absent = missing()
    if absent:
        raise ExportError(
            f"{', '.join(absent)} not installed: pip install torch --index-url "
            "https://download.pytorch.org/whl/cpu (the CPU build, 1 GB instead of 6), then "
            'pip install "specdec-explorer[export]"'
        )
    partial = out.with_name(f"{out.name}.partial")
    if partial.exists():
        raise ExportError(f"{partial} is left from an interrupted export: remove it first")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        status = (run or run_visibly)(arguments(recipe, model, partial))
        if status != 0:
            raise ExportError(f"the exporter ended with status {status}; its own words stand above")
        if out.is_dir():
            out.rmdir()  # empty, as seen above; Windows does not rename over it
        partial.rename(out)
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(partial)


def run_visibly(command: Sequence[str]) -> int:
    """Run the exporter with both of its streams on our standard error: progress bars stay alive there."""
    return subprocess.run(command, stdout=2, check=False).returncode


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False
