"""Which sweep files there are: presets, the person's own, and what was opened last."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sweeps import paths

RECENT = 8
"""Files remembered besides the two folders."""
TEMPLATE = """\
name = "{name}"
description = ""

[models]
target = "demo:target"
draft = "demo:draft-s"

[prompts]
short = {{ file = "demo:short" }}

[[grid]]
kind = "speculative"
target = "target"
target_device = "CPU"
draft = "draft"
draft_device = "CPU"
num_assistant_tokens = [1, 3, 5]
"""


def is_preset(path: Path) -> bool:
    """Presets are never written, by whatever way their path is spelled."""
    return path.parent.resolve() == paths.presets().resolve()


def sections(recent: Iterable[str]) -> list[tuple[str, list[Path]]]:
    """(title, files) of the list on the left."""
    presets = sorted(paths.presets().glob("*.toml"))
    folder = paths.user_sweeps()
    own = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    listed = {*presets, *own}
    others = [Path(name) for name in recent]
    return [
        ("Presets", presets),
        ("Yours", own),
        ("Recent", [path for path in others if path not in listed and path.is_file()][:RECENT]),
    ]


def remember(recent: list[str], path: Path) -> list[str]:
    """`recent` with this file first."""
    return [str(path), *(name for name in recent if name != str(path))][: RECENT * 2]


def target_of(name: str, beside: Path | None) -> Path:
    """Where a new file of this name goes: beside the file it was made from, else to the person's folder.

    Raises:
        ValueError: Not a name for a file, or the file of a preset.
    """
    name = name.strip()
    if not name:
        raise ValueError("a name, or a path that ends in .toml")
    path = Path(name).expanduser()
    if path.suffix != ".toml":
        path = path.with_name(path.name + ".toml")
    folder = paths.user_sweeps() if beside is None or is_preset(beside) else beside.parent
    path = folder / path
    if is_preset(path):
        raise ValueError(
            "presets ship with the program and are never written; a name saves a copy of your own"
        )
    return path
