"""A person's own keys: `keys.toml` in the configuration folder, action id = key or keys.

"watch.follow" = "F"
explore.pivot = "W,ctrl+t"     # an unquoted id is the same
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from explorer.actions import REGISTRY
from sweeps import paths


def load() -> tuple[dict[str, str], list[str]]:
    """(action id -> keys, what is wrong with the file). A missing file is no fault."""
    path = paths.config() / "keys.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: {error}"]
    return parse(text)


def parse(text: str) -> tuple[dict[str, str], list[str]]:
    """As `load`, from the file's text."""
    import tomllib

    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return {}, [f"not TOML: {error}; the built-in keys are used"]
    keymap: dict[str, str] = {}
    faults: list[str] = []
    for name, value in _flatten(content):
        if isinstance(value, str) and all(part.strip() for part in value.split(",")):
            keymap[name] = value
        else:
            faults.append(f'{name}: expected a key such as "x" or "ctrl+x,f5", found {value!r}')
    return keymap, faults


def _flatten(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def unknown(keymap: dict[str, str], place: str) -> list[str]:
    """Faults for ids of the app or of this (loaded) place that no action has."""
    faults = []
    for name in keymap:
        if name not in REGISTRY and name.partition(".")[0] in (place, "app", "place"):
            near = difflib.get_close_matches(name, REGISTRY, n=1)
            faults.append(f"no action is called {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return faults
