"""What probes say about a pair that was not tried: a donor for the stateful path, the draft's first steps.

The agreement run of a target with its own text times the target's inference by the number of new tokens,
with and without a cut of the key-value cache before it, and the cut itself. That is what the stateful engine
does in a round; on continuous batching prompt-lookup rows say it better, from inside the engine.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from sweeps.costmodel.calibrate import Donor, Loop, Probes
from sweeps.costmodel.cases import target_alone
from sweeps.costmodel.terms import LOOKUP, NAMES, Fit, Key
from sweeps.events.types import LoopTimes, VerifyWidths

if TYPE_CHECKING:
    import polars as pl

    from sweeps.plan.model import Run
    from sweeps.store.state import SweepState

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


def loop(times: LoopTimes, pair: tuple[str, str, str, str]) -> Loop | None:
    """The draft's first steps behind a pass of the target, over its steps in full swing; None with too few
    times. Medians of what was timed in turns, so that the machine's mood cancels."""
    later = [median(steps) for steps in times.later_ms if steps]
    first = times.first_ms.get("1")
    verify = [
        median(times.verify_ms[width]) / median(again)
        for width, again in times.again_ms.items()
        if again and times.verify_ms.get(width) and median(again) > 0
    ]
    if len(later) < 3 or min(later) <= 0 or not first or not verify:
        return None
    swing = median(later[2:])
    return Loop(pair, median(first) / swing, later[0] / swing, median(verify))


def probes_of(state: SweepState, runs: pl.DataFrame) -> Probes:
    """All probes of one sweep.

    Args:
        state: its journal, folded.
        runs: its run table: the baselines give the level of the verify times.
    """
    return Probes(tuple(_donors(state, runs)), tuple(_loops(state)))


def _donors(state: SweepState, runs: pl.DataFrame) -> list[Donor]:
    found = []
    for run_id, widths in state.widths.items():
        if run_id not in state.runs:
            continue
        config = state.runs[run_id].run.config
        baselines = target_alone(runs, config.target, config.target_device, "stateful")
        if widths.prompt not in baselines:
            continue
        one = donor(widths, config.target, config.target_device, baselines[widths.prompt][0])
        if one is not None:
            found.append(one)
    return found


def _loops(state: SweepState) -> list[Loop]:
    """By pair. Drafts on an emulated NPU run on the CPU, as the timed ones did."""
    found: dict[tuple[str, str, str, str], Loop] = {}
    for run_id, times in state.loops.items():
        if run_id in state.runs:
            pair = _pair(state.runs[run_id].run)
            one = loop(times, pair)
            if one is not None:
                found[pair] = one
    for known in state.runs.values():
        pair = _pair(known.run)
        like = found.get((*pair[:3], "CPU"))
        if known.run.emulated and like is not None and known.run.config.target_device != "NPU":
            found[pair] = replace(like, pair=pair)
    return list(found.values())


def _pair(run: Run) -> tuple[str, str, str, str]:
    config = run.config
    return config.target, config.target_device, config.draft or "", config.draft_device or ""
