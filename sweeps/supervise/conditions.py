"""What the processor was held to while a worker ran: clock, thermal throttling, power source."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

_CPUS = Path("/sys/devices/system/cpu")


class Conditions(NamedTuple):
    """At one moment. What cannot be read here is None (clock), 0 (throttling), False (battery)."""

    freq_mhz: float | None = None
    """Clock of the fastest core: a mean would fall with every core that has nothing to do."""
    throttles: int = 0
    """Thermal throttlings since boot, of the core that had most."""
    on_battery: bool = False


def conditions() -> Conditions:
    """Read them all; takes well under a millisecond."""
    return Conditions(_frequency(), throttle_count(), on_battery())


def _frequency() -> float | None:
    import psutil

    try:
        cores = psutil.cpu_freq(percpu=True)
    except (OSError, NotImplementedError, AttributeError):
        return None
    return max((float(core.current) for core in cores or ()), default=0.0) or None


def throttle_count(cpus: Path = _CPUS) -> int:
    """Thermal throttlings of the most throttled core since boot; 0 where Linux does not tell."""
    most = 0
    for path in cpus.glob("cpu*/thermal_throttle/core_throttle_count"):
        with contextlib.suppress(OSError, ValueError):
            most = max(most, int(path.read_text(encoding="ascii")))
    return most


def on_battery() -> bool:
    """Whether there is a battery and it is being drained."""
    return power_source().startswith("battery")


def power_source() -> str:
    """'mains', 'battery (NN %)', or '' where there is no battery or its state is not known."""
    import psutil

    battery = None
    with contextlib.suppress(Exception):  # psutil raises whatever a broken power driver does
        battery = psutil.sensors_battery()
    if battery is None or battery.power_plugged is None:
        return ""
    return "mains" if battery.power_plugged else f"battery ({battery.percent:.0f} %)"
