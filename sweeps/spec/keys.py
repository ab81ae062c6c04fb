"""The keys of a sweep file: what each table takes, and which axes belong to which kind of grid."""

from __future__ import annotations

from typing import Final, NamedTuple

from sweeps.spec import values
from sweeps.spec.values import Check

TOP: Final = ("name", "description", "protocol", "models", "devices", "prompts", "grid")

PROTOCOL: Final[dict[str, Check]] = {
    "max_new_tokens": values.whole(1, 1_000_000),
    "ignore_eos": values.truth,
    "warmup": values.whole(0, 1_000),
    "reps": values.whole(1, 10_000),
    "order": values.choice("grouped", "interleaved", "paired"),
    "cooldown_s": values.number(0),
    "prefix_caching": values.truth,
}
"""Keys of [protocol] apart from the table `limits_s`."""

LIMITS: Final = ("import", "construct", "first_token", "stall")

NAME_AXES: Final = ("model", "target", "draft")
DEVICE_AXES: Final = ("device", "target_device", "draft_device")

VALUE_AXES: Final[dict[str, Check]] = {
    "num_assistant_tokens": values.whole(1),
    # The library takes a threshold above 1 without a word; no confidence exceeds it.
    "assistant_confidence_threshold": values.number(0, 1, open_low=True, open_high=True),
    "max_ngram_size": values.whole(1),
    "branching_factor": values.whole(1),
    "tree_depth": values.whole(1),
    "attention_backend": values.choice("PA", "SDPA"),
    "kv_cache_precision": values.choice("u8", "i8", "u4", "i4", "u3", "f16", "bf16", "f32"),
    "inference_num_threads": values.whole(1),
}
"""Axes whose values can be judged by themselves; the others are names, devices and `properties`."""

PROPERTY_OF: Final = {
    "attention_backend": "ATTENTION_BACKEND",
    "kv_cache_precision": "KV_CACHE_PRECISION",
    "inference_num_threads": "INFERENCE_NUM_THREADS",
}
"""Axes that are a device property in another spelling."""


class KindKeys(NamedTuple):
    """What a grid of one kind needs, and what it may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


_TUNING = ("attention_backend", "kv_cache_precision", "inference_num_threads", "properties")

KINDS: Final[dict[str, KindKeys]] = {
    "plain": KindKeys(("model", "device"), _TUNING),
    "speculative": KindKeys(
        ("target", "target_device", "draft", "draft_device"),
        (
            "num_assistant_tokens",
            "assistant_confidence_threshold",
            "branching_factor",
            "tree_depth",
            *_TUNING,
        ),
    ),
    "prompt-lookup": KindKeys(("target", "target_device", "num_assistant_tokens", "max_ngram_size"), _TUNING),
    "agreement": KindKeys(
        ("target", "target_device", "draft", "draft_device"),
        ("kv_cache_precision", "inference_num_threads", "properties"),
    ),
}

SAME_AS: Final = {"target": "model", "target_device": "device", "model": "target", "device": "target_device"}
"""What a key is called in the other kinds of grid."""

AXES: Final = (*NAME_AXES, *DEVICE_AXES, *VALUE_AXES, "properties")
"""Every key of a grid but `kind`."""

LARGEST_GRID: Final = 10_000
"""Points that one grid may have: at a minute a run, a week."""
