"""From the words of a sweep file to folders and texts on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sweeps import paths
from sweeps.spec.checks import Fault
from sweeps.spec.errors import nearest, one_line, shown
from sweeps.spec.model import DEMO_PREFIX, PromptFile, Sweep

LARGEST_PROMPT: Final = 4 << 20
"""Bytes a prompt file may have: about a million tokens."""


class PromptText(NamedTuple):
    """A prompt's name, text (line ends are LF) and hash (10 hex digits of its text)."""

    name: str
    text: str
    hash: str


class UnresolvedError(ValueError):
    """A model or a prompt that is not there; the message is one line."""


def model_folder(value: str, folder: Path) -> Path:
    """The folder of a model: `demo:NAME` is a bundled one, all else is relative to the sweep's folder.

    Raises UnresolvedError when there is no such folder.
    """
    if value.startswith(DEMO_PREFIX):
        return _bundled("models", value, "")
    path = _relative(value, folder)
    if not _is(path, folder=True):
        what = "is a file, not a folder" if _is(path, folder=False) else "no such folder"
        raise UnresolvedError(
            f"{shown(value)}: {what} ({one_line(str(path))}); give the folder of an OpenVINO IR"
        )
    return path


def prompt_text(value: str | PromptFile, folder: Path) -> str:
    """The text of a prompt with LF line ends; everything else stays as it is written.

    A file is relative to the sweep's folder, `demo:NAME` is a bundled one. Raises UnresolvedError.
    """
    text = value if isinstance(value, str) else _prompt_file(value.file, folder)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def prompts(sweep: Sweep, folder: Path) -> tuple[PromptText, ...]:
    """All prompts of a sweep in file order. Raises UnresolvedError."""
    found = ((name, prompt_text(value, folder)) for name, value in sweep.prompts.items())
    return tuple(PromptText(name, text, text_hash(text)) for name, text in found)


def text_hash(text: str) -> str:
    """10 hex digits that name a prompt's text on every machine."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=5).hexdigest()


def used_models(sweep: Sweep) -> list[str]:
    """Names of the models that a grid uses, in the order of [models]."""
    used: set[str] = set()
    for grid in sweep.grid:
        for axis in (grid.model, grid.target, grid.draft):
            used.update([axis] if isinstance(axis, str) else axis or ())
    return [name for name in sweep.models if name in used]


def model_faults(sweep: Sweep, folder: Path) -> list[Fault]:
    """Used models that are not there."""
    return list(_unresolved_models(sweep, folder))


def prompt_faults(sweep: Sweep, folder: Path) -> list[Fault]:
    """Prompt files that are not there or are no text."""
    return list(_unresolved_prompts(sweep, folder))


def _unresolved_models(sweep: Sweep, folder: Path) -> Iterator[Fault]:
    for name in used_models(sweep):
        try:
            model_folder(sweep.models[name], folder)
        except UnresolvedError as error:
            yield Fault(("models", name), str(error))


def _unresolved_prompts(sweep: Sweep, folder: Path) -> Iterator[Fault]:
    for name, value in sweep.prompts.items():
        try:
            prompt_text(value, folder)
        except UnresolvedError as error:
            yield Fault(("prompts", name, "file"), str(error))


def _prompt_file(value: str, folder: Path) -> str:
    demo = value.startswith(DEMO_PREFIX)
    path = _bundled("prompts", value, ".txt") if demo else _relative(value, folder)
    if not _is(path, folder=False):
        what = "is a folder" if _is(path, folder=True) else "no such file"
        raise UnresolvedError(
            f"{shown(value)}: {what} ({one_line(str(path))}); it is relative to the sweep file"
        )
    try:
        with path.open("rb") as handle:
            data = handle.read(LARGEST_PROMPT + 1)
        if len(data) > LARGEST_PROMPT:
            raise UnresolvedError(f"{shown(value)} is larger than 4 MiB; this is no prompt")
        # Notepad writes a byte-order mark, which is no part of the prompt.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnresolvedError(f"{shown(value)}: byte {error.start} is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise UnresolvedError(f"{shown(value)} cannot be read ({error.strerror})") from None
    if not text.strip():
        raise UnresolvedError(f"{shown(value)} is empty; a prompt needs a text")
    return text


def _relative(value: str, folder: Path) -> Path:
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        raise UnresolvedError(f"{shown(value)}: no such home folder") from None
    return (folder / path).absolute()


def _bundled(kind: str, value: str, suffix: str) -> Path:
    """A bundled folder or file; only names that are there, so that no `..` leads out of it."""
    name = value.removeprefix(DEMO_PREFIX)
    home = paths.bundled(kind)
    entries = sorted(home.iterdir()) if home.is_dir() else []
    known = {entry.name.removesuffix(suffix): entry for entry in entries if _offered(entry, suffix)}
    if name in known:
        return known[name]
    close = nearest(name, known)
    listed = ", ".join(known) or "none"
    hint = f"did you mean {DEMO_PREFIX}{close}?" if close else f"bundled: {listed}"
    raise UnresolvedError(f"no bundled {kind.removesuffix('s')} {shown(value)}; {hint}")


def _offered(entry: Path, suffix: str) -> bool:
    return entry.name.endswith(suffix) if suffix else (entry / "openvino_model.xml").is_file()


def _is(path: Path, *, folder: bool) -> bool:
    try:
        return path.is_dir() if folder else path.is_file()
    except (OSError, ValueError):
        # Too long a name, or one with a NUL: no such file either way.
        return False
