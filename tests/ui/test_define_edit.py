"""The form's pen: what it changes reads back, everything else keeps its bytes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.screens.define import textedit
from explorer.screens.define.editing import scalar
from explorer.screens.define.fields import axes_of, axis, parse, parse_list
from explorer.screens.define.form import points, rows
from explorer.screens.define.formview import by_row
from sweeps import paths
from sweeps.spec.errors import PlacePath

PRESETS = sorted(paths.presets().glob("*.toml"))
preset = pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)

SMALL = """\
name = "small"   # the name

[models]  # folders
target = "demo:target"

[prompts]
p = "x"

# first
[[grid]]
kind = "plain"
model = "target"  # one
device = ["CPU",  # slow
          "GPU"]  # fast

# second
[[grid]]
kind = "plain"
model = ["target"]
device = "CPU"
"""


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


def at(content: Any, path: PlacePath) -> Any:
    for part in path:
        content = content[part]
    return content


@preset
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("name",), "other"),
        (("description",), 'with "quotes" and \\'),
        (("protocol", "reps"), 7),
        (("protocol", "cooldown_s"), 1.5),
        (("protocol", "ignore_eos"), False),
        (("protocol", "limits_s", "stall"), 77.0),
        (("models", "a.b"), "models/x"),
        (("prompts", "new"), {"file": "x.txt"}),
        (("devices", "NPU", "NPUW_DEVICES"), "CPU"),
        (("devices", "GPU.0", "PERFORMANCE_HINT"), "LATENCY"),
        (("grid", 0, "kv_cache_precision"), ["u8", "f16"]),
        (("grid", 0, "properties"), {"A": 1, "B": "x"}),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_value_is_set_and_nothing_else_changes(path: Path, place: PlacePath, value: Any) -> None:
    text = path.read_text(encoding="utf-8")
    changed = textedit.set_value(text, place, value).apply(text)
    before, after = tomllib.loads(text), tomllib.loads(changed)
    assert at(after, place) == value
    assert comments(changed) == comments(text)
    for key in before.keys() - {place[0]}:
        assert after[key] == before[key]


@preset
def test_items_come_and_go(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for index, grid in enumerate(tomllib.loads(text)["grid"]):
        for key, value in grid.items():
            items = value if isinstance(value, list) else [value]
            place = ("grid", index, key)
            more = textedit.add_item(text, place, "zz").apply(text)
            assert at(tomllib.loads(more), place) == [*items, "zz"]
            for number in range(len(items)):
                less = tomllib.loads(textedit.remove_item(text, place, number).apply(text))["grid"][index]
                assert less.get(key, []) == items[:number] + items[number + 1 :]


@preset
def test_grids_come_and_go(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    grids = tomllib.loads(text)["grid"]
    for index in range(len(grids)):
        twice = tomllib.loads(textedit.duplicate_grid(text, index).apply(text))["grid"]
        assert twice == [*grids[: index + 1], grids[index], *grids[index + 1 :]]
        fewer = tomllib.loads(textedit.remove_grid(text, index).apply(text)).get("grid", [])
        assert fewer == grids[:index] + grids[index + 1 :]
    added = textedit.add_grid(text, {"kind": "plain", "model": "m", "device": ["CPU"]}).apply(text)
    assert tomllib.loads(added)["grid"] == [*grids, {"kind": "plain", "model": "m", "device": ["CPU"]}]


def test_comments_inside_a_list_stay() -> None:
    place = ("grid", 0, "device")
    more = textedit.add_item(SMALL, place, "NPU").apply(SMALL)
    assert at(tomllib.loads(more), place) == ["CPU", "GPU", "NPU"]
    assert comments(more) == comments(SMALL)


def test_a_grid_takes_its_own_comment_along_only() -> None:
    left = textedit.remove_grid(SMALL, 0).apply(SMALL)
    assert "# first" not in left and "# second" in left and "# folders" in left
    left = textedit.remove_grid(SMALL, 1).apply(SMALL)
    assert "# first" in left and "# second" not in left


def test_unset_takes_the_line() -> None:
    left = textedit.unset(SMALL, ("models", "target")).apply(SMALL)
    assert tomllib.loads(left)["models"] == {}
    inline = "a = { x = 1, y = 2 }\n[protocol]\nlimits_s = { stall = 3.0 }\n"
    left = textedit.unset(inline, ("a", "x")).apply(inline)
    assert tomllib.loads(left)["a"] == {"y": 2}
    left = textedit.unset(inline, ("a", "y")).apply(inline)
    assert tomllib.loads(left)["a"] == {"x": 1}
    left = textedit.unset(inline, ("protocol", "limits_s", "stall")).apply(inline)
    assert tomllib.loads(left)["protocol"] == {"limits_s": {}}
    with pytest.raises(KeyError):
        textedit.unset(SMALL, ("models", "nobody"))
    with pytest.raises(IndexError):
        textedit.remove_grid(SMALL, 9)


def test_an_empty_text_can_be_filled() -> None:
    text = ""
    for place, value in ((("name",), "n"), (("models", "m"), "x"), (("protocol", "limits_s", "stall"), 1.0)):
        text = textedit.set_value(text, place, value).apply(text)
    text = textedit.add_grid(text, {"kind": "plain"}).apply(text)
    assert tomllib.loads(text) == {
        "name": "n",
        "models": {"m": "x"},
        "protocol": {"limits_s": {"stall": 1.0}},
        "grid": [{"kind": "plain"}],
    }


SCALARS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.integers(-(2**31), 2**31),
    st.booleans(),
)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["set", "add", "remove"]), SCALARS), max_size=8))
def test_any_series_of_edits_reads_back(edits: list[tuple[str, Any]]) -> None:
    text, place = SMALL, ("grid", 1, "device")
    expected: list[Any] = ["CPU"]
    for verb, value in edits:
        if verb == "set":
            text, expected = textedit.set_value(text, place, [value]).apply(text), [value]
        elif verb == "add":
            text, expected = textedit.add_item(text, place, value).apply(text), [*expected, value]
        elif expected:
            text, expected = textedit.remove_item(text, place, 0).apply(text), expected[1:]
        grid = tomllib.loads(text)["grid"]
        found = grid[1].get("device", [])
        assert (found if isinstance(found, list) else [found]) == expected
        assert grid[0] == tomllib.loads(SMALL)["grid"][0]


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("num_assistant_tokens", "1, 3,5", [1, 3, 5]),
        ("device", "CPU, GPU.0", ["CPU", "GPU.0"]),
        ("device", "HETERO:GPU.0,GPU.1; CPU", ["HETERO:GPU.0,GPU.1", "CPU"]),
        ("properties", '{ A = 1, B = "x" }', [{"A": 1, "B": "x"}]),
        ("assistant_confidence_threshold", "0.4", [0.4]),
    ],
)
def test_lists_are_typed_between_commas(name: str, typed: str, value: list[Any]) -> None:
    assert parse_list(axis(name), typed) == value


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("num_assistant_tokens", "x", "a whole number"),
        ("num_assistant_tokens", "0", "1 or more"),
        ("num_assistant_tokens", "true", "a whole number"),
        ("num_assistant_tokens", " , ", "at least one value"),
        ("device", "cpu", "say CPU"),
        ("assistant_confidence_threshold", "7", "out of range"),
        ("attention_backend", "PAA", "did you mean"),
        ("properties", "3", "a table"),
    ],
)
def test_wrong_values_say_what_would_be_right(name: str, typed: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_list(axis(name), typed)


def test_scalars_of_properties() -> None:
    assert [scalar(t) for t in ("3", "true", '"3"', "LATENCY", "[1]", "")] == [
        3,
        True,
        "3",
        "LATENCY",
        "[1]",
        "",
    ]
    assert parse(axis("kv_cache_precision"), " u8 ") == "u8"


def test_the_form_has_a_row_for_everything_the_file_says() -> None:
    content = tomllib.loads(SMALL)
    found = {row.place: row for row in rows(content)}
    assert found["grid[0].device"].chips == ("CPU", "GPU")
    assert found["models.target"].value == "demo:target"
    assert found["protocol.reps"].value == "3" and not found["protocol.reps"].is_set
    assert points(content["grid"][0]) == 2
    # What does not belong in a grid is shown too: nothing that the file says may be invisible.
    odd = rows({"grid": [{"kind": "plain", "draft": "d"}, 3], "models": 3, "prompts": {"p": 3}})
    assert "grid[0].draft" in {row.place for row in odd}
    assert set(axes_of("speculative")) >= {"target", "draft_device", "num_assistant_tokens"}


def test_faults_stand_at_the_nearest_row() -> None:
    places = ["grid[0]", "grid[0].device", "models.m"]
    faults = {"grid[0].device[1]": "a", "grid[0].draft": "b", "models.m": "c", "name": "d"}
    assert by_row(places, faults) == {"grid[0].device": "a", "grid[0]": "b", "models.m": "c"}
