"""What the machine is, for the record of a sweep. Nothing here loads OpenVINO."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sweeps.supervise.conditions import power_source

PACKAGES = ("openvino", "openvino-genai", "openvino-tokenizers")


def host_name() -> str:
    return socket.gethostname()


def versions() -> dict[str, str]:
    """Installed versions of the three packages that must match; '' when one is missing."""
    found = {}
    for package in PACKAGES:
        try:
            found[package.replace("-", "_")] = version(package)
        except PackageNotFoundError:
            found[package.replace("-", "_")] = ""
    return found


def machine_facts() -> dict[str, str]:
    """OS, processor, memory, power source, versions."""
    import psutil

    facts = {
        "os": platform.platform(),
        "cpu": cpu_name(),
        "cores": f"{psutil.cpu_count(logical=False) or '?'} cores, {os.cpu_count()} threads",
        "memory_gb": f"{psutil.virtual_memory().total / 2**30:.1f}",
        "python": platform.python_version(),
        "power": power_source(),
        **versions(),
    }
    return {name: value for name, value in facts.items() if value}


def cpu_name() -> str:
    """The processor's own name."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
