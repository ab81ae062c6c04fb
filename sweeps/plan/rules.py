"""Pairs of options that cannot be, or that the library ignores without a word.

Each rule was tried on openvino-genai 2026.4.1; the text after "the library" is what it did there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from sweeps.plan.effective import takes_threads
from sweeps.plan.model import Config
from sweeps.plan.routing import on_npu
from sweeps.spec.model import Scalar

SCHEDULER_OPTIONS: Final = frozenset(
    {
        "scheduler_config",
        "cache_size",
        "num_kv_blocks",
        "max_num_batched_tokens",
        "max_num_seqs",
        "dynamic_split_fuse",
        "enable_prefix_caching",
        "use_cache_eviction",
        "cache_eviction_config",
        "use_sparse_attention",
        "sparse_attention_config",
    }
)
"""SchedulerConfig and its fields: objects of continuous batching, no device properties."""


class Verdict(NamedTuple):
    """Why a point cannot be run as it is."""

    axis: str | None
    """The axis that does not fit, None when the whole grid is meant."""
    reason: str
    instead: Config | None = None
    """The same point without the axis, where leaving it out changes nothing that is run."""


def verdict(config: Config, target: Mapping[str, Scalar], draft: Mapping[str, Scalar]) -> Verdict | None:
    """The first rule that a point breaks, or None. `target` and `draft` are effective properties."""
    return next(_broken(config, target, draft), None)


def _broken(config: Config, target: Mapping[str, Scalar], draft: Mapping[str, Scalar]) -> Iterator[Verdict]:
    yield from _scheduler(config, target, draft)
    yield from _proposals(config)
    yield from _tree(config)
    yield from _prompt_lookup(config)
    yield from _without_effect(config)
    yield from _backend(config)


def _scheduler(
    config: Config, target: Mapping[str, Scalar], draft: Mapping[str, Scalar]
) -> Iterator[Verdict]:
    option = next((name for name in (*target, *draft) if name in SCHEDULER_OPTIONS), None)
    if option is None:
        return
    if on_npu(config):
        reason = f"{option} is a scheduler option; a row with an NPU side has no scheduler"
    else:
        reason = (
            f"{option} is a scheduler option, not a device property; prefix_caching of [protocol] sets it"
        )
    yield Verdict("properties" if option in config.properties else None, reason)


def _proposals(config: Config) -> Iterator[Verdict]:
    if config.assistant_confidence_threshold is None:
        return
    axis = "assistant_confidence_threshold"
    if config.num_assistant_tokens is not None:
        yield Verdict(
            axis, "the library takes assistant_confidence_threshold or num_assistant_tokens, not both"
        )
    if on_npu(config):
        yield Verdict(axis, "the stateful engine (an NPU side) takes no assistant_confidence_threshold")


def _tree(config: Config) -> Iterator[Verdict]:
    depth, nat = config.tree_depth, config.num_assistant_tokens
    if depth is not None:
        if on_npu(config):
            yield Verdict("tree_depth", "the stateful engine (an NPU side) is greedy: no tree of proposals")
        if nat is None:
            yield Verdict("tree_depth", "a tree of proposals needs num_assistant_tokens")
        elif nat < depth:
            yield Verdict("num_assistant_tokens", f"{nat} proposals cannot fill a tree of depth {depth}")
    elif config.branching_factor is not None:
        instead = msgspec.structs.replace(config, branching_factor=None)
        yield Verdict("branching_factor", "branching_factor does nothing without tree_depth", instead)


def _prompt_lookup(config: Config) -> Iterator[Verdict]:
    if config.kind != "prompt-lookup":
        return
    if on_npu(config):
        yield Verdict("target_device", "the NPU pipeline ignores prompt lookup without a word")
    if config.attention_backend == "SDPA":
        yield Verdict("attention_backend", "prompt lookup needs paged attention; the library refuses SDPA")


def _without_effect(config: Config) -> Iterator[Verdict]:
    if config.inference_num_threads is not None and not (
        takes_threads(config.target_device) or takes_threads(config.draft_device)
    ):
        yield Verdict(
            "inference_num_threads",
            "inference_num_threads belongs to a CPU and no side of this row is on it; kept once without",
            msgspec.structs.replace(config, inference_num_threads=None),
        )
    if config.attention_backend is not None and on_npu(config):
        yield Verdict(
            "attention_backend",
            "a row with an NPU side ignores attention_backend; kept once without",
            msgspec.structs.replace(config, attention_backend=None),
        )


def _backend(config: Config) -> Iterator[Verdict]:
    if config.kind == "speculative" and config.attention_backend == "SDPA" and not on_npu(config):
        yield Verdict(
            "attention_backend", "a draft needs paged attention unless a side is on the NPU, not SDPA"
        )
