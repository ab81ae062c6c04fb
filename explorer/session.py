"""What the app remembers from one start to the next: the place, and what each place asks to keep.

JSON with a version; a file of another version, or a broken one, is left alone and a new start made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sweeps import atomic, paths

VERSION: Final = 1


def session_file() -> Path:
    """Where the session lies."""
    return paths.state() / "session.json"


@dataclass
class Session:
    """Mutable; places write into their own part and the app saves it when a place is left."""

    place: str = ""
    """The place shown last; empty at the first start."""
    theme: str = ""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def part(self, place: str) -> dict[str, Any]:
        """What a place keeps: JSON values under names of its own (filters, views, the last sweep)."""
        return self.parts.setdefault(place, {})

    def to_json(self) -> str:
        """The file's text."""
        content = {"version": VERSION, "place": self.place, "theme": self.theme, "parts": self.parts}
        return json.dumps(content, indent=1, sort_keys=True) + "\n"

    def save(self) -> str:
        """Write the file; returns why that failed, or nothing: a full disk must not end the app."""
        try:
            atomic.write_text(session_file(), self.to_json())
        except (OSError, TypeError, ValueError) as error:
            return f"the session could not be saved: {error}"
        return ""


def from_json(text: str) -> Session:
    """A session from a file's text; anything unexpected gives a fresh one."""
    try:
        content = json.loads(text)
    except ValueError:
        return Session()
    if not isinstance(content, dict) or content.get("version") != VERSION:
        return Session()
    place, theme, parts = content.get("place"), content.get("theme"), content.get("parts")
    return Session(
        place=place if isinstance(place, str) else "",
        theme=theme if isinstance(theme, str) else "",
        parts={k: v for k, v in parts.items() if isinstance(v, dict)} if isinstance(parts, dict) else {},
    )


def load() -> Session:
    """The saved session, or a fresh one."""
    try:
        return from_json(session_file().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return Session()
