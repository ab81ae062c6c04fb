"""Where things lie: bundled data, results, state. The only module that knows a folder name."""

from __future__ import annotations

import os
from pathlib import Path

APP = "specdec-explorer"
_PACKAGE = Path(__file__).resolve().parent
CHECKOUT = _PACKAGE.parent if (_PACKAGE.parent / "pyproject.toml").is_file() else None
"""The folder of the checkout, or None when installed from a wheel."""


def bundled(kind: str) -> Path:
    """Folder of bundled data: `models`, `published` or `prompts`."""
    return (CHECKOUT / "data" if CHECKOUT else _PACKAGE / "_data") / kind


def presets() -> Path:
    """Folder of the sweep files that ship with the program."""
    return _PACKAGE / "presets"


def results(data: str | os.PathLike[str] | None = None) -> Path:
    """Folder that holds one folder a sweep.

    `data` (the command line's --data) wins over SPECDEC_DATA, that over `data/results` in a checkout,
    that over the platform's user data folder.
    """
    chosen = data or os.environ.get("SPECDEC_DATA")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if CHECKOUT:
        return CHECKOUT / "data" / "results"
    import platformdirs

    return Path(platformdirs.user_data_path(APP, appauthor=False)) / "results"


def state() -> Path:
    """Folder for what is the machine's and not a sweep's: lock, caches, the app's session.

    SPECDEC_STATE overrides it (tests keep the developer's state out that way).
    """
    chosen = os.environ.get("SPECDEC_STATE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_state_path(APP, appauthor=False))


def config() -> Path:
    """Folder for what a person edits: keys, own sweep files. SPECDEC_CONFIG overrides it."""
    chosen = os.environ.get("SPECDEC_CONFIG")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_config_path(APP, appauthor=False))


def user_sweeps() -> Path:
    """Folder of the user's own sweep files."""
    return config() / "sweeps"
