"""Per-call slices of the library's raw lists.

Some of those lists start afresh with each `generate()`, some go on growing (which, depends on the path
and the version), and the getters over them freeze or accumulate. So each list is compared with what it
held after the call before: if that is still its beginning, only the rest belongs to this call.
"""

from __future__ import annotations

import math
from typing import Any


class Slicer:
    """Remembers each list's former content."""

    def __init__(self) -> None:
        self._before: dict[str, list[float]] = {}

    def take(self, name: str, values: Any) -> list[float]:
        """The part of `values` (microseconds) that this call added."""
        now = [float(value) for value in values]
        before = self._before.get(name, [])
        self._before[name] = now
        grown = bool(before) and len(now) >= len(before) and now[: len(before)] == before
        return now[len(before) :] if grown else now


def read_raw(result: Any, slicer: Slicer) -> tuple[list[float], list[float]]:
    """Draft and verify inference times (microseconds) of the call that gave `result`; empty where the
    engine keeps none (plain runs, prompt lookup)."""
    extended = getattr(result, "extended_perf_metrics", None)
    draft: list[float] = []
    verify: list[float] = []
    main_metrics = getattr(extended, "main_model_metrics", None)
    if main_metrics is not None:
        verify = slicer.take("verify", main_metrics.raw_metrics.m_durations)
    draft_metrics = getattr(extended, "draft_model_metrics", None)
    if draft_metrics is not None:
        draft = slicer.take("draft", draft_metrics.raw_metrics.m_durations)
    return draft, verify


def read_getters(result: Any) -> dict[str, float]:
    """What the library says of itself: kept for comparison, never shown as ours. Values that are no
    numbers (it divides by zero for one new token) are left out."""
    said: dict[str, float] = {}
    metrics = result.perf_metrics
    said["generated"] = float(metrics.get_num_generated_tokens())
    said["ttft_ms"] = float(metrics.get_ttft().mean)
    said["tpot_ms"] = float(metrics.get_tpot().mean)
    said["throughput"] = float(metrics.get_throughput().mean)
    extended = getattr(result, "extended_perf_metrics", None)
    for name, getter in (
        ("accepted", "get_num_accepted_tokens"),
        ("proposed", "get_num_draft_tokens"),
        ("acceptance", "get_draft_acceptance_rate"),
    ):
        call = getattr(extended, getter, None)
        if call is not None:
            said[name] = float(call())
    return {name: value for name, value in said.items() if math.isfinite(value)}
