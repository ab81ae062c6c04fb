"""What the app and its helper process say to each other: one JSON object a line."""

from __future__ import annotations

from typing import Literal

import msgspec

from sweeps.plan.estimate import Estimate
from sweeps.plan.model import Plan


class Request(msgspec.Struct, omit_defaults=True):
    """`look`: facts of the models of a text; `plan`: its checked plan; `models`: folders to pick from;
    `start`: start a sweep file."""

    do: Literal["look", "plan", "models", "start"]
    text: str = ""
    folder: str = ""
    """Where relative paths of the text start; for `models` where to search besides."""
    results: str = ""
    file: str = ""
    only: list[str] = []


class Found(msgspec.Struct):
    """A model folder that can be picked."""

    written: str
    """As the sweep file would name it."""
    about: str


class Reply(msgspec.Struct, omit_defaults=True):
    """The fields that belong to the request; `fault` instead when it came to nothing."""

    fault: str = ""
    facts: dict[str, str] = {}
    """Name of a model in the text -> what is known of it."""
    pairs: dict[str, dict[str, str]] = {}
    """Name of a target -> name of a draft -> whether they are a pair."""
    devices: list[str] = []
    plan: Plan | None = None
    estimate: Estimate | None = None
    models: list[Found] = []
    started: str = ""
    """The results folder of the sweep that was started."""
