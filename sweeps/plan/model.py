"""What is to be run: one `Run` a configuration, one fresh process each."""

from __future__ import annotations

from typing import Literal

import msgspec

from sweeps.spec.model import Kind, Protocol, Scalar

Path = Literal["cb", "sdpa", "stateful", "npu", "default"]
"""The engine a run is meant to use; `default` lets the library choose (the real one is recorded)."""


class Config(msgspec.Struct, frozen=True, omit_defaults=True):
    """One point of a grid. In a `plain` run the model and its device stand in `target`/`target_device`."""

    kind: Kind
    target: str
    target_device: str
    draft: str | None = None
    draft_device: str | None = None
    num_assistant_tokens: int | None = None
    assistant_confidence_threshold: float | None = None
    max_ngram_size: int | None = None
    branching_factor: int | None = None
    tree_depth: int | None = None
    attention_backend: str | None = None
    kv_cache_precision: str | None = None
    inference_num_threads: int | None = None
    properties: dict[str, Scalar] = {}


class Finding(msgspec.Struct, frozen=True):
    """One thing that is known before a compile is spent."""

    level: Literal["refused", "warned", "noted"]
    code: str
    message: str
    remedy: str = ""

    @property
    def text(self) -> str:
        """Message and remedy in one line."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class Run(msgspec.Struct, frozen=True):
    """One configuration with everything that the worker needs to build it."""

    id: str
    """10 hex digits: hash of the configuration, the effective properties, the models' content and the
    parts of the protocol that change what is measured (budget, ignore_eos, prefix caching)."""
    config: Config
    path: Path
    emulated: bool
    """The NPU code path runs on another device (NPUW_DEVICES)."""
    target_dir: str
    target_properties: dict[str, Scalar]
    """Effective properties of the target's side, device section and axes merged."""
    draft_dir: str | None = None
    draft_properties: dict[str, Scalar] = {}
    target_hash: str = ""
    draft_hash: str = ""
    added: bool = False
    """The sweep file did not ask for it: another row needs it as its baseline."""
    baseline: str | None = None
    """Run id of the plain target on the same device and path; the speed-up's denominator."""
    baseline_default: str | None = None
    """Run id of the plain target with the library's own choice of engine."""
    draft_alone: str | None = None
    """Run id of the draft standing alone on its device."""
    findings: tuple[Finding, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether a preflight finding forbids starting this run."""
        return any(f.level == "refused" for f in self.findings)


class Prompt(msgspec.Struct, frozen=True):
    """A prompt with its text and a hash that names it across sweeps."""

    name: str
    text: str
    hash: str


class Dropped(msgspec.Struct, frozen=True):
    """A grid point that cannot be a pair of options, with its place in the file."""

    place: str
    config: Config
    reason: str


class Plan(msgspec.Struct, frozen=True):
    """A sweep, expanded: runs in the order in which they are to be started."""

    sweep: str
    protocol: Protocol
    prompts: tuple[Prompt, ...]
    runs: tuple[Run, ...]
    dropped: tuple[Dropped, ...] = ()
