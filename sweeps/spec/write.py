"""Sweeps out: `Sweep` -> TOML text that reads back equal."""

from __future__ import annotations

from typing import Any

import msgspec
import tomli_w

from sweeps.spec.model import PromptFile, Sweep

_BEFORE = ("name", "description", "protocol", "models", "devices")


def dump_sweep(sweep: Sweep) -> str:
    """The sweep as TOML; axes that are not set are left out, so `parse_sweep` gives an equal sweep.

    Prompts keep their order, which is the order in which they are measured.
    """
    document = _set_only(msgspec.to_builtins(sweep))
    before = {key: document[key] for key in _BEFORE if document.get(key)}
    parts = [tomli_w.dumps(before), _prompts(sweep.prompts), tomli_w.dumps({"grid": document["grid"]})]
    return "\n".join(parts)


def _prompts(prompts: dict[str, str | PromptFile]) -> str:
    """[prompts] pair by pair: the writer would move every prompt with a file behind the others."""
    return "[prompts]\n" + "".join(_prompt(name, value) for name, value in prompts.items())


def _prompt(name: str, value: str | PromptFile) -> str:
    if isinstance(value, str):
        # A multi-line string would lose its CRs.
        return tomli_w.dumps({name: value}, multiline_strings="\n" in value and "\r" not in value)
    header, pair = tomli_w.dumps({name: {"file": value.file}}).split("\n", 1)
    return f"{header[1:-1]}.{pair}"


def _set_only(value: Any) -> Any:
    """TOML has no null: a key without a value is left out."""
    if isinstance(value, dict):
        return {key: _set_only(item) for key, item in value.items() if item is not None}
    return [_set_only(item) for item in value] if isinstance(value, list) else value
