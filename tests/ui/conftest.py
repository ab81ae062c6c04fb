"""Every UI test has its own state, configuration and results folders; the developer's stay out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.app import SpecdecApp

SIZES = ((80, 24), (120, 40), (200, 60))
"""Every place is looked at in these sizes."""


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
def make_app(results: Path) -> Callable[..., SpecdecApp]:
    """`make_app(place="watch", ascii_only=True)`: an app on this test's results folder."""

    def make(
        place: str | None = None, ascii_only: bool = False, sweep: str | None = None, data: str | None = None
    ) -> SpecdecApp:
        return SpecdecApp(data=data or str(results), ascii_only=ascii_only, place=place, sweep=sweep)

    return make
