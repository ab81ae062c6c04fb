"""A person's own keys: `keys.toml` in the configuration folder, action id = key or keys.

"watch.follow" = "F"
explore.pivot = "W,ctrl+t"     # an unquoted id is the same
"""

from __future__ import annotations

import difflib
import unicodedata
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
        typed = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
        if typed and all(map(_is_key, typed)):
            keymap[name] = ",".join(map(_named, typed))
        else:
            faults.append(f'{name}: expected a key such as "x" or "ctrl+x,f5", found {value!r}')
    return keymap, faults


def _is_key(typed: str) -> bool:
    """Whether a terminal can send a key of this name: `x`, `?`, `question_mark`, `ctrl+x`, `shift+f5`."""
    from textual.keys import REPLACED_KEYS, Keys, _get_unicode_name_from_key

    *modifiers, key = typed.split("+") if typed != "+" else ["+"]
    if any(modifier not in ("ctrl", "shift", "alt", "super", "hyper", "meta") for modifier in modifiers):
        return False
    if len(key) == 1 or key in {known.value for known in Keys}:
        return True
    try:
        unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(key, key)).replace("_", " "))
    except KeyError:
        return False
    return True


def _named(typed: str) -> str:
    """A character as Textual calls its key: `?` is `question_mark`."""
    from textual.keys import _character_to_key

    *modifiers, key = typed.split("+") if typed != "+" else ["+"]
    return "+".join([*modifiers, _character_to_key(key) if len(key) == 1 else key])


def _flatten(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


OWNERS = frozenset(
    (
        "app", "place", "define", "watch", "explore", "whatif", "ask", "chart", "confirm", "details",
        "filter", "form", "help", "jump", "lines", "list", "missed", "pane", "param", "pick", "read",
        "table", "type",
    )
)  # fmt: skip
"""What an action's id begins with. Most of them register their actions only when they are first shown."""


def unknown(keymap: dict[str, str], place: str) -> list[str]:
    """Faults for ids of the app, of this (loaded) place or of nothing that exists, that no action has."""
    faults = []
    for name in keymap:
        owner = name.partition(".")[0]
        if name not in REGISTRY and (owner in (place, "app", "place") or owner not in OWNERS):
            near = difflib.get_close_matches(name, REGISTRY, n=1)
            faults.append(f"no action is called {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return faults
