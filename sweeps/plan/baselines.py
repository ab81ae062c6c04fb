"""Which plain runs a row needs before it means anything.

The speed-up's denominator is the target alone on the same engine: paged attention (PA) for continuous
batching, SDPA for the stateful pair of a target that is not on the NPU, the NPU pipeline for a target that
is. Next to it stands the target as the library runs it by default.

The draft alone says what a proposal costs without the loop. It stands under the engine family that it has
in the row: PA behind continuous batching, the NPU pipeline on the NPU, SDPA for a draft that is elsewhere
behind an NPU target. With another engine the ratio in-loop/alone would mix device and engine.
"""

from __future__ import annotations

from typing import NamedTuple

from sweeps.plan.effective import takes_threads
from sweeps.plan.model import Config
from sweeps.plan.routing import NPU, on_npu


class Needs(NamedTuple):
    """Plain configurations that a row is compared with; None where it needs none."""

    baseline: Config | None = None
    baseline_default: Config | None = None
    draft_alone: Config | None = None


def needs(config: Config) -> Needs:
    """The plain runs of a configuration; a plain run needs none.

    On the NPU there is one engine, so `baseline` and `baseline_default` are the same run there.
    `agreement` needs the target's own text (of the engine named by its `attention_backend`, else of PA) and
    nothing else.
    """
    if config.kind == "plain":
        return Needs()
    if config.kind == "agreement":
        return Needs(_target_alone(config, config.attention_backend or _target_backend(config)))
    pinned = _target_alone(config, _target_backend(config))
    return Needs(pinned, _target_alone(config, None), _draft_alone(config))


def _target_backend(config: Config) -> str | None:
    if config.target_device == NPU:
        return None
    return "SDPA" if on_npu(config) and config.kind != "agreement" else "PA"


def _target_alone(config: Config, backend: str | None) -> Config:
    return Config(
        kind="plain",
        target=config.target,
        target_device=config.target_device,
        attention_backend=backend,
        kv_cache_precision=config.kv_cache_precision,
        inference_num_threads=_threads(config, config.target_device),
        properties=config.properties,
    )


def _draft_alone(config: Config) -> Config | None:
    if config.draft is None or config.draft_device is None:
        return None
    elsewhere = "SDPA" if on_npu(config) else "PA"
    return Config(
        kind="plain",
        target=config.draft,
        target_device=config.draft_device,
        attention_backend=None if config.draft_device == NPU else elsewhere,
        inference_num_threads=_threads(config, config.draft_device),
    )


def _threads(config: Config, device: str) -> int | None:
    """The axis goes to the sides on a CPU only; a baseline elsewhere must not differ by it."""
    return config.inference_num_threads if takes_threads(device) else None


def agreements(config: Config, backend: str | None) -> tuple[Config, ...]:
    """The agreement runs that foretell a speculative row: the draft over the target's text, and the target
    over its own (near ties, and what a verify costs by its width). `backend` says which engine's text.

    A static NPU pipeline gives no logits at all positions: there the pass runs on the CPU.
    """
    if config.kind != "speculative" or config.draft is None or config.draft_device is None:
        return ()
    return tuple(
        Config(
            kind="agreement",
            target=config.target,
            target_device=config.target_device,
            draft=scorer,
            draft_device="CPU" if device == NPU else device,
            attention_backend=backend,
            kv_cache_precision=config.kv_cache_precision,
            inference_num_threads=_threads(config, config.target_device),
            properties=config.properties,
        )
        for scorer, device in ((config.draft, config.draft_device), (config.target, config.target_device))
    )
