"""The form's pen: changes to a TOML text that touch one value and leave every comment where it is.

All functions are pure: text in, `Change` out. Values are written by tomli-w; where they stand is told by
the sweep file's own scanner. The texts must be TOML (the form is closed while they are not) with `\\n`
as line end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tomli_w

from sweeps.spec.errors import PlacePath
from sweeps.spec.places import Places, scan


class Change(NamedTuple):
    """Replace `text[start:end]` by `insert`."""

    start: int
    end: int
    insert: str

    def apply(self, text: str) -> str:
        """The changed text."""
        return text[: self.start] + self.insert + text[self.end :]


def literal(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        if not value:
            return "{}"
        return "{ " + ", ".join(f"{key_text(k)} = {literal(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    return tomli_w.dumps({"k": value}).removeprefix("k = ").rstrip("\n")


def key_text(key: str) -> str:
    """A key, quoted only if it must be."""
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")


def _span(places: Places, path: PlacePath) -> tuple[int, int] | None:
    """Start and end of a value, without the blanks that may follow it."""
    found = places.values.get(path)
    if found is None:
        return None
    start, end = found
    return start, start + len(places.text[start:end].rstrip())


def _line_end(text: str, at: int) -> int:
    """Offset of the end of the line that holds `at` (before its line feed)."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _headers(places: Places) -> list[tuple[int, PlacePath]]:
    """(offset, path) of the `[table]` and `[[array]]` headers, in the text's order; arrays by element."""
    found = [
        (offset, path)
        for path, offset in places.keys.items()
        if places.text.startswith("[", offset) and (path not in places.values)
    ]
    # An array of tables is noted for the array and for its first element: keep the element.
    elements = {path[:-1] for _, path in found if isinstance(path[-1], int)}
    return sorted((offset, path) for offset, path in found if path not in elements)


def _block(places: Places, path: PlacePath) -> tuple[int, int] | None:
    """Start of the header of a table and the end of its last pair or, without one, of the header's line."""
    headers = _headers(places)
    starts = [offset for offset, found in headers if found == path]
    if not starts:
        return None
    start = starts[0]
    later = min((offset for offset, _ in headers if offset > start), default=len(places.text))
    ends = [span_end for s, span_end in places.values.values() if start < s < later]
    return start, _line_end(places.text, max([start, *(end - 1 for end in ends)]))


def set_value(text: str, path: PlacePath, value: Any) -> Change:
    """Give `path` a value: where one stands it is replaced, else a line is added to its table."""
    places = scan(text)
    span = _span(places, path)
    if span is not None:
        return Change(*span, literal(value))
    *table, key = path
    pair = f"{key_text(str(key))} = {literal(value)}"
    inline = _span(places, tuple(table))
    if inline is not None:
        return _into_inline(text, inline, pair)
    block = _block(places, tuple(table))
    if block is not None:
        return Change(block[1], block[1], "\n" + pair)
    if not table:
        return _at_root(places, pair)
    header = "[" + ".".join(key_text(str(part)) for part in table) + "]"
    # A table that is not there yet comes before the grids, so that the grids stay the file's end.
    grids = [offset for offset, found in _headers(places) if found[0] == "grid"]
    at = _before_comments(text, min(grids)) if grids else len(text)
    lead = "" if at == 0 or text[:at].endswith("\n\n") else "\n" if text[:at].endswith("\n") else "\n\n"
    return Change(at, at, f"{lead}{header}\n{pair}\n" + ("\n" if grids else ""))


def _into_inline(text: str, span: tuple[int, int], pair: str) -> Change:
    closing = span[1] - 1
    inside = text[span[0] + 1 : closing]
    at = span[0] + 1 + len(inside.rstrip())
    return Change(at, closing, f", {pair} " if inside.strip() else f" {pair} ")


def _at_root(places: Places, pair: str) -> Change:
    """After the last pair that stands before the first header."""
    first = min((offset for offset, _ in _headers(places)), default=len(places.text))
    ends = [end for start, end in places.values.values() if start < first]
    if ends:
        at = _line_end(places.text, max(ends) - 1)
        return Change(at, at, "\n" + pair)
    return Change(0, 0, pair + "\n")


def _before_comments(text: str, offset: int) -> int:
    """Start of the comment lines that stand directly above the line at `offset`."""
    at = text.rfind("\n", 0, offset) + 1
    while at > 0:
        above = text.rfind("\n", 0, at - 1) + 1
        if not text[above:at].lstrip().startswith("#"):
            break
        at = above
    return at


def unset(text: str, path: PlacePath) -> Change:
    """Take a key away, with its line if nothing else stands there; a comment behind it goes with it.

    Raises:
        KeyError: The key is not in the text.
    """
    places = scan(text)
    span = _span(places, path)
    if span is None:
        raise KeyError(path)
    start, end = places.keys[path], span[1]
    inline = _span(places, path[:-1]) if len(path) > 1 else None
    if inline is not None:
        return Change(*_with_comma(text, start, end, inline), "")
    line = text.rfind("\n", 0, start) + 1
    stop = min(_line_end(text, end) + 1, len(text))
    return Change(line, stop, "")


def _with_comma(text: str, start: int, end: int, around: tuple[int, int]) -> tuple[int, int]:
    """The span of an element together with one of the commas beside it."""
    after = end
    while after < around[1] and text[after] in " \t\n":
        after += 1
    if after < around[1] and text[after] == ",":
        after += 1
        while text[after] in " \t":
            after += 1
        return start, after
    before = start
    while before > around[0] and text[before - 1] in " \t\n":
        before -= 1
    if text[before - 1] == ",":
        return before - 1, end
    return start, end


def add_item(text: str, path: PlacePath, item: Any) -> Change:
    """Add to the axis at `path`; a single value becomes a list."""
    places = scan(text)
    span = _span(places, path)
    if span is None:
        return set_value(text, path, [item])
    if not text.startswith("[", span[0]):
        return Change(*span, f"[{text[span[0] : span[1]]}, {literal(item)}]")
    items = item_spans(places, path)
    if not items:
        return Change(*span, literal([item]))
    at = items[-1][1]
    return Change(at, at, f", {literal(item)}")


def remove_item(text: str, path: PlacePath, index: int) -> Change:
    """Take an item from the axis at `path`; the last one takes the axis with it.

    Raises:
        IndexError: There is no such item.
    """
    places = scan(text)
    span = _span(places, path)
    if span is None:
        raise IndexError(index)
    if not text.startswith("[", span[0]):
        if index:
            raise IndexError(index)
        return unset(text, path)
    items = item_spans(places, path)
    start, end = items[index]
    if len(items) == 1:
        return unset(text, path)
    return Change(*_with_comma(text, start, end, span), "")


def item_spans(places: Places, path: PlacePath) -> list[tuple[int, int]]:
    """Spans of the items of an array, in order."""
    found: list[tuple[int, int]] = []
    while (span := _span(places, (*path, len(found)))) is not None:
        found.append(span)
    return found


def add_grid(text: str, pairs: Mapping[str, Any]) -> Change:
    """A new `[[grid]]` at the end of the text."""
    lines = "".join(f"{key_text(key)} = {literal(value)}\n" for key, value in pairs.items())
    lead = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return Change(len(text), len(text), f"{lead}[[grid]]\n{lines}")


def _grid_span(text: str, index: int) -> tuple[int, int]:
    places = scan(text)
    headers = _headers(places)
    at = next((offset for offset, found in headers if found == ("grid", index)), None)
    if at is None:
        raise IndexError(index)
    later = [offset for offset, found in headers if offset > at and found[:2] != ("grid", index)]
    end = _before_comments(text, min(later)) if later else len(text)
    return _before_comments(text, at), end


def remove_grid(text: str, index: int) -> Change:
    """Take a grid away, with the comment above it. Raises IndexError."""
    return Change(*_grid_span(text, index), "")


def duplicate_grid(text: str, index: int) -> Change:
    """The same grid again, right after it. Raises IndexError."""
    start, end = _grid_span(text, index)
    copy = text[start:end]
    lead = "" if copy.endswith("\n\n") else "\n" if copy.endswith("\n") else "\n\n"
    tail = "\n" if text[end:].strip() and not copy.endswith("\n\n") else ""
    return Change(end, end, lead + copy + tail)


def location(text: str, offset: int) -> tuple[int, int]:
    """(row, column) from 0, as a text area counts."""
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)


def after_edits(text: str, changes: Sequence[Change]) -> str:
    """Changes applied one after the other, each to the text that the one before left."""
    for change in changes:
        text = change.apply(text)
    return text
