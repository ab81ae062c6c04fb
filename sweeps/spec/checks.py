"""The rules of a sweep file, over the plain document that `tomllib` returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sweeps.spec import keys, values
from sweeps.spec.errors import PlacePath, shown, suggestion

Document = Mapping[str, Any]


class Fault(NamedTuple):
    """One fault: where it is, what is said, and whether the key (not the value) is meant."""

    path: PlacePath
    message: str
    on_key: bool = False


def document_faults(doc: Document) -> list[Fault]:
    """All faults of a document, in the order of its tables; empty when it is a sweep."""
    models = doc.get("models")
    names = list(models) if isinstance(models, Mapping) else None
    return [
        *_unknown((), doc, keys.TOP),
        *_name(doc),
        *_protocol(doc.get("protocol", {})),
        *_models(doc),
        *_devices(doc.get("devices", {})),
        *_prompts(doc),
        *_grids(doc, names),
    ]


def _unknown(path: PlacePath, table: Mapping[str, Any], known: Sequence[str]) -> Iterator[Fault]:
    for key in table:
        if key not in known:
            home = _home_of(key) if not path else None
            hint = f"it belongs in {home}" if home else suggestion(key, known)
            yield Fault((*path, key), f"unknown key {shown(key)}; {hint}", on_key=True)


def _home_of(key: str) -> str | None:
    """The table that a key which stands at the top level belongs in."""
    if key in keys.PROTOCOL or key == "limits_s":
        return "[protocol]"
    if key in keys.LIMITS:
        return "limits_s of [protocol]"
    return "[[grid]]" if key in (*keys.AXES, "kind") else None


def _one(path: PlacePath, check: Callable[[Any], str | None], value: object) -> Iterator[Fault]:
    problem = check(value)
    if problem:
        yield Fault(path, problem)


def _missing(path: PlacePath, key: str, hint: str) -> Fault:
    return Fault((*path, key), f"is missing; {hint}", on_key=True)


def _table(path: PlacePath, value: object) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(path, values.wrong_type(value, f"a table [{path[-1]}]"))


def _name(doc: Document) -> Iterator[Fault]:
    if "name" in doc:
        yield from _one(("name",), values.folder_name, doc["name"])
    else:
        yield _missing((), "name", 'say name = "my-sweep"')
    yield from _one(("description",), values.text, doc.get("description", ""))


def _protocol(table: object) -> Iterator[Fault]:
    yield from _table(("protocol",), table)
    if not isinstance(table, Mapping):
        return
    yield from _unknown(("protocol",), table, (*keys.PROTOCOL, "limits_s"))
    for key, check in keys.PROTOCOL.items():
        if key in table:
            yield from _one(("protocol", key), check, table[key])
    limits = table.get("limits_s", {})
    place: PlacePath = ("protocol", "limits_s")
    yield from _table(place, limits)
    if isinstance(limits, Mapping):
        yield from _unknown(place, limits, keys.LIMITS)
        above_zero = values.number(0, open_low=True)
        for key in keys.LIMITS:
            if key in limits:
                yield from _one((*place, key), above_zero, limits[key])


def _models(doc: Document) -> Iterator[Fault]:
    models = doc.get("models")
    if models is None:
        yield _missing((), "models", 'a table [models] with name = "folder of an OpenVINO IR"')
        return
    yield from _table(("models",), models)
    if isinstance(models, Mapping):
        if not models:
            yield Fault(("models",), 'is empty; name = "folder of an OpenVINO IR" is needed')
        for name, folder in models.items():
            yield from _label(("models", name), name)
            yield from _one(("models", name), values.filled, folder)


def _label(path: PlacePath, name: str) -> Iterator[Fault]:
    problem = values.label(name)
    if problem:
        yield Fault(path, problem, on_key=True)


def _devices(devices: object) -> Iterator[Fault]:
    yield from _table(("devices",), devices)
    if not isinstance(devices, Mapping):
        return
    for name, properties in devices.items():
        problem = values.device(name)
        if problem:
            yield Fault(("devices", name), problem, on_key=True)
        yield from _properties(("devices", name), properties)


def _properties(path: PlacePath, table: object) -> Iterator[Fault]:
    yield from _table(path, table)
    if not isinstance(table, Mapping):
        return
    for key, value in table.items():
        yield from _label((*path, key), key)
        yield from _one((*path, key), values.scalar, value)
        # The engine decides which baseline a row is divided by, so it has to be an axis.
        if key == keys.PROPERTY_OF["attention_backend"]:
            message = "is an axis of a grid; say attention_backend there"
            yield Fault((*path, key), message, on_key=True)


def _prompts(doc: Document) -> Iterator[Fault]:
    prompts = doc.get("prompts")
    if prompts is None:
        yield _missing((), "prompts", 'a table [prompts] with name = "text"')
        return
    yield from _table(("prompts",), prompts)
    if not isinstance(prompts, Mapping):
        return
    if not prompts:
        yield Fault(("prompts",), 'is empty; name = "text" or name = { file = "x.txt" } is needed')
    for name, prompt in prompts.items():
        path: PlacePath = ("prompts", name)
        yield from _label(path, name)
        if isinstance(prompt, Mapping):
            yield from _unknown(path, prompt, ("file",))
            if "file" in prompt:
                yield from _one((*path, "file"), values.filled, prompt["file"])
            else:
                yield _missing(path, "file", 'say { file = "x.txt" }')
        elif isinstance(prompt, str):
            yield from _one(path, values.filled, prompt)
        else:
            yield Fault(path, values.wrong_type(prompt, 'a text in quotes or { file = "x.txt" }'))


def _grids(doc: Document, models: list[str] | None) -> Iterator[Fault]:
    grids = doc.get("grid")
    if grids is None:
        yield _missing((), "grid", "at least one table [[grid]]")
    elif isinstance(grids, Mapping):
        yield Fault(("grid",), "is a single table; write [[grid]] with double brackets", on_key=True)
    elif not isinstance(grids, list):
        yield Fault(("grid",), values.wrong_type(grids, "tables [[grid]]"))
    elif not grids:
        yield Fault(("grid",), "is empty; at least one table [[grid]]")
    else:
        for index, grid in enumerate(grids):
            if isinstance(grid, Mapping):
                yield from _grid(("grid", index), grid, models)
            else:
                yield Fault(("grid", index), values.wrong_type(grid, "a table [[grid]]"))


def _grid(path: PlacePath, grid: Mapping[str, Any], models: list[str] | None) -> Iterator[Fault]:
    kind = grid.get("kind")
    known_kind = isinstance(kind, str) and kind in keys.KINDS
    if kind is None:
        yield _missing(path, "kind", f"one of {', '.join(keys.KINDS)}")
    else:
        yield from _one((*path, "kind"), values.choice(*keys.KINDS), kind)
    yield from _unknown(path, grid, ("kind", *keys.AXES))
    if known_kind:
        yield from _kind_keys(path, str(kind), grid)
    points = 1
    for axis in keys.AXES:
        if axis in grid:
            yield from _axis((*path, axis), grid[axis], _axis_check(axis, models))
            points *= len(grid[axis]) if isinstance(grid[axis], list) else 1
    if points > keys.LARGEST_GRID:
        message = f"makes {points:,} runs; at most {keys.LARGEST_GRID:,} (split it or shorten an axis)"
        yield Fault(path, message)
    yield from _said_twice(path, grid)


def _kind_keys(path: PlacePath, kind: str, grid: Mapping[str, Any]) -> Iterator[Fault]:
    wanted = keys.KINDS[kind]
    for key in wanted.required:
        if key not in grid:
            yield _missing(path, key, f'kind "{kind}" needs {", ".join(wanted.required)}')
    if kind == "speculative" and not {"num_assistant_tokens", "assistant_confidence_threshold"} & set(grid):
        hint = "say how many tokens to propose, such as [1, 3, 5] (or assistant_confidence_threshold)"
        yield _missing(path, "num_assistant_tokens", hint)
    takes = (*wanted.required, *wanted.optional)
    for key in grid:
        if key in keys.AXES and key not in takes:
            same = keys.SAME_AS.get(key)
            hint = f"say {same}" if same in takes else f"it takes {', '.join(takes)}"
            yield Fault((*path, key), f'does not belong to kind "{kind}"; {hint}', on_key=True)


def _axis_check(axis: str, models: list[str] | None) -> Callable[[Any], str | None] | None:
    if axis in keys.NAME_AXES:
        return values.member(models, "models")
    if axis in keys.DEVICE_AXES:
        return values.device
    return keys.VALUE_AXES.get(axis)


def _axis(path: PlacePath, value: object, check: Callable[[Any], str | None] | None) -> Iterator[Fault]:
    """An axis is a value or a list of values; `check` is None for the axis of property tables."""
    items = value if isinstance(value, list) else [value]
    if not items:
        yield Fault(path, "is empty; an axis needs at least one value, or leave it out")
    seen: set[str] = set()
    for index, item in enumerate(items):
        place = (*path, index) if isinstance(value, list) else path
        faults = [*(_properties(place, item) if check is None else _one(place, check, item))]
        yield from faults
        if not faults:
            mark = _mark(item)
            if mark in seen:
                what = "the same table" if isinstance(item, Mapping) else shown(item)
                yield Fault(place, f"{what} stands twice in this axis; leave one out")
            seen.add(mark)


def _mark(item: object) -> str:
    """Equal for equal values of one axis, whatever the order of a table's keys."""
    if isinstance(item, Mapping):
        return repr(sorted(item.items()))
    is_number = isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item)
    return repr(float(item)) if is_number else repr(item)  # type: ignore[arg-type]


def _said_twice(path: PlacePath, grid: Mapping[str, Any]) -> Iterator[Fault]:
    """An axis and a property of the same name in one grid would contradict each other."""
    tables = grid.get("properties")
    many = isinstance(tables, list)
    for index, table in enumerate(tables if isinstance(tables, list) else [tables]):
        if not isinstance(table, Mapping):
            continue
        for axis in ("kv_cache_precision", "inference_num_threads"):
            name = keys.PROPERTY_OF[axis]
            if axis in grid and name in table:
                place = (*path, "properties", index, name) if many else (*path, "properties", name)
                yield Fault(place, f"is said by {axis} of this grid already; leave one out", on_key=True)
