"""Will it fit? An estimate from below, so that a refusal is certain and a warning likely."""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.check.budget import npu_context_length
from sweeps.check.case import Case, Machine, Side, refused, warned
from sweeps.check.devices import members
from sweeps.models.files import human_bytes
from sweeps.plan.model import Finding

PROCESS_BYTES = 300_000_000
"""A process with the library loaded and nothing in it (resident size measured at 0.25-0.35 GB)."""
KV_BYTES = 2
"""Bytes of one cached number: f16 on GPU and NPU, u8 to f16 on a CPU."""
LOGIT_BYTES = 4


def check(case: Case) -> Iterator[Finding]:
    own = case.machine.device_memory
    here, pools = PROCESS_BYTES, dict.fromkeys(own, 0)
    # In pairs the baseline's pipeline stands in the same process.
    beside = [case.target] if case.protocol.paired and case.run.baseline is not None else []
    for side in [*case.sides, *beside]:
        needed = estimate(case, side)
        pool = _pool(case.machine, side.device)
        if pool is None:
            here += needed
        else:
            pools[pool] += needed
    yield from _compare("this machine", here, case.machine.memory_total, case.machine.memory_available)
    for device, needed in pools.items():
        yield from _compare(device, needed, own[device], own[device])


def estimate(case: Case, side: Side) -> int:
    """Bytes that one side's weights, cache and logits take at least."""
    ir = side.model.ir
    if ir is None:
        return 0
    longest = max(case.prompt_tokens.values(), default=0)
    tokens = npu_context_length(side) if side.npu else longest + case.protocol.max_new_tokens
    # Logits of a whole prompt are computed at once on paths that do not slice them; count one row only.
    return (
        side.model.weights_bytes
        + tokens * ir.kv_elements_per_token * KV_BYTES
        + (ir.logits_width or 0) * LOGIT_BYTES
    )


def _pool(machine: Machine, device: str) -> str | None:
    """The device whose own memory a side fills, None for main memory."""
    for name in members(device):
        for pool in (name, f"{name}.0", name.removesuffix(".0")):
            if pool in machine.device_memory:
                return pool
    return None


def _compare(place: str, needed: int, total: int, available: int) -> Iterator[Finding]:
    if needed > total:
        yield refused(
            "memory_total",
            f"weights and cache need at least {human_bytes(needed)}, {place} has {human_bytes(total)}",
            "take smaller weights (specdec export --weight-format int4) or a smaller model",
        )
    elif needed > available:
        yield warned(
            "memory_available",
            f"weights and cache need at least {human_bytes(needed)}, of {place}'s {human_bytes(total)} "
            f"{human_bytes(available)} are free now",
            "close other programs before the sweep",
        )
