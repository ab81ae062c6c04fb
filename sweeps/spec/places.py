"""Where each key and value of a TOML document stands.

`tomllib` gives values without positions, so this scanner walks a text that `tomllib` has accepted and
notes offsets. It judges nothing: on a text that is no TOML it stops and keeps what it has seen.
"""

from __future__ import annotations

import re
import tomllib

from sweeps.spec.errors import PlacePath

_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:""|")?', re.DOTALL),
    re.compile(r"'''.*?'''(?:''|')?", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


class Places:
    """Offsets of keys (or table headers) and of values, by path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.keys: dict[PlacePath, int] = {}
        self.values: dict[PlacePath, tuple[int, int]] = {}

    def position(self, path: PlacePath, on_key: bool = False) -> tuple[int, int] | None:
        """Line and column (from 1) of the value at `path`, or of its key.

        What is not in the file (a missing key) is found at the nearest table that holds it.
        """
        for length in range(len(path), 0, -1):
            part = path[:length]
            value = self.values.get(part)
            key = self.keys.get(part)
            if value is not None and not (on_key and key is not None):
                return self.line_column(value[0])
            if key is not None:
                return self.line_column(key)
        return None

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column (from 1) of an offset."""
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def last_before(self, line: int) -> PlacePath:
        """The path that begins last at or before a line: where a syntax error most likely is."""
        end = -1
        for _ in range(line):
            end = self.text.find("\n", end + 1)
            if end < 0:
                end = len(self.text)
                break
        starts = [(start, path) for path, (start, _) in self.values.items()]
        starts += [(start, path) for path, start in self.keys.items()]
        before = [item for item in starts if item[0] <= end]
        return max(before, key=lambda item: (item[0], len(item[1])))[1] if before else ()


class _LostError(Exception):
    """The text is not what a TOML document would have here."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places = Places(text)
        self.counts: dict[PlacePath, int] = {}
        """How many elements each array of tables has so far."""

    def document(self) -> None:
        table: PlacePath = ()
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> PlacePath:
        start = self.at
        double = self.text.startswith("[[", start)
        self.at += 2 if double else 1
        parts = self.key()
        self.expect("]]" if double else "]")
        path: PlacePath = ()
        for number, part in enumerate(parts, start=1):
            path = (*path, part)
            if number == len(parts) and double:
                index = self.counts.get(path, 0)
                self.counts[path] = index + 1
                self.places.keys.setdefault(path, start)
                path = (*path, index)
            elif path in self.counts:
                path = (*path, self.counts[path] - 1)
            self.places.keys.setdefault(path, start)
        return path

    def pair(self, table: PlacePath) -> None:
        start = self.at
        path = table
        for part in self.key():
            path = (*path, part)
            self.places.keys.setdefault(path, start)
        self.expect("=")
        self.skip(_SPACE)
        self.value(path)

    def key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self.skip(_SPACE)
            if self.peek() in ("'", '"'):
                # The library's own reader knows the escapes of a quoted key.
                parts.append(tomllib.loads(f"k = {self.string()}")["k"])
            else:
                parts.append(self.take(_BARE_KEY))
            self.skip(_SPACE)
            if self.peek() != ".":
                return parts
            self.at += 1

    def value(self, path: PlacePath) -> None:
        start = self.at
        first = self.peek()
        # Noted before its parts are read, so that a broken value still has its place.
        self.places.values[path] = (start, start)
        if first in ("'", '"'):
            self.string()
        elif first == "[":
            self.array(path)
        elif first == "{":
            self.inline_table(path)
        else:
            self.take(_BARE_VALUE)
        self.places.values[path] = (start, self.at)

    def array(self, path: PlacePath) -> None:
        self.at += 1
        index = 0
        while True:
            self.skip(_BLANK)
            if self.peek() == "]":
                self.at += 1
                return
            self.value((*path, index))
            index += 1
            self.skip(_BLANK)
            if self.peek() == ",":
                self.at += 1

    def inline_table(self, path: PlacePath) -> None:
        self.at += 1
        while True:
            self.skip(_BLANK)
            if self.peek() == "}":
                self.at += 1
                return
            self.pair(path)
            self.skip(_BLANK)
            if self.peek() == ",":
                self.at += 1

    def string(self) -> str:
        for pattern in _STRINGS:
            match = pattern.match(self.text, self.at)
            if match:
                self.at = match.end()
                return match.group()
        raise _LostError

    def expect(self, token: str) -> None:
        self.skip(_SPACE)
        if not self.text.startswith(token, self.at):
            raise _LostError
        self.at += len(token)

    def peek(self) -> str:
        if self.at >= len(self.text):
            raise _LostError
        return self.text[self.at]

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if not match:
            raise _LostError
        self.at = match.end()
        return match.group()

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()


def scan(text: str) -> Places:
    """Places of a document; of a broken one, the places up to where it breaks.

    Line ends are read as `tomllib` reads them (CR LF counts as one).
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    try:
        scanner.document()
    except (_LostError, RecursionError, tomllib.TOMLDecodeError):
        return scanner.places
    return scanner.places
