"""What a sweep file says, typed: the words of the TOML file and nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["plain", "speculative", "prompt-lookup", "agreement"]
Order = Literal["grouped", "interleaved", "paired"]
Scalar = str | int | float | bool

DEMO_PREFIX = "demo:"
"""`demo:NAME` names a bundled model."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"import_": "import"}):
    """Seconds without progress that each phase may take; a compile on an NPU may take 80 s."""

    import_: float = 60.0
    construct: float = 900.0
    first_token: float = 300.0
    stall: float = 60.0


class Protocol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How each configuration is measured; the same for every run of a sweep."""

    max_new_tokens: int = 128
    ignore_eos: bool = True
    warmup: int = 1
    reps: int = 3
    order: Order = "grouped"
    cooldown_s: float = 0.0
    prefix_caching: bool = False
    limits_s: Limits = Limits()

    @property
    def in_passes(self) -> bool:
        """One rep of every run after the other, again and again, against drift."""
        return self.order != "grouped"

    @property
    def paired(self) -> bool:
        """Each rep has its baseline measured beside it, in the same process."""
        return self.order == "paired"


class PromptFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt kept in a text file, relative to the sweep file."""

    file: str


class Grid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[grid]]` table. Every list is an axis; a scalar is an axis of one.

    `plain` uses `model`/`device`; the other kinds use `target`/`target_device` and the draft's axes.
    """

    kind: Kind
    model: str | list[str] | None = None
    device: str | list[str] | None = None
    target: str | list[str] | None = None
    target_device: str | list[str] | None = None
    draft: str | list[str] | None = None
    draft_device: str | list[str] | None = None
    num_assistant_tokens: int | list[int] | None = None
    assistant_confidence_threshold: float | list[float] | None = None
    max_ngram_size: int | list[int] | None = None
    branching_factor: int | list[int] | None = None
    tree_depth: int | list[int] | None = None
    attention_backend: str | list[str] | None = None
    kv_cache_precision: str | list[str] | None = None
    inference_num_threads: int | list[int] | None = None
    properties: dict[str, Scalar] | list[dict[str, Scalar]] | None = None


class Sweep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole sweep file as written (paths not yet resolved)."""

    name: str
    models: dict[str, str]
    prompts: dict[str, str | PromptFile]
    grid: list[Grid]
    description: str = ""
    protocol: Protocol = Protocol()
    devices: dict[str, dict[str, Scalar]] = {}
