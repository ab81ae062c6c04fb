"""What one worker process is told to do, handed over as a JSON file."""

from __future__ import annotations

from typing import Literal

import msgspec

Scalar = str | int | float | bool


class Todo(msgspec.Struct, frozen=True):
    """One prompt: warm-up calls first, then the reps with these numbers."""

    prompt: str
    text: str
    warmup: int
    reps: list[int]
    token_ids: list[int] = []
    """For an agreement run: the baseline's text."""


class Job(msgspec.Struct, frozen=True):
    """One run's pipeline and the reps that are still missing."""

    run: str
    attempt: int
    kind: Literal["plain", "speculative", "prompt-lookup", "agreement"]
    target_dir: str
    target_device: str
    target_properties: dict[str, Scalar]
    todo: list[Todo]
    events: str
    """File to which the events are appended: native code that prints cannot reach it."""
    draft_dir: str | None = None
    draft_device: str | None = None
    draft_properties: dict[str, Scalar] = {}
    num_assistant_tokens: int | None = None
    assistant_confidence_threshold: float | None = None
    max_ngram_size: int | None = None
    branching_factor: int | None = None
    tree_depth: int | None = None
    max_new_tokens: int = 128
    ignore_eos: bool = True
    prefix_caching: bool = False
    drift: bool = False
    """The reps tell how far the machine has drifted; they count in no mean."""
    continuous_batching: bool = False
    """The run is meant for the paged-attention engine, which takes a scheduler configuration."""
    beside: Job | None = None
    """The baseline's pipeline, to be measured in turn with each rep; its own `todo` is not looked at."""
