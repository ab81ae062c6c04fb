"""Which engine of the library a configuration uses.

OpenVINO GenAI decides by what it is given: a target or a draft on exactly `NPU` takes the stateful
pipelines; else a draft model, prompt lookup or ATTENTION_BACKEND="PA" takes continuous batching (paged
attention); else PA is tried and SDPA is the silent fallback.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sweeps.plan.model import Config, Path
from sweeps.spec.model import Scalar

NPU: Final = "NPU"


def on_npu(config: Config) -> bool:
    """Whether a side of the configuration is on the NPU, which decides the engine of both."""
    return NPU in (config.target_device, config.draft_device)


def path_of(config: Config) -> Path:
    """The engine that a configuration is meant to use.

    `npu` a model alone on the NPU; `stateful` a pair with an NPU side; `cb` continuous batching; `sdpa` as
    pinned; `default` where the library chooses (a plain run without `attention_backend`) or where no
    GenAI engine is used (`agreement`).
    """
    if config.kind == "agreement":
        return "default"
    if on_npu(config):
        return "npu" if config.kind == "plain" else "stateful"
    if config.kind in ("speculative", "prompt-lookup") or config.attention_backend == "PA":
        return "cb"
    return "sdpa" if config.attention_backend == "SDPA" else "default"


def emulated(config: Config, target: Mapping[str, Scalar], draft: Mapping[str, Scalar]) -> bool:
    """Whether a side on the NPU is told to run its NPU code path on other devices (NPUW_DEVICES)."""
    sides = ((config.target_device, target), (config.draft_device, draft))
    return any(device == NPU and _elsewhere(properties) for device, properties in sides)


def marked(device: str | None, emulated: object, mark: str = "*") -> str:
    """A device's name with a mark where it is the NPU's code path, run on another device: `NPU*`."""
    return f"{device}{mark}" if emulated and device == NPU else str(device)


def _elsewhere(properties: Mapping[str, Scalar]) -> bool:
    devices = properties.get("NPUW_DEVICES")
    return devices is not None and NPU not in str(devices).split(",")
