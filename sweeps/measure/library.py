"""The library's own getters beside our counts: several of them freeze, accumulate or count something
else, so that a disagreement is worth a note, with the version. Ours is what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sweeps.events.types import RepDone

_SAME: Final = {"ttft_ms": ("ttft_ms", 0.25), "tpot_ms": ("tpot_ms", 0.25), "throughput": ("tok_s", 0.25)}
"""Getter -> our column and how far apart they may be (relative; the clocks differ by the hand-over)."""

_COUNTS: Final = {"proposed": "proposals", "accepted": "accepted"}

_HAND_OVER_MS: Final = 5.0
"""A burst reaches the streamer this much after the library's stamp at most, on a busy machine."""


def disagreements(done: RepDone, ours: Mapping[str, float | int | None], version: str = "") -> list[str]:
    """One line for each getter in `done.library` that does not say what we measured.

    Missing values are -1 in the library; `ours` holds our columns, null where there is no value.
    """
    found: list[str] = []
    for getter, said in done.library.items():
        if getter == "generated":
            if said >= 0 and int(said) != len(done.token_ids):
                found.append(_line(getter, f"{said:.0f}", str(len(done.token_ids)), version))
        elif getter in _COUNTS:
            own = ours.get(_COUNTS[getter])
            if own is not None and said >= 0 and int(said) != own:
                found.append(_line(getter, f"{said:.0f}", str(own), version))
        elif getter in _SAME:
            column, tolerance = _SAME[getter]
            own = ours.get(column)
            if own is None or (said == -1 and getter != "ttft_ms"):
                continue
            slack = _HAND_OVER_MS if column == "ttft_ms" else 0.0
            if abs(said - own) > tolerance * own + slack:
                found.append(_line(getter, f"{said:.4g}", f"{own:.4g}", version))
    return found


def _line(getter: str, said: str, own: str, version: str) -> str:
    by = f" {version}" if version else ""
    return f"library{by} says {getter} {said}, counted {own}"
