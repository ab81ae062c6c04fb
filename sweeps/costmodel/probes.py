"""What probes say about a pair that was not tried: a donor for the stateful path, the draft's first steps.

The agreement run of a target with its own text times the target's inference by the number of new tokens,
with and without a cut of the key-value cache before it, and the cut itself. That is what the stateful engine
does in a round; on continuous batching prompt-lookup rows say it better, from inside the engine.

In an interleaved sweep every pass times anew, each in a process of its own: of such readings the median
stands, term by term, and what they differ by widens its error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from sweeps.costmodel.calibrate import Donor, Loop, Probes
from sweeps.costmodel.chance import WARMING
from sweeps.costmodel.evidence import texts_of
from sweeps.costmodel.terms import CHANGE, LOOKUP, NAMES, REST, Fit, Key
from sweeps.events.types import LoopTimes, VerifyWidths

if TYPE_CHECKING:
    from sweeps.plan.model import Run
    from sweeps.store.state import SweepState

LINE_UP_TO = 9
"""Widths that the line through the times is made of; wider ones stand in the table only."""
OUTSIDE_MS = 0.45
"""What an inference costs more outside of an engine: host work (0.4 to 0.5 for the bundled target)."""
ROUND_MS = (0.5, 0.25)
"""What the stateful engine does in a round beside the passes: host work, so in milliseconds whatever the
models (of the bundled target 0.4 to 0.7)."""
CUT_MS = 0.3
"""What it takes longer than the probe to cut the cache (0.3 in both precisions)."""
CHANGE_REL = 0.05
"""Sd of a change of width that was not timed, as a share of T."""
TOO_LONG_MS = 1e6
TOO_DEAR = 50.0
"""Times a step in full swing, or a pass behind its like, that nothing but a damaged journal makes of one."""
DEVIATIONS = 1.4826 * 1.2533
"""Sd of a median of many, times the root of their number, over their median absolute deviation."""
PROBE_REL = 0.06
"""Relative sd of a term outside the engine against the same term inside."""


def donor(widths: VerifyWidths, target: str, device: str) -> Donor | None:
    """Terms of the stateful path from one probe; None when it has too few times.

    The probe is its own yardstick: one token at a time it is the target alone, but for the host's work around
    an inference outside of an engine. So a machine in another mood is scaled away.
    """
    plain, changed, after = map(_undisturbed, (widths.ms, widths.changed_ms, widths.after_trim_ms))
    trims = _true(widths.trim_ms)
    near = [width for width in plain if width <= LINE_UP_TO]
    if len(near) < 3 or plain.get(1, 0.0) <= 0:
        return None
    level = max(plain[1] - OUTSIDE_MS, 0.5 * plain[1])
    proposals = np.array([width - 1.0 for width in near])
    slope, base = np.polyfit(proposals, np.array([plain[width] for width in near]), 1)
    values = {
        "verify_base": base,
        "verify_slope": max(slope, 0.0),
        # In the probe another width follows a cut of the cache, whose effect is counted by itself.
        "verify_change": _dearer(changed, after or plain, near),
        "rest": ROUND_MS[0],
        "rest_mismatch": _dearer(after, plain, near) + (median(trims) + CUT_MS if trims else 0.0),
    }
    theta = np.array([float(values.get(name, 0.0)) for name in NAMES])
    sd = np.maximum(PROBE_REL * theta, 0.01 * level)
    sd[REST] = ROUND_MS[1]
    if not changed:
        sd[CHANGE] = CHANGE_REL * level
    fit = Fit(
        theta,
        np.diag(sd**2),
        rounds=0,
        widths=(min(near) - 1, max(plain) - 1),
        table=tuple((width - 1, ms) for width, ms in sorted(plain.items())),
        level_target_ms=level,
        source="timed outside the engine by width",
    )
    return Donor(Key(target, device, LOOKUP, device, "stateful"), fit, level, None)


def _undisturbed(times: Mapping[str, Sequence[float]]) -> dict[int, float]:
    """Lower quartile by width: what else runs on the machine only ever makes a pass slower."""
    return {
        int(width): float(np.percentile(each, 25))
        for width, all_times in times.items()
        if width.isdigit() and (each := _true(all_times))
    }


def _dearer(than: Mapping[int, float], plain: Mapping[int, float], widths: Sequence[int]) -> float:
    """Median of what some times are above the plain ones; at least 0."""
    return max(median([than[width] - plain[width] for width in widths if width in than] or [0.0]), 0.0)


def loop(times: LoopTimes, pair: tuple[str, str, str, str]) -> Loop | None:
    """The draft's first steps behind a pass of the target, over its steps in full swing; None with too few
    times. Lower quartiles of what was timed in turns: the machine's mood cancels, and noise only adds."""
    first, two = (_true(times.first_ms.get(kind, ())) for kind in ("1 after 1", "2 after 1"))
    later, back = [_true(each) for each in times.later_ms], _true(times.back_ms)
    verify = [
        median(behind) / median(again)
        for width in times.again_ms
        if (again := _true(times.again_ms[width])) and (behind := _true(times.verify_ms.get(width, ())))
    ]
    if len(later) < 3 or not (first and two and later[0] and back and verify):
        return None
    steps = [(place, each) for place, each in enumerate((first, *later)) if each]
    swing, dearer = np.linalg.lstsq(
        np.array([(1.0, WARMING**place) for place, _ in steps]),
        np.array([np.percentile(each, 25) for _, each in steps]),
        rcond=None,
    )[0]
    if swing <= 0:
        return None
    first_over, verify_over = 1 + max(dearer / swing, 0.0), median(verify)
    if max(first_over, verify_over) > TOO_DEAR:
        return None
    changes = median(two) - median(first), median(back) - median(later[0])
    return Loop(pair, first_over, max(sum(changes) / 2, 0.0), float(swing), verify_over)


def _true(times: Sequence[float]) -> list[float]:
    """Those that a pass can take: a damaged journal or a clock that stood still teaches nothing."""
    return [ms for ms in times if 0 < ms < TOO_LONG_MS]


def probes_of(state: SweepState) -> Probes:
    """All probes of one sweep, from its journal, folded."""
    return Probes(tuple(_donors(state)), tuple(_loops(state)), texts_of(state))


def _donors(state: SweepState) -> list[Donor]:
    """One a target, of all the times that it was read."""
    read: dict[Key, list[Donor]] = {}
    for (run_id, _), widths in state.widths.items():
        if run_id in state.runs:
            config = state.runs[run_id].run.config
            one = donor(widths, config.target, config.target_device)
            if one is not None:
                read.setdefault(one.key, []).append(one)
    return [one_donor(each) for each in read.values()]


def one_donor(readings: Sequence[Donor]) -> Donor:
    """Several readings of the same probe as one; each is brought to the median level first."""
    level = median(one.target_ms for one in readings)
    fits = [one.fit.beside(level) for one in readings]
    each = np.array([one.theta for one in fits])
    between = DEVIATIONS * np.median(np.abs(each - np.median(each, axis=0)), axis=0)
    tables = [dict(one.table) for one in fits]
    widths = sorted(set().union(*tables))
    fit = replace(
        fits[0],
        theta=np.median(each, axis=0),
        cov=np.median([one.cov for one in fits], axis=0) + np.diag(between**2 / len(fits)),
        table=tuple((width, median(t[width] for t in tables if width in t)) for width in widths),
    )
    return replace(readings[0], fit=fit, target_ms=level)


def _loops(state: SweepState) -> list[Loop]:
    """By pair. Drafts on an emulated NPU run on the CPU, as the timed ones did."""
    read: dict[tuple[str, str, str, str], list[Loop]] = {}
    for (run_id, _), times in state.loops.items():
        if run_id in state.runs:
            pair = _pair(state.runs[run_id].run)
            one = loop(times, pair)
            if one is not None:
                read.setdefault(pair, []).append(one)
    found = {pair: one_loop(each) for pair, each in read.items()}
    for known in state.runs.values():
        pair = _pair(known.run)
        like = found.get((*pair[:3], "CPU"))
        if known.run.emulated and like is not None and known.run.config.target_device != "NPU":
            found[pair] = replace(like, pair=pair, own=False)
    return list(found.values())


def one_loop(readings: Sequence[Loop]) -> Loop:
    """Several readings of one pair as one: medians."""
    return replace(
        readings[0],
        first=median(one.first for one in readings),
        change_ms=median(one.change_ms for one in readings),
        step_ms=median(one.step_ms for one in readings),
        verify=median(one.verify for one in readings),
        readings=len(readings),
    )


def _pair(run: Run) -> tuple[str, str, str, str]:
    config = run.config
    return config.target, config.target_device, config.draft or "", config.draft_device or ""
