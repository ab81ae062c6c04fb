"""What is wrong with this machine for measuring: versions, devices, and whatever disturbs."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Literal

import msgspec

from sweeps import paths
from sweeps.supervise.conditions import throttle_count
from sweeps.supervise.facts import PACKAGES, machine_facts, versions
from sweeps.supervise.owner import Busy, MachineLock

Level = Literal["ok", "note", "warning", "problem"]


class Check(msgspec.Struct, frozen=True):
    """One thing looked at, and what to do where it is not well."""

    level: Level
    name: str
    value: str
    remedy: str = ""


def examine(results: Path, watch_s: float = 1.0) -> list[Check]:
    """Look at everything; takes about `watch_s` seconds plus the import of OpenVINO."""
    return [
        *_facts(),
        *_packages(),
        *_devices(),
        *_disturbances(watch_s),
        *_processor(),
        *_places(results),
    ]


def _facts() -> list[Check]:
    facts = machine_facts()
    shown = [Check("ok", name, facts[name]) for name in ("os", "cpu", "cores", "memory_gb", "python")]
    power = facts.get("power", "")
    if power.startswith("battery"):
        shown.append(
            Check("warning", "power", power, "plug the machine in: on battery the clocks are held down")
        )
    elif power:
        shown.append(Check("ok", "power", power))
    return shown


def _packages() -> list[Check]:
    found = versions()
    checks = []
    lines = {name: ".".join(value.split(".")[:3]) for name, value in found.items() if value}
    same = len(set(lines.values())) == 1 and len(lines) == len(PACKAGES)
    for name, value in found.items():
        if not value:
            checks.append(Check("problem", name, "not installed", "pip install specdec-explorer"))
        else:
            checks.append(Check("ok" if same else "problem", name, value))
    if not same:
        remedy = "install one release line of openvino, openvino-genai and openvino-tokenizers"
        checks.append(Check("problem", "packages", "versions do not match", remedy))
    return checks


def _devices() -> list[Check]:
    try:
        import openvino as ov

        core = ov.Core()
        devices = list(core.available_devices)
    except Exception as error:  # whatever the native library raises: that is the finding
        return [Check("problem", "openvino", f"does not load: {error}".splitlines()[0])]
    checks = []
    for device in devices:
        name = ""
        with contextlib.suppress(Exception):
            name = str(core.get_property(device, "FULL_DEVICE_NAME"))
        checks.append(Check("ok", f"device {device}", name))
    if not any(device.startswith("NPU") for device in devices):
        remedy = "rows of the NPU code path can be emulated: see the preset `demo`, [devices.NPU]"
        checks.append(Check("note", "device NPU", "not here", remedy))
    if not any(device.startswith("GPU") for device in devices):
        remedy = "Linux: install the OpenCL runtime for your GPU (intel-opencl-icd) if there is one"
        checks.append(Check("note", "device GPU", "not here", remedy))
    return checks


def _disturbances(watch_s: float) -> list[Check]:
    import psutil

    processes: list[tuple[Any, float]] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            processes.append((process, times.user + times.system))
    start = time.monotonic()
    psutil.cpu_percent()
    time.sleep(watch_s)
    load = psutil.cpu_percent() / 100 * (os.cpu_count() or 1)
    passed = time.monotonic() - start
    busy = []
    for process, before in processes:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            cores = (times.user + times.system - before) / passed
            if cores > 0.05 and process.pid != os.getpid():
                busy.append((cores, f"{process.name()} ({process.pid}) {cores:.2f}"))
    top = ", ".join(text for _, text in sorted(busy, reverse=True)[:3])
    if load > 0.15:
        return [Check("warning", "other load", f"{load:.2f} cores busy: {top or 'short-lived processes'}",
                      "quiet these, or use order = \"paired\" and more reps")]  # fmt: skip
    return [Check("ok", "other load", f"{load:.2f} cores busy")]


def _processor() -> list[Check]:
    checks = []
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    with contextlib.suppress(OSError):
        value = governor.read_text(encoding="ascii").strip()
        level: Level = "ok" if value == "performance" else "note"
        remedy = (
            "" if value == "performance" else "`cpupower frequency-set -g performance` steadies the clock"
        )
        checks.append(Check(level, "governor", value, remedy))
    throttled = throttle_count()
    if throttled:
        checks.append(Check("note", "throttling", f"{throttled} times", "let it cool (cooldown_s)"))
    return checks


def _places(results: Path) -> list[Check]:
    checks = []
    place = results
    while not place.exists() and place != place.parent:
        place = place.parent
    writable = os.access(place, os.W_OK)
    free_gb = shutil.disk_usage(place).free / 2**30
    checks.append(
        Check("ok" if writable else "problem", "results", f"{results} ({free_gb:.0f} GB free)",
              "" if writable else "not writable: choose another with --data or SPECDEC_DATA")
    )  # fmt: skip
    try:
        with MachineLock(results):
            checks.append(Check("ok", "measuring now", "nothing"))
    except Busy as busy:
        checks.append(Check("note", "measuring now", str(busy), "wait for it: two sweeps disturb each other"))
    except OSError as error:
        checks.append(Check("problem", "state", f"{paths.state()}: {error.strerror}", "set SPECDEC_STATE"))
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        checks.append(
            Check("note", "console", f"encoding {sys.stdout.encoding}", "use --ascii, or set PYTHONUTF8=1")
        )
    return checks
