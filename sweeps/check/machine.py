"""Ask this machine what it has. The only part of the checks that loads OpenVINO."""

from __future__ import annotations

import contextlib
from importlib.metadata import PackageNotFoundError, version

from sweeps.check.case import Machine


def this_machine() -> Machine:
    """Devices, properties, memory and versions of this machine (0.1 s; a GPU driver may take longer)."""
    import openvino
    import psutil

    core = openvino.Core()
    devices = tuple(core.available_devices)
    properties: dict[str, frozenset[str]] = {}
    own_memory: dict[str, int] = {}
    for device in devices:
        # A driver that is half installed lists its device and then raises on every question.
        with contextlib.suppress(Exception):
            properties[device] = frozenset(core.get_property(device, "SUPPORTED_PROPERTIES"))
        if device.startswith("GPU"):
            with contextlib.suppress(Exception):
                kind = str(core.get_property(device, "DEVICE_TYPE"))
                if "DISCRETE" in kind.upper():
                    own_memory[device] = int(core.get_property(device, "GPU_DEVICE_TOTAL_MEM_SIZE"))
    memory = psutil.virtual_memory()
    return Machine(
        devices=devices,
        properties=properties,
        memory_total=memory.total,
        memory_available=memory.available,
        device_memory=own_memory,
        openvino_version=_installed("openvino"),
        tokenizers_version=_installed("openvino-tokenizers"),
    )


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
