"""What a check looks at: one run, the facts of its models, and the machine. Checks are pure over these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from sweeps.models.inspect import ModelFacts
from sweeps.plan.model import Finding, Prompt, Run
from sweeps.spec.model import Protocol, Scalar


class Machine(msgspec.Struct, frozen=True):
    """What a check needs to know of the machine that the runs are meant for."""

    devices: tuple[str, ...]
    """`available_devices` of OpenVINO, such as ("CPU", "GPU.0", "GPU.1", "NPU")."""
    properties: dict[str, frozenset[str]]
    """Device -> the property names that it says it supports; devices that would not tell are absent."""
    memory_total: int
    """Bytes of main memory."""
    memory_available: int
    """Bytes that are free for a new process now."""
    device_memory: dict[str, int]
    """Device -> bytes of its own memory, where the device tells and does not share main memory."""
    openvino_version: str
    tokenizers_version: str


class Side(msgspec.Struct, frozen=True):
    """The target's or the draft's half of a run."""

    role: Literal["target", "draft"]
    device: str
    properties: dict[str, Scalar]
    model: ModelFacts

    @property
    def npu(self) -> bool:
        """The library takes its static NPU pipeline for exactly this name."""
        return self.device == "NPU"

    @property
    def emulated(self) -> bool:
        """The NPU code path on another device, which needs no NPU. NPUW_DEVICES alone brings that about."""
        return self.npu and bool(self.npuw_devices)

    @property
    def npuw_devices(self) -> tuple[str, ...]:
        """Devices that stand in for the NPU; empty when the NPU itself is among them."""
        names = [
            name.strip() for name in str(self.properties.get("NPUW_DEVICES", "")).split(",") if name.strip()
        ]
        return () if "NPU" in names else tuple(names)


class Case(msgspec.Struct, frozen=True):
    """One run with everything that is known of it."""

    run: Run
    protocol: Protocol
    prompts: tuple[Prompt, ...]
    target: Side
    draft: Side | None
    machine: Machine
    prompt_tokens: dict[str, int]
    """Prompt name -> tokens as the worker will hand them over; empty where they could not be counted."""

    @property
    def sides(self) -> Iterator[Side]:
        yield self.target
        if self.draft is not None:
            yield self.draft

    @property
    def stateful(self) -> bool:
        """Either side on the NPU: the stateful engine, greedy, without a scheduler."""
        return any(side.npu for side in self.sides)

    @property
    def speculative(self) -> bool:
        return self.run.config.kind == "speculative"


def refused(code: str, message: str, remedy: str = "") -> Finding:
    return Finding("refused", code, message, remedy)


def warned(code: str, message: str, remedy: str = "") -> Finding:
    return Finding("warned", code, message, remedy)


def noted(code: str, message: str, remedy: str = "") -> Finding:
    return Finding("noted", code, message, remedy)
