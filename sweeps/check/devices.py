"""Is each device string a name that OpenVINO takes, and does this machine have it?

`HETERO:GPU.0,GPU.1`, `AUTO:NPU,CPU` and `MULTI:...` are single names with members: the comma never
separates runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.check.case import Case, Machine, Side, refused, warned
from sweeps.plan.model import Finding
from sweeps.spec.devices import device_problem


def check(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        problem = device_problem(side.device)
        if problem is not None:
            yield refused("bad_device", f"{side.role}: {problem}")
        elif side.npu:
            yield from _npu(case.machine, side)
        else:
            yield from _ordinary(case.machine, side)


def members(device: str) -> tuple[str, ...]:
    """Physical devices that a name stands for: `HETERO:GPU.0,CPU` -> (GPU.0, CPU); `AUTO` alone -> ().

    A `-` (AUTO: leave this one out) drops the member; a request count as in `GPU(4)` is cut off.
    """
    head, colon, tail = device.partition(":")
    if not colon:
        return () if head == "AUTO" else (head,)
    return tuple(name.split("(", 1)[0] for name in tail.split(",") if not name.startswith("-"))


def is_available(name: str, devices: tuple[str, ...]) -> bool:
    """Whether a physical device is there. `GPU` is `GPU.0`, whichever of the two the library lists."""
    if name in devices:
        return True
    base = name.split(".", 1)[0]
    if name == base:
        return f"{base}.0" in devices
    return base != "CPU" and name == f"{base}.0" and base in devices


def _npu(machine: Machine, side: Side) -> Iterator[Finding]:
    if side.emulated:
        for name in side.npuw_devices:
            if not is_available(name, machine.devices):
                yield _missing(machine, side, f"NPUW_DEVICES names {name}, which this machine does not have")
        return
    if not is_available("NPU", machine.devices):
        yield _missing(
            machine,
            side,
            "this machine has no NPU",
            "run elsewhere, or run the NPU code path on the CPU: [devices.NPU] with "
            'NPU_USE_NPUW = "YES", NPUW_DEVICES = "CPU", NPUW_ONLINE_PIPELINE = "NONE"',
        )


def _ordinary(machine: Machine, side: Side) -> Iterator[Finding]:
    for name in members(side.device):
        if not is_available(name, machine.devices):
            within = f" (in {side.device})" if name != side.device else ""
            yield _missing(machine, side, f"this machine has no {name}{within}", _driver_hint(name))
        elif name.startswith("NPU"):
            yield warned(
                "npu_within",
                f"{side.role}: {side.device} is not the NPU pipeline, only the name NPU is",
                'say "NPU"',
            )


def _missing(machine: Machine, side: Side, what: str, remedy: str = "") -> Finding:
    there = ", ".join(machine.devices) or "none"
    return refused("device_unavailable", f"{side.role}: {what}; available: {there}", remedy)


def _driver_hint(name: str) -> str:
    if name == "CPU.0":
        return "say CPU"
    if name.startswith("GPU"):
        return "install the GPU's OpenCL driver (intel-opencl-icd on Linux), or choose a device that is there"
    return "choose a device that is there"
