"""Which engine really ran, from what a run left behind."""

from __future__ import annotations

from sweeps.plan.model import Run


def real_path(run: Run, end_calls: int = 0, fallback: str = "") -> str:
    """The engine of a run: `cb`, `sdpa`, `stateful`, `npu`, or `default` while nothing is known.

    Continuous batching calls the streamer's `end()` twice, the other engines once; that gives a silent
    fallback away. `end_calls` is 0 before the first rep, `fallback` what the worker noticed itself.
    """
    if run.config.kind == "agreement":
        return "default"
    npu = "NPU" in (run.config.target_device, run.config.draft_device)
    if npu:
        return "npu" if run.config.kind == "plain" else "stateful"
    if end_calls >= 2:
        return "cb"
    if end_calls == 1 or fallback:
        return "stateful" if run.config.kind == "speculative" else "sdpa"
    return run.path


def baseline_path(path: str, target_device: str) -> str:
    """The engine that the baseline of a row must have run on."""
    if path == "stateful":
        return "npu" if target_device == "NPU" else "sdpa"
    return path
