"""Does each property belong to the side and the device that it is given to?"""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.check.case import Case, Side, noted, refused, warned
from sweeps.check.devices import members
from sweeps.plan.model import Finding
from sweeps.plan.rules import SCHEDULER_OPTIONS

NPU_KEYS = frozenset({"MAX_PROMPT_LEN", "MIN_RESPONSE_LEN", "PREFILL_HINT", "GENERATE_HINT"})
NPU_PREFIXES = ("NPU_", "NPUW_")
PIPELINE_KEYS = frozenset({"ATTENTION_BACKEND", "CACHE_DIR"})
"""Taken by the pipeline itself, on every device; the draft's ATTENTION_BACKEND is judged with the options."""
COMMON_KEYS = frozenset(
    {
        "PERFORMANCE_HINT",
        "PERFORMANCE_HINT_NUM_REQUESTS",
        "EXECUTION_MODE_HINT",
        "INFERENCE_PRECISION_HINT",
        "INFERENCE_NUM_THREADS",
        "NUM_STREAMS",
        "KV_CACHE_PRECISION",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE",
        "ACTIVATIONS_SCALE_FACTOR",
        "ENABLE_MMAP",
        "CACHE_MODE",
        "LOG_LEVEL",
        "PERF_COUNT",
        "MODEL_PRIORITY",
        "COMPILATION_NUM_THREADS",
        "ENABLE_CPU_PINNING",
        "ENABLE_HYPER_THREADING",
        "SCHEDULING_CORE_TYPE",
    }
)
"""Known of OpenVINO devices in general; a device's own list goes beyond it."""


def check(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        for key in side.properties:
            finding = _judge(case, side, key)
            if finding is not None:
                yield finding


def _judge(case: Case, side: Side, key: str) -> Finding | None:
    where = f"{side.role} on {side.device}"
    if key in SCHEDULER_OPTIONS:
        return None  # judged with the options: it depends on the engine, not on the side
    if key in NPU_KEYS or key.startswith(NPU_PREFIXES):
        if "NPU" in (name.split(".", 1)[0] for name in members(side.device)):
            return None
        return refused(
            "property_wrong_side",
            f"{where}: {key} belongs to the NPU side only; {side.device} ends in "
            f"'Unsupported property {key} by {side.device.split(':')[0].split('.')[0]} plugin'",
            "move it under [devices.NPU]",
        )
    return _unknown(case, side, key, where)


def _unknown(case: Case, side: Side, key: str, where: str) -> Finding | None:
    if key in PIPELINE_KEYS or key in COMMON_KEYS:
        return None
    upper = key.upper()
    known = PIPELINE_KEYS | COMMON_KEYS | NPU_KEYS
    if upper != key and upper in known:
        return refused("property_case", f"{where}: no property {key}", f"say {upper}")
    listed = [case.machine.properties[name] for name in _listed_names(case, side)]
    if any(key in names for names in listed):
        return None
    if side.npu:
        return noted(
            "property_unknown", f"{where}: {key} is not a known property; the NPU path ignores such keys"
        )
    if listed:
        return warned(
            "property_unknown",
            f"{where}: {key} is not among the properties that {side.device} lists; unknown ones end the run",
            "correct the name or take it out",
        )
    return noted("property_unknown", f"{where}: {key} is not a known property")


def _listed_names(case: Case, side: Side) -> list[str]:
    names = members(side.device)
    wanted = {name.split(".", 1)[0] for name in names} if names else {"CPU", "GPU", "NPU"}
    return [name for name in case.machine.properties if name.split(".", 1)[0] in wanted]
