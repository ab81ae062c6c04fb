"""What makes two runs the same run, on any machine and in any session."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from sweeps.plan.model import Config
from sweeps.spec.model import Protocol, Scalar

VERSION: Final = 1
"""Raised when the meaning of a run changes, so that old rows are not taken for new ones."""

_OPTIONS: Final = (
    "num_assistant_tokens",
    "assistant_confidence_threshold",
    "max_ngram_size",
    "branching_factor",
    "tree_depth",
)


def run_id(
    config: Config,
    protocol: Protocol,
    *,
    target_hash: str,
    draft_hash: str = "",
    target_properties: Mapping[str, Scalar],
    draft_properties: Mapping[str, Scalar],
) -> str:
    """10 hex digits of BLAKE2b over the canonical JSON of everything that changes what is measured.

    In it: kind, devices, options, effective properties, the models' content, token budget, `ignore_eos`,
    prefix caching. The axes that are properties count by the property, so two spellings of one
    configuration are one run. Not in it: names and folders of models, prompts, warm-up, reps, order,
    cool-down and limits.
    """
    return digest(
        {
            "version": VERSION,
            "kind": config.kind,
            "target": target_hash,
            "target_device": config.target_device,
            "target_properties": dict(target_properties),
            "draft": draft_hash,
            "draft_device": config.draft_device,
            "draft_properties": dict(draft_properties),
            "options": {name: getattr(config, name) for name in _OPTIONS},
            "max_new_tokens": protocol.max_new_tokens,
            "ignore_eos": protocol.ignore_eos,
            "prefix_caching": protocol.prefix_caching,
        }
    )


def digest(value: Any) -> str:
    """10 hex digits of a value's canonical JSON (sorted keys, ASCII, shortest floats, no NaN)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.blake2b(text.encode("ascii"), digest_size=5).hexdigest()
