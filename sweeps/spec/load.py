"""Sweep files in: text -> `Sweep`, or every fault with its place.

TOML is read by `tomllib`; types are `msgspec`'s; the rules are in `checks`.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from sweeps.spec.checks import Fault, document_faults
from sweeps.spec.errors import SpecError, SpecIssue, one_line, place_text
from sweeps.spec.model import Sweep
from sweeps.spec.places import Places, scan
from sweeps.spec.resolve import model_faults, prompt_faults

LARGEST_FILE: Final = 1 << 20
"""Bytes a sweep file may have; the largest sensible one is far below."""
DEEPEST: Final = 16
"""Nesting a document may have before it is refused unread; a sweep needs four levels."""

_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_HINTS: Final = {
    "Invalid value": "a text needs quotes, a list stands in [ ]",
    "Unclosed array": "a list ends with ]",
    "Illegal character '\\n'": 'a text ends on its own line, or stands in """',
    "Cannot overwrite a value": "the key stands twice",
    "Cannot declare": "the table stands twice",
    "Expected '='": "a line reads key = value",
    "Unescaped '\\'": "write \\\\ or / in paths, or use 'single quotes'",
}


def load_sweep(path: str | os.PathLike[str]) -> Sweep:
    """The sweep of a file. Prompt files must be there; model folders are the plan's business.

    Raises SpecError (the first fault; `.issues` has them all) and nothing else.
    """
    text = read_text(path)
    return _sweep(text, Path(path).parent, str(path))


def parse_sweep(text: str) -> Sweep:
    """The sweep of a text; prompt files are not looked for. Raises SpecError."""
    return _sweep(text, None, "")


def check_text(text: str, folder: Path | None, *, models: bool = False) -> list[SpecIssue]:
    """Every fault of a text, for an editor; empty when it is a sweep.

    `folder` is where the file is (or will be) kept: relative prompt files are looked for there, and the
    models' folders too when `models` is set. None looks for no file.
    """
    return _read(text, folder, models)[1]


def read_text(path: str | os.PathLike[str]) -> str:
    """A sweep file's text. Raises SpecError when it is not there, too large, or not UTF-8."""
    file = str(path)
    try:
        with Path(path).open("rb") as handle:
            data = handle.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise SpecError("no such file; give the path of a sweep file (.toml)", file=file) from None
    except IsADirectoryError:
        raise SpecError("is a folder; give the path of a sweep file (.toml)", file=file) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot be read ({reason})", file=file) from None
    if len(data) > LARGEST_FILE:
        raise SpecError("is larger than 1 MiB; this is no sweep file", file=file)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SpecError("is UTF-16; save it as UTF-8", line=1, column=1, file=file)
    if data.startswith(b"\xef\xbb\xbf"):
        raise SpecError("begins with a byte-order mark; save it as UTF-8 without BOM", "", 1, 1, file)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise SpecError(message, "", line, column, file) from None


def locate(issue: SpecIssue, text: str) -> SpecIssue:
    """The issue with the line and column that its place has in `text`."""
    places = scan(text)
    wanted = {place_text(path): path for path in (*places.keys, *places.values)}
    place = issue.place
    while place and place not in wanted:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    position = places.position(wanted[place]) if place else None
    if position is None:
        return issue
    return msgspec.structs.replace(issue, line=position[0], column=position[1])


def _sweep(text: str, folder: Path | None, file: str) -> Sweep:
    sweep, issues = _read(text, folder, False)
    if sweep is None:
        raise SpecError.of(issues, file)
    return sweep


def _read(text: str, folder: Path | None, models: bool) -> tuple[Sweep | None, list[SpecIssue]]:
    """Either a sweep and no issue, or None and at least one."""
    document, broken = _document(text)
    if broken is not None:
        return None, [broken]
    faults = document_faults(document)
    sweep: Sweep | None = None
    if not faults:
        try:
            sweep = msgspec.convert(document, Sweep)
        except msgspec.ValidationError as error:
            # Not reached as long as `checks` is as strict as the structs; never a traceback, though.
            faults = [Fault((), one_line(str(error)))]
    if sweep is not None and folder is not None:
        faults = prompt_faults(sweep, folder) + (model_faults(sweep, folder) if models else [])
    if not faults:
        return sweep, []
    places = scan(text)
    return None, [_issue(fault, places) for fault in faults]


def _issue(fault: Fault, places: Places) -> SpecIssue:
    line, column = places.position(fault.path, fault.on_key) or (None, None)
    return SpecIssue(one_line(fault.message), place_text(fault.path), line, column)


def _document(text: str) -> tuple[dict[str, Any], SpecIssue | None]:
    if len(text) > LARGEST_FILE:
        return {}, SpecIssue("is larger than 1 MiB; this is no sweep file")
    if text.startswith("\ufeff"):
        return {}, SpecIssue("begins with a byte-order mark; save it as UTF-8 without BOM", "", 1, 1)
    surrogate = re.search("[\ud800-\udfff]", text)
    if surrogate:
        line, column = Places(text).line_column(surrogate.start())
        return {}, SpecIssue("holds half a character; save the file as UTF-8", "", line, column)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return {}, _syntax_issue(str(error), text)
    except RecursionError:
        return {}, _too_deep(text)
    except (ValueError, OverflowError) as error:
        # Python refuses to read integers of thousands of digits and says so with a plain ValueError.
        return {}, _too_long_number(text) or SpecIssue(f"TOML: {one_line(str(error))}")
    return (document, None) if _deepest(document) <= DEEPEST else ({}, _too_deep(text))


def _syntax_issue(message: str, text: str) -> SpecIssue:
    match = _TOML_PLACE.search(message)
    what = _TOML_PLACE.sub("", message)
    hint = next((hint for sign, hint in _HINTS.items() if what.startswith(sign)), "")
    said = f"TOML: {one_line(what)}" + (f"; {hint}" if hint else "")
    places = scan(text)
    if match and match.group(1):
        line, column = int(match.group(1)), int(match.group(2))
    else:
        line, column = places.line_column(len(places.text))
    return SpecIssue(said, place_text(places.last_before(line)), line, column)


def _too_long_number(text: str) -> SpecIssue | None:
    places = scan(text)
    match = re.search(r"\d[\d_]{1000,}", places.text)
    if not match:
        return None
    line, column = places.line_column(match.start())
    place = place_text(places.last_before(line))
    return SpecIssue("a number of thousands of digits; at most 2147483647", place, line, column)


def _too_deep(text: str) -> SpecIssue:
    """Where the nesting is deepest; its first key stands for the place, which would be a long one."""
    places = scan(text)
    deepest = max((*places.values, *places.keys), key=len, default=())
    line, column = places.position(deepest[:1], on_key=True) or (None, None)
    message = f"is nested too deeply; a sweep has at most {DEEPEST} levels"
    return SpecIssue(message, place_text(deepest[:1]), line, column)


def _deepest(document: object) -> int:
    """Levels of tables and lists, counted without recursion."""
    level, deepest = [document], 0
    while level:
        deepest += 1
        inner: list[object] = []
        for item in level:
            inner.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        level = inner
    return deepest
