"""Does an IR suit the NPU? Judged by its census alone."""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.models.census import Census
from sweeps.plan.model import Finding

NPU_ROW_MULTIPLE = 64
"""NPUW unpacks int4 weights in rows of this length; others fail with `from_shape.back() % 64 == 0`."""


def export_for_npu(name: str) -> str:
    """The command that makes an IR which the NPU takes (MODEL is the checkpoint that `name` came from)."""
    return f"specdec export MODEL {name}-npu --npu"


def npu_findings(name: str, ir: Census, *, emulated: bool = False) -> Iterator[Finding]:
    """What an IR meets on the NPU (or, `emulated`, on the NPU's code path run by another device).

    Measured on OpenVINO 2026.4: symmetric int4 and int8 run on the emulated path, asymmetric int4 too;
    fp16 does not. On a real NPU grouped u4 zero points abort the compiler, and an int8 IR is built and
    then dies in generate.
    """
    remedy = f"export it for the NPU: {export_for_npu(name)}"
    if ir.u4_zero_points:
        where = "grouped " if ir.u4_grouped_zero_points else ""
        yield Finding(
            "noted" if emulated else "refused" if ir.u4_grouped_zero_points else "warned",
            "npu_asymmetric_int4",
            f"{name} is asymmetric int4 ({ir.u4_zero_points} {where}u4 zero points): "
            + (
                "runs here, but would abort the compiler of a real NPU"
                if emulated
                else "the NPU's compiler aborts"
            ),
            remedy,
        )
    odd = {length: count for length, count in ir.int4_rows.items() if length % NPU_ROW_MULTIPLE}
    if odd:
        lengths = ", ".join(str(length) for length in sorted(odd))
        yield Finding(
            "refused",
            "npu_group_size",
            f"{name} has {sum(odd.values())} int4 weights in groups of {lengths}: the NPU path takes "
            f"multiples of {NPU_ROW_MULTIPLE} only",
            remedy,
        )
    if ir.i4_weights or ir.u4_weights:
        return
    elements = ir.weight_elements
    if elements.get("int8", 0) < elements.get("float", 0):
        yield Finding(
            "refused" if emulated else "noted",
            "npu_float",
            f"{name} keeps its weights in floating point: "
            + (
                "the emulated NPU path cannot run it" if emulated else "four times the memory traffic of int4"
            ),
            remedy,
        )
    elif not emulated:
        yield Finding(
            "warned",
            "npu_int8",
            f"{name} is int8 throughout: an NPU builds it and then fails in generate",
            remedy,
        )
