"""Device strings: what OpenVINO takes as the name of one device."""

from __future__ import annotations

import re
from typing import Final

from sweeps.spec.errors import nearest, shown

PLAIN: Final = ("CPU", "GPU", "NPU")
VIRTUAL: Final = ("AUTO", "HETERO", "MULTI", "BATCH")

_NUMBERED = re.compile(r"(CPU|GPU)(\.\d{1,3}){1,2}")
_MEMBER = re.compile(r"-?(CPU|GPU|NPU)(\.[0-9A-Za-z]{1,8}){0,2}(\(\d{1,4}\))?")


def device_problem(name: str) -> str | None:
    """What is wrong with a device string and what would be right, or None.

    `GPU.0`, `HETERO:GPU.0,GPU.1`, `AUTO`, `AUTO:GPU,CPU` and the like are single names. Device names are
    case-sensitive, and the library takes its NPU pipeline for exactly `NPU`.
    """
    head, colon, tail = name.partition(":")
    if name in (*PLAIN, "AUTO") or _NUMBERED.fullmatch(name):
        return None
    if head in VIRTUAL and colon:
        members = tail.split(",")
        bad = next((m for m in members if not _MEMBER.fullmatch(m)), None)
        if bad is None:
            return None
        better = ",".join(m.strip().upper() for m in members)
        if better != tail and all(_MEMBER.fullmatch(m) for m in better.split(",")):
            return f"no device {shown(name)}; say {shown(f'{head}:{better}')} (upper case, no blanks)"
        return f"no device {shown(bad)} within {shown(name)}; {head}: takes a list like GPU.0,CPU"
    upper = name.strip().upper()
    if upper != name and device_problem(upper) is None:
        return f"no device {shown(name)}; say {upper} (device names are upper case)"
    if upper.startswith("NPU."):
        return f"no device {shown(name)}; say NPU: the library takes its NPU pipeline for exactly that name"
    if "," in name:
        return f"{shown(name)} is a list; say HETERO:, AUTO: or MULTI: before it, or make it a TOML list"
    if upper in VIRTUAL:
        return f"{shown(name)} needs its devices; say {upper}:GPU,CPU"
    close = nearest(head, (*PLAIN, *VIRTUAL))
    hint = (
        f"did you mean {close}?" if close else "known: CPU, GPU, GPU.0, NPU, AUTO:..., HETERO:..., MULTI:..."
    )
    return f"no device {shown(name)}; {hint}"
