"""What probes say about a target that no draft has been tried on: a donor for the stateful path.

The agreement run of a target with its own text times the target's inference by the number of new tokens,
with and without a cut of the key-value cache before it, and the cut itself. That is what the stateful engine
does in a round; on continuous batching prompt-lookup rows say it better, from inside the engine.
"""

from __future__ import annotations

from statistics import median

import numpy as np

from sweeps.costmodel.calibrate import Donor
from sweeps.costmodel.terms import LOOKUP, NAMES, Fit, Key
from sweeps.events.types import VerifyWidths

LINE_UP_TO = 9
"""Widths that the line through the times is made of; wider ones stand in the table only."""
PROBE_REL = 0.06
"""Relative sd of a term outside the engine against the same term inside."""


def donor(widths: VerifyWidths, target: str, device: str, target_ms: float) -> Donor | None:
    """Terms of the stateful path from one probe; None when it has too few times.

    Args:
        target_ms: T of the target's SDPA baseline, the level that the times belong to.
    """
    plain = {int(width): median(times) for width, times in widths.ms.items() if times}
    after = {int(width): median(times) for width, times in widths.after_trim_ms.items() if times}
    near = [width for width in plain if width <= LINE_UP_TO]
    if len(near) < 3:
        return None
    proposals = np.array([width - 1.0 for width in near])
    slope, base = np.polyfit(proposals, np.array([plain[width] for width in near]), 1)
    dearer = [after[width] - plain[width] for width in near if width in after]
    mismatch = (median(widths.trim_ms) if widths.trim_ms else 0.0) + max(median(dearer or [0.0]), 0.0)
    values = {"verify_base": base, "verify_slope": max(slope, 0.0), "rest_mismatch": mismatch}
    # What the engine does besides: nothing is known of it yet, T's own share of overhead is the default.
    values["rest"] = 0.02 * target_ms
    theta = np.array([float(values.get(name, 0.0)) for name in NAMES])
    sd = np.maximum(PROBE_REL * theta, 0.01 * target_ms)
    fit = Fit(
        theta,
        np.diag(sd**2),
        rounds=0,
        widths=(min(near) - 1, max(plain) - 1),
        table=tuple((width - 1, ms) for width, ms in sorted(plain.items())),
        level_target_ms=target_ms,
        source="timed outside the engine by width",
    )
    return Donor(Key(target, device, LOOKUP, device, "stateful"), fit, target_ms, None)
