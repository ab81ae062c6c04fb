"""Whatever is done to a valid sweep file, it is a sweep or one clear line, never another exception."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.paths import presets
from sweeps.spec.errors import SpecError
from sweeps.spec.load import check_text, load_sweep, parse_sweep
from sweeps.spec.model import Sweep
from sweeps.spec.write import dump_sweep

FOLDER = Path(__file__).parents[1] / "data" / "sweeps"
TEXTS = [
    file.read_bytes().decode("utf-8") for file in (FOLDER / "full.toml", *sorted(presets().glob("*.toml")))
]

ODD: list[Any] = [
    float("nan"),
    float("inf"),
    -1,
    0,
    2**31,
    2**70,
    10**400,
    1.5,
    True,
    "",
    " ",
    "cpu",
    "GPU.0",
    "HETERO:",
    "demo:../x",
    "a\0b",
    "\u2028\x1b[31m",
    "x" * 5000,
    [],
    {},
    [[]],
    [{}],
    {"file": "none.txt"},
    {"file": "a\0b"},
    {"": {"": 1}},
    ["CPU", "CPU"],
    [1, 1.0, True],
    datetime.date(1979, 5, 27),
    datetime.datetime(1979, 5, 27, 7, 32),
    datetime.time(7, 32),
]
SNIPPETS = [
    "[",
    "]",
    "[[grid]]",
    "[[grid",
    "=",
    '"',
    '"""',
    "'",
    "#",
    "\n",
    "\r",
    "\0",
    "\ufeff",
    "\u2028",
    "{",
    "}",
]
SNIPPETS += [
    ",",
    "1979-05-27",
    "nan",
    "0x",
    "9" * 5000,
    "[" * 3000,
    "\\u0000",
    "\ud800",
    "é",
    ".",
    "a.a.a.a = 1\n",
]


def clear(error: SpecError) -> None:
    for text in (str(error), *(issue.message for issue in error.issues)):
        assert text
        assert text.isprintable()
        assert len(text.splitlines()) == 1
    assert error.line is None or error.line >= 1


def judged(text: str) -> None:
    """A sweep that writes and reads back, or a clear error; the editor's list agrees with it."""
    try:
        sweep = parse_sweep(text)
    except SpecError as error:
        clear(error)
        assert check_text(text, None) == list(error.issues)
        assert error.place or error.line or "MiB" in error.message
    else:
        assert isinstance(sweep, Sweep)
        assert check_text(text, None) == []
        assert parse_sweep(dump_sweep(sweep)) == sweep


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_characters_changed(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 12))
        put = data.draw(st.sampled_from(SNIPPETS) | st.text(max_size=3))
        text = text[:start] + put + text[start + length :]
    judged(text)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_lines_moved_doubled_and_left_out(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(TEXTS)).splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        source, target = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["move", "double", "drop"])):
            case "move":
                lines.insert(target, lines.pop(source))
            case "double":
                lines.insert(target, lines[source])
            case _:
                del lines[source]
    judged("\n".join(lines))


def mutated(value: Any, data: st.DataObject) -> Any:
    """The value with one part of it replaced, removed, renamed or doubled."""
    deeper = bool(value) and isinstance(value, dict | list) and data.draw(st.integers(0, 4)) > 0
    if not deeper:
        return data.draw(st.sampled_from(ODD))
    if isinstance(value, list):
        index = data.draw(st.integers(0, len(value) - 1))
        match data.draw(st.sampled_from(["in", "drop", "double"])):
            case "in":
                return [*value[:index], mutated(value[index], data), *value[index + 1 :]]
            case "drop":
                return [*value[:index], *value[index + 1 :]]
            case _:
                return [*value, value[index]]
    key = data.draw(st.sampled_from(sorted(value)))
    rest = {name: item for name, item in value.items() if name != key}
    match data.draw(st.sampled_from(["in", "in", "drop", "rename", "add"])):
        case "in":
            return {**value, key: mutated(value[key], data)}
        case "drop":
            return rest
        case "rename":
            return {**rest, data.draw(st.sampled_from([key[:-1], key.upper(), "", "\0", "é"])): value[key]}
        case _:
            return {**value, data.draw(st.text(max_size=4)): data.draw(st.sampled_from(ODD))}


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_structure_changed(data: st.DataObject) -> None:
    document = tomllib.loads(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 3))):
        document = mutated(document, data)
        if not isinstance(document, dict):
            return
    try:
        text = tomli_w.dumps(document)
    except (ValueError, UnicodeEncodeError):
        return  # Not even the writer knows this as TOML (a number of 400 digits, half a character).
    judged(text)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bytes_of_a_file_changed(tmp_path_factory: Any, data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from(TEXTS)).encode("utf-8"))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.getbasetemp() / "mutated.toml"
    file.write_bytes(bytes(raw))
    try:
        load_sweep(file)
    except SpecError as error:
        clear(error)
        assert str(file) in str(error)
