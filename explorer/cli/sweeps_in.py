"""From a sweep file to a checked plan, with every refusal as one line."""

from __future__ import annotations

from pathlib import Path

from explorer.cli.errors import Problem
from sweeps.plan.model import Plan


def load_plan(path: Path) -> tuple[Plan, str]:
    """The checked plan of a sweep file and the file's text. Raises Problem (exit 2)."""
    from sweeps.check import preflight
    from sweeps.plan.build import plan_file
    from sweeps.spec.errors import SpecError
    from sweeps.spec.load import read_text

    try:
        return preflight(plan_file(path)), read_text(path)
    except SpecError as error:
        raise Problem(str(error)) from None


def preset(name: str) -> Path:
    """A sweep file that ships with the program."""
    from sweeps.paths import presets

    return presets() / f"{name}.toml"


def find_sweep_file(given: str) -> Path:
    """A path as typed, or the name of a preset."""
    path = Path(given)
    if path.is_file():
        return path
    ours = preset(given.removesuffix(".toml"))
    if path.parent == Path() and ours.is_file():
        return ours
    names = ", ".join(sorted(p.stem for p in ours.parent.glob("*.toml")))
    raise Problem(f"{given}: no such sweep file, and no preset of that name ({names})")
