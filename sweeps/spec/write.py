"""Sweeps out: `Sweep` -> TOML text that reads back equal."""

from __future__ import annotations

from typing import Any

import msgspec
import tomli_w

from sweeps.spec.model import Sweep

_BEFORE = ("name", "description", "protocol", "models", "devices")


def dump_sweep(sweep: Sweep) -> str:
    """The sweep as TOML; axes that are not set are left out, so `parse_sweep` gives an equal sweep.

    Prompts keep their order, which is the order in which they are measured.
    """
    document = msgspec.to_builtins(sweep)
    before = {key: document[key] for key in _BEFORE if document[key]}
    prompts = "[prompts]\n" + "".join(_prompt(*item) for item in document["prompts"].items())
    return "\n".join([tomli_w.dumps(before), prompts, *map(_grid, document["grid"])])


def _prompt(name: str, value: str | dict[str, str]) -> str:
    """One pair at a time: the writer would move every prompt with a file behind the others."""
    if isinstance(value, str):
        # A multi-line string would lose its CRs.
        return tomli_w.dumps({name: value}, multiline_strings="\n" in value and "\r" not in value)
    return f"{_key(name)} = {_value(value)}\n"


def _grid(grid: dict[str, Any]) -> str:
    """One [[grid]] with an axis a line: the writer would fold a short grid into a list, which may not
    follow a table, and break every axis over several lines."""
    axes = (f"{key} = {_value(value)}\n" for key, value in grid.items() if value is not None)
    return "[[grid]]\n" + "".join(axes)


def _value(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return tomli_w.dumps({"k": value}).removeprefix("k = ").removesuffix("\n")


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")
