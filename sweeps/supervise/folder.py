"""Names and places inside a results folder."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

JOURNAL = "journal.jsonl"
SUPERVISOR = "supervisor.json"
CONTROL = "control"


class SweepFolder:
    """`results/<sweep>-<time>/` and what lies in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def journal(self) -> Path:
        return self.path / JOURNAL

    @property
    def sweep_file(self) -> Path:
        return self.path / "sweep.toml"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def supervisor(self) -> Path:
        return self.path / SUPERVISOR

    @property
    def log(self) -> Path:
        """What a detached supervisor prints."""
        return self.path / "supervisor.log"

    @property
    def control(self) -> Path:
        return self.path / CONTROL

    @property
    def spool(self) -> Path:
        """Jobs and events of workers, until the supervisor has taken the events over."""
        return self.path / "spool"

    def stderr(self, run: str) -> Path:
        return self.path / "stderr" / f"{run}.log"


def new_folder(results: Path, sweep: str) -> SweepFolder:
    """A fresh folder for a sweep, named after it and the time."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    base = f"{slug(sweep)}-{stamp}"
    for suffix in ("", *(f"-{number}" for number in range(2, 1000))):
        path = results / (base + suffix)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return SweepFolder(path)
    raise FileExistsError(f"no free name for {base} in {results}")


def find_folders(results: Path, sweep: str | None = None) -> list[SweepFolder]:
    """Folders with a journal, newest first; with `sweep`: those of that sweep or of that folder name."""
    if not results.is_dir():
        return []
    found = [SweepFolder(path) for path in results.iterdir() if (path / JOURNAL).is_file()]
    if sweep is not None:
        pattern = re.compile(re.escape(slug(sweep)) + r"-\d{8}T\d{6}Z(-\d+)?$")
        found = [folder for folder in found if folder.name == sweep or pattern.match(folder.name)]
    return sorted(found, key=lambda folder: folder.journal.stat().st_mtime, reverse=True)


def slug(name: str) -> str:
    """A sweep's name as a file name on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "sweep"
