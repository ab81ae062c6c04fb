"""Keeps the developer's own results, state and configuration out of every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: how long an example takes says more about the machine than about the code. CI repeats its
# examples, so that what lands is what was seen.
settings.register_profile("specdec", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("specdec")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has results, state and configuration folders of its own (subprocesses inherit them)."""
    base = tmp_path_factory.mktemp("specdec")
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"SPECDEC_{name}", str(base / name.lower()))
    monkeypatch.setenv("COLUMNS", "120")
    yield


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """An empty results folder."""
    folder = tmp_path / "results"
    folder.mkdir()
    return folder
