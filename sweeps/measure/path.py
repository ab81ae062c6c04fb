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


def fell_back(run: Run, path: str) -> bool:
    """Whether the library left paged attention without a word: a run without an engine of its own choice
    tries it first, and `path` (the engine that really ran) says that it was another one."""
    return run.config.kind == "plain" and run.path == "default" and path == "sdpa"


def prefix_caching(run: Run, path: str, asked: bool) -> bool:
    """Whether a repeated prompt was answered from the cache of its prefix.

    Only continuous batching has such a cache. `asked` is what the sweep says; where the library chooses
    the engine it also chooses that, and switches the cache on.
    """
    return path == "cb" and (asked or run.path == "default")


def baseline_path(path: str, target_device: str) -> str:
    """The engine that the baseline of a row must have run on."""
    if path == "stateful":
        return "npu" if target_device == "NPU" else "sdpa"
    return path
