"""Every UI test has folders of its own, the developer's stay out; and what the modules of one place share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from explorer.analysis.view import Level
from explorer.app import SpecdecApp
from explorer.screens.explore import loading
from explorer.screens.watch import attach
from sweeps.events.writer import JournalWriter
from sweeps.supervise.folder import SweepFolder
from tests.ui.define_kit import SWEEP
from tests.ui.explore_kit import rep_frame, round_frame, run_frame
from tests.ui.watch_kit import NAME, PLAN, FakeTailer, T
from tests.unit.journal_kit import started

SIZES = ((80, 24), (120, 40), (200, 60))
"""Every place is looked at in these sizes."""
MakeApp = Callable[..., SpecdecApp]
"""The type of `make_app`."""


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Redirect state, configuration and results below `tmp_path`; no colour wishes from outside."""
    for name in ("state", "config", "data"):
        monkeypatch.setenv(f"SPECDEC_{name.upper()}", str(tmp_path / name))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path


@pytest.fixture
def results(own_folders: Path) -> Path:
    """The results folder of this test."""
    folder = own_folders / "data"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def make_app(results: Path) -> MakeApp:
    """`make_app(place="watch", ascii_only=True)`: an app on this test's results folder."""

    def make(
        place: str | None = None, ascii_only: bool = False, sweep: str | None = None, data: str | None = None
    ) -> SpecdecApp:
        return SpecdecApp(data=data or str(results), ascii_only=ascii_only, place=place, sweep=sweep)

    return make


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> dict[Level, pl.DataFrame]:
    """What the Explore screen loads; a test may change it."""
    frames: dict[Level, pl.DataFrame] = {"runs": run_frame(), "reps": rep_frame(), "rounds": round_frame()}
    monkeypatch.setattr(loading, "load", lambda level, data: frames[level])
    monkeypatch.setattr("explorer.manners.has_results", lambda data: True)
    return frames


@pytest.fixture
def tailers(monkeypatch: pytest.MonkeyPatch) -> list[FakeTailer]:
    """The Watch screen without a thread: updates are fed by the test."""
    made: list[FakeTailer] = []

    def start(folder: Path, post: object) -> FakeTailer:
        made.append(FakeTailer())
        return made[-1]

    monkeypatch.setattr(attach, "attach", start)
    return made


@pytest.fixture
def folder(results: Path, tailers: list[FakeTailer]) -> SweepFolder:
    """A results folder with a journal in it."""
    made = SweepFolder(results / NAME)
    made.path.mkdir()
    with JournalWriter(made.journal) as writer:
        writer.event(started(PLAN, T))
    return made


@pytest.fixture
def mine(own_folders: Path) -> Path:
    """A sweep file of the person's own."""
    path = own_folders / "config" / "sweeps" / "mine.toml"
    path.parent.mkdir(parents=True)
    path.write_text(SWEEP, encoding="utf-8", newline="\n")
    return path


@pytest.fixture
def app(mine: Path, make_app: MakeApp) -> SpecdecApp:
    """Define on `mine.toml`; a module of another place has an `app` of its own."""
    app = make_app(place="define")
    app.session.part("define")["file"] = str(mine)
    return app
