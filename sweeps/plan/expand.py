"""Grids -> points: the product of each grid's axes, the grids one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sweeps.plan.model import Config
from sweeps.spec.errors import PlacePath
from sweeps.spec.model import Grid, Sweep

_AXES: Final = (
    "target",
    "target_device",
    "draft",
    "draft_device",
    "attention_backend",
    "kv_cache_precision",
    "inference_num_threads",
    "properties",
    "max_ngram_size",
    "assistant_confidence_threshold",
    "branching_factor",
    "tree_depth",
    "num_assistant_tokens",
)
"""Slowest axis first: rows of one target on one device stay together, NAT runs fastest."""

_IN_FILE: Final = {"target": "model", "target_device": "device"}
"""What the axes of a `plain` grid are called in the file."""


class Point(NamedTuple):
    """One point of a grid, and which value of which axis made it."""

    grid: int
    config: Config
    indexes: Mapping[str, int | None]
    """Axis -> index in its list, None where the file has a single value."""

    def place(self, axis: str | None = None) -> PlacePath:
        """Path in the file of this point's value of an axis, or of its grid."""
        if axis is None or axis not in self.indexes:
            return ("grid", self.grid)
        index = self.indexes[axis]
        key = _IN_FILE.get(axis, axis) if self.config.kind == "plain" else axis
        return ("grid", self.grid, key) if index is None else ("grid", self.grid, key, index)


def points(sweep: Sweep) -> Iterator[Point]:
    """All points of all grids: grids in file order, the values of each axis in file order."""
    for number, grid in enumerate(sweep.grid):
        yield from _points(number, grid)


def _points(number: int, grid: Grid) -> Iterator[Point]:
    axes = {axis: value for axis in _AXES if (value := _axis(grid, axis)) is not None}
    choices = [[*enumerate(value)] if isinstance(value, list) else [(None, value)] for value in axes.values()]
    for chosen in itertools.product(*choices):
        values = {axis: value for axis, (_, value) in zip(axes, chosen, strict=True)}
        indexes = {axis: index for axis, (index, _) in zip(axes, chosen, strict=True)}
        yield Point(number, Config(kind=grid.kind, **values), indexes)


def _axis(grid: Grid, axis: str) -> Any:
    return getattr(grid, _IN_FILE.get(axis, axis) if grid.kind == "plain" else axis)
