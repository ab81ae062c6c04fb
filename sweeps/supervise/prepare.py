"""The results folder of a sweep: a new one, or the one in which an earlier run of it stands."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sweeps import atomic
from sweeps.plan.model import Plan
from sweeps.supervise.folder import SweepFolder, find_folders, new_folder
from sweeps.supervise.owner import MachineLock


def prepare(results: Path, plan: Plan, toml: str, *, fresh: bool = False) -> SweepFolder:
    """A folder with `sweep.toml` and `plan.json` in it.

    The newest folder of a sweep of the same name is taken up again, so that a second `run` measures only
    what is missing; `fresh` measures everything anew in a folder of its own.

    Raises Busy while a sweep is running on this machine: its files stay as they are.
    """
    with MachineLock(results):
        found = None if fresh else earlier(results, plan.sweep)
        folder = found or new_folder(results, plan.sweep)
        write_plan(folder, plan, toml)
        folder.journal.touch()
    return folder


def earlier(results: Path, sweep: str) -> SweepFolder | None:
    """The newest folder of a sweep of exactly that name (two names may look alike as file names)."""
    for folder in find_folders(results, sweep):
        try:
            name = msgspec.json.decode(folder.plan.read_bytes(), type=_Name).sweep
        except (OSError, msgspec.DecodeError):
            continue
        if name == sweep:
            return folder
    return None


class _Name(msgspec.Struct):
    sweep: str


def write_plan(folder: SweepFolder, plan: Plan, toml: str) -> None:
    """Put the sweep file as run, and the plan made of it, beside the journal."""
    atomic.write_text(folder.sweep_file, toml)
    atomic.write_bytes(folder.plan, msgspec.json.encode(plan))


def read_plan(folder: SweepFolder) -> Plan:
    """The plan of a folder. Raises FileNotFoundError or msgspec.DecodeError."""
    return msgspec.json.decode(folder.plan.read_bytes(), type=Plan)
