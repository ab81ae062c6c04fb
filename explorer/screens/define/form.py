"""The form's rows, made from the file's content: pure, the text is the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from explorer.screens.define.fields import LIMITS, PROTOCOL, SWEEP, Field, axes_of, axis
from sweeps.spec.errors import PlacePath, place_text

RowKind = Literal["section", "value", "axis", "model", "prompt", "property", "grid", "add"]


@dataclass(frozen=True)
class Row:
    """One line of the form."""

    kind: RowKind
    path: PlacePath
    """The value's place in the file; of an `add` row the table to which it adds."""
    label: str
    value: str = ""
    chips: tuple[str, ...] = ()
    """The values of an axis."""
    is_set: bool = True
    """Whether the file says it; else `value` is the default."""
    about: str = ""
    field: Field | None = None

    @property
    def place(self) -> str:
        """The place as errors name it."""
        return place_text(self.path)


def rows(content: Mapping[str, Any]) -> list[Row]:
    """All rows in the file's order of importance: what is crossed comes last because it is longest."""
    found = [Row("section", (), "Sweep")]
    found += [_value((field.name,), field, content) for field in SWEEP]
    found += _models(_table(content, "models"))
    found += _prompts(_table(content, "prompts"))
    grids = content.get("grid")
    for index, grid in enumerate(grids if isinstance(grids, list) else []):
        if isinstance(grid, Mapping):
            found += _grid(index, grid)
    found.append(Row("add", ("grid",), "add a grid"))
    protocol = _table(content, "protocol")
    found.append(Row("section", ("protocol",), "Protocol"))
    found += [_value(("protocol", field.name), field, protocol) for field in PROTOCOL]
    limits = _table(protocol, "limits_s")
    found.append(Row("section", ("protocol", "limits_s"), "Limits, seconds without progress"))
    found += [_value(("protocol", "limits_s", field.name), field, limits) for field in LIMITS]
    found += _devices(_table(content, "devices"))
    return found


def points(grid: Mapping[str, Any]) -> int:
    """How many configurations a grid spans: the product of its axes' lengths."""
    product = 1
    for key, value in grid.items():
        if key != "kind" and isinstance(value, list):
            product *= len(value)
    return product


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    return value if isinstance(value, Mapping) else {}


def shown(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(shown(item) for item in value)
    return " ".join(str(value).split())


def _value(path: PlacePath, field: Field, table: Mapping[str, Any]) -> Row:
    value = table.get(field.name)
    is_set = value is not None
    text = shown(value if is_set else "" if field.default is None else field.default)
    return Row("value", path, field.name, text, (), is_set, field.about, field)


def _models(table: Mapping[str, Any]) -> list[Row]:
    found = [Row("section", ("models",), "Models")]
    found += [Row("model", ("models", name), name, shown(folder)) for name, folder in table.items()]
    return [*found, Row("add", ("models",), "add a model")]


def _prompts(table: Mapping[str, Any]) -> list[Row]:
    found = [Row("section", ("prompts",), "Prompts")]
    for name, prompt in table.items():
        text = f"file {prompt.get('file')}" if isinstance(prompt, Mapping) else shown(prompt)
        found.append(Row("prompt", ("prompts", name), name, text))
    return [*found, Row("add", ("prompts",), "add a prompt")]


def _grid(index: int, grid: Mapping[str, Any]) -> list[Row]:
    kind = grid.get("kind")
    count = points(grid)
    title = f"Grid {index + 1}  {kind}  {count} point" + ("s" if count != 1 else "")
    found = [Row("grid", ("grid", index), title)]
    known = axes_of(str(kind))
    names = [name for name in known if name in grid]
    names += [name for name in grid if name not in known and name != "kind"]
    for name in names:
        value = grid[name]
        items: Sequence[Any] = value if isinstance(value, list) else [value]
        field = axis(name)
        path = ("grid", index, name)
        found.append(Row("axis", path, name, "", tuple(map(shown, items)), True, field.about, field))
    return [*found, Row("add", ("grid", index), "add an axis")]


def _devices(table: Mapping[str, Any]) -> list[Row]:
    found = [Row("section", ("devices",), "Device properties")]
    for device, properties in table.items():
        for name, value in properties.items() if isinstance(properties, Mapping) else ():
            label = f"{device} {name}"
            found.append(Row("property", ("devices", device, name), label, shown(value)))
    return [*found, Row("add", ("devices",), "add a device property")]
