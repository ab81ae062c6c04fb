"""The position scanner against `tomllib`: what stands at a place is the value at that place."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.paths import presets
from sweeps.spec.errors import PlacePath
from sweeps.spec.places import scan

FILES = [Path(__file__).parents[1] / "data" / "sweeps" / "full.toml", *sorted(presets().glob("*.toml"))]

SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.datetimes()
    | st.dates()
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def leaves(path: PlacePath, value: Any) -> Iterator[tuple[PlacePath, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves((*path, index), item)
    else:
        yield path, value


def agree(text: str) -> None:
    places = scan(text)
    for path, value in leaves((), tomllib.loads(text)):
        start, end = places.values[path]
        assert tomllib.loads(f"x = {places.text[start:end]}")["x"] == value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_places_of_real_files(file: Path) -> None:
    agree(file.read_text(encoding="utf-8"))


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans())
def test_places_of_any_document(document: dict[str, Any], multiline: bool) -> None:
    agree(tomli_w.dumps(document, multiline_strings=multiline))


TRICKY = '''
a.b."c d".'e.f' = 1  # dotted
list = [ # comment ]
  "x", # "y"
  [ 1, [ 2 ] ],
  { k = """]"""", v.w = [ 3 ] },
]
lit = \'\'\'a'' ]\'\'\'
[[t]]
[[t.u]]
x = 1
[[t.u]]
x = 2
[t.v]
y = "\\"]"
[[t]]
[[t.u]]
x = 3 # last
'''


def test_places_of_awkward_shapes() -> None:
    agree(TRICKY)
    places = scan(TRICKY)
    assert places.position(("list", 1, 1, 0)) == (5, 10)
    assert places.position(("t", 0, "u", 1, "x")) == (13, 5)
    assert places.position(("t", 1, "u", 0, "x")) == (18, 5)
    assert places.position(("t", 1, "u", 0, "x"), on_key=True) == (18, 1)
    assert places.position(("t", 1, "none")) == (16, 1)
    assert places.position(("nowhere",)) is None


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("[]{}=.,#'\"\\ \n\rab1"), max_size=60))
def test_the_scanner_comes_to_an_end_on_anything(text: str) -> None:
    scan(text)
