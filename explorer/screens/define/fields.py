"""What can stand in a sweep file, for the form: names, kinds of value, choices, one line about each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any, Final, Literal

from sweeps.spec import values
from sweeps.spec.devices import device_problem
from sweeps.spec.keys import DEVICE_AXES, KINDS, VALUE_AXES
from sweeps.spec.keys import LIMITS as LIMIT_KEYS
from sweeps.spec.keys import PROTOCOL as PROTOCOL_CHECKS
from sweeps.spec.model import Limits, Protocol

Value = Literal["text", "whole", "number", "toggle", "choice", "table"]


@dataclass(frozen=True)
class Field:
    """One key of the sweep file."""

    name: str
    value: Value
    about: str
    choices: tuple[str, ...] = ()
    """All that is allowed (`choice`), or what is usual (every other kind)."""
    default: Any = None


SWEEP: Final = (
    Field("name", "text", "names the results folder"),
    Field("description", "text", "one line for people"),
)
_PROTOCOL: Final = Protocol()
_LIMITS: Final = Limits()
PROTOCOL: Final = (
    Field(
        "max_new_tokens", "whole", "tokens a rep generates", ("64", "128", "256"), _PROTOCOL.max_new_tokens
    ),
    Field(
        "ignore_eos", "toggle", "go on past the end token, so that every rep has the same length", (), True
    ),
    Field("warmup", "whole", "reps that do not count", ("0", "1", "2"), _PROTOCOL.warmup),
    Field("reps", "whole", "reps that count; fewer than two show no spread", ("3", "5"), _PROTOCOL.reps),
    Field(
        "order",
        "choice",
        "interleaved: passes over all runs, against drift; paired: with the baseline beside each rep",
        ("grouped", "interleaved", "paired"),
        "grouped",
    ),
    Field("cooldown_s", "number", "seconds of rest between processes", ("0.0", "5.0", "30.0"), 0.0),
    Field(
        "prefix_caching",
        "toggle",
        "on CB: a repeated prompt costs no prefill; TTFT then means little",
        (),
        False,
    ),
)
LIMITS: Final = (
    Field("import", "number", "seconds for importing the library", (), _LIMITS.import_),
    Field(
        "construct",
        "number",
        "seconds for building the pipeline; an NPU compile may take 80",
        (),
        _LIMITS.construct,
    ),
    Field("first_token", "number", "seconds until the first token", (), _LIMITS.first_token),
    Field("stall", "number", "seconds between two tokens", (), _LIMITS.stall),
)

_NAT = ("1", "2", "3", "4", "5", "6", "8")
_AXES: Final = {
    field.name: field
    for field in (
        Field("model", "choice", "a model alone"),
        Field("device", "choice", "the device it runs on"),
        Field("target", "choice", "the model whose text is wanted"),
        Field("target_device", "choice", "the target's device"),
        Field("draft", "choice", "the small model that proposes"),
        Field("draft_device", "choice", "the draft's device; NPU means the stateful path"),
        Field(
            "num_assistant_tokens",
            "whole",
            "proposals a round (CB), or where they start (stateful)",
            _NAT,
        ),
        Field(
            "assistant_confidence_threshold",
            "number",
            "CB only, instead of the number",
            ("0.3", "0.4"),
        ),
        Field("max_ngram_size", "whole", "longest match that prompt lookup looks for", ("2", "3")),
        Field("branching_factor", "whole", "branches of a proposal tree", ("2", "3")),
        Field("tree_depth", "whole", "depth of a proposal tree", ("2", "4")),
        Field(
            "attention_backend",
            "choice",
            "PA: continuous batching, SDPA: stateful; not on NPU",
            ("PA", "SDPA"),
        ),
        Field("kv_cache_precision", "choice", "how the cache is kept", ("u8", "f16")),
        Field("inference_num_threads", "whole", "CPU threads", ("1", "2", "4", "8")),
        Field("properties", "table", "properties handed to both devices"),
    )
}


def axes_of(kind: str) -> tuple[str, ...]:
    """The axes of a kind of run in the order of the form; none for an unknown kind."""
    known = KINDS.get(kind)
    return (*known.required, *known.optional) if known else ()


KIND_NAMES: Final = tuple(KINDS)
EMULATED_NPU: Final = {"NPU_USE_NPUW": "YES", "NPUW_DEVICES": "CPU", "NPUW_ONLINE_PIPELINE": "NONE"}
"""These properties run the NPU's code path on the CPU; such rows are marked emulated."""


def axis(name: str) -> Field:
    """The field of an axis; an unknown key of the file is shown as text."""
    return _AXES.get(name) or Field(name, "text", "not a key of a grid")


def parse(field: Field, text: str) -> Any:
    """What was typed, as the field's value.

    Raises:
        ValueError: It is not one; the message says what would be right.
    """
    value = _read(field, text.strip())
    problem = _problem(field.name, value)
    if problem:
        raise ValueError(f"{field.name}: {problem}")
    return value


def _problem(name: str, value: Any) -> str | None:
    """What the sweep file's own rules say to a value."""
    if name in DEVICE_AXES and isinstance(value, str):
        return device_problem(value)
    check = {**VALUE_AXES, **PROTOCOL_CHECKS, "name": values.folder_name}.get(name)
    if check is None and name in LIMIT_KEYS:
        check = values.number(0, open_low=True)
    return check(value) if check else None


def _read(field: Field, text: str) -> Any:
    if field.value == "text" or field.value == "choice":
        return text
    if field.value == "table":
        wanted = 'a table such as { PERFORMANCE_HINT = "LATENCY" }'
    else:
        wanted = {"whole": "a whole number", "number": "a number", "toggle": "true or false"}[field.value]
    try:
        value = tomllib.loads(f"k = {text}")["k"]
    except tomllib.TOMLDecodeError:
        raise ValueError(f"{field.name}: {wanted}, not {text!r}") from None
    kinds = {"whole": (int,), "number": (int, float), "toggle": (bool,), "table": (dict,)}[field.value]
    if not isinstance(value, kinds) or (isinstance(value, bool) and field.value != "toggle"):
        raise ValueError(f"{field.name}: {wanted}, not {text!r}")
    return value


def parse_list(field: Field, text: str) -> list[Any]:
    """Several values between commas. A device such as `HETERO:GPU,NPU` keeps its commas.

    Raises:
        ValueError: One of them is not a value of the field, or there is none.
    """
    if field.value == "table":
        return [parse(field, text)]
    parts = text.split(";") if field.name in DEVICE_AXES and ":" in text else text.split(",")
    found = [parse(field, part) for part in parts if part.strip()]
    if not found:
        raise ValueError(f"{field.name}: at least one value")
    return found
