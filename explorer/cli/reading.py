"""What a table says, in three lines: which draft, device and NAT won, by how much, how sure."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl

KEY = ("kind", "target", "target_device", "draft", "draft_device", "emulated", "path", "num_assistant_tokens")


class Standing(NamedTuple):
    """One configuration over all its prompts."""

    label: str
    path: str
    emulated: bool
    speedup: float
    """Geometric mean over the prompts."""
    lo: float
    hi: float
    prompts: int
    noisy: bool


def reading(runs: pl.DataFrame) -> list[str]:
    """Three lines (fewer where there is nothing to say) on a run table of one or more sweeps."""
    ranked = rank(runs)
    if not ranked:
        return ["No speculative row has a speed-up yet: nothing to read."]
    quiet = [one for one in ranked if not one.noisy] or ranked
    best = quiet[0]
    noisy = [one for one in ranked if one not in quiet]
    return [_winner(best, len(quiet), len(noisy)), _sureness(best, quiet[1:], noisy), _paths(ranked, best)]


def rank(runs: pl.DataFrame) -> list[Standing]:
    """Configurations by their geometric mean speed-up, noisy ones after all others.

    The interval multiplies the prompts' own intervals as independent: log half-widths add in squares.
    """
    rows = runs.filter(
        (pl.col("status") == "ok") & pl.col("speedup").is_not_null() & (pl.col("kind") != "plain")
    )
    found = []
    for _, group in rows.group_by(KEY, maintain_order=True):
        logs = [math.log(value) for value in group["speedup"]]
        mean = sum(logs) / len(logs)
        halves = [
            (math.log(hi) - math.log(lo)) / 2
            for lo, hi in zip(group["speedup_lo"], group["speedup_hi"], strict=True)
            if lo is not None and hi is not None and lo > 0
        ]
        half = math.sqrt(sum(h * h for h in halves)) / len(logs) if len(halves) == len(logs) else math.nan
        first = group.row(0, named=True)
        found.append(
            Standing(
                label(first),
                first["path"] or "",
                bool(first["emulated"]),
                math.exp(mean),
                math.exp(mean - half),
                math.exp(mean + half),
                len(logs),
                # One disturbed prompt does not disqualify a configuration; half of them do.
                2 * sum(bool(value) for value in group["noisy"]) >= len(logs),
            )
        )
    return sorted(found, key=lambda one: (one.noisy, -one.speedup))


def label(row: dict[str, object]) -> str:
    """`draft-s on CPU, NAT 3` or `prompt lookup, NAT 3`."""
    who = "prompt lookup" if row["kind"] == "prompt-lookup" else f"{row['draft']} on {row['draft_device']}"
    if row["emulated"]:
        who += " (emulated)"
    nat = row["num_assistant_tokens"]
    return who + (f", NAT {nat}" if nat is not None else "")


def _spread(one: Standing) -> str:
    if math.isnan(one.lo):
        return "no interval: fewer than two reps"
    return f"95 % {one.lo:.2f} to {one.hi:.2f}"


def _winner(best: Standing, count: int, noisy: int) -> str:
    over = f"geometric mean over {best.prompts} prompt{'s' if best.prompts > 1 else ''}, {_spread(best)}"
    of = f"{count} ({noisy} more too noisy to rank)" if noisy else f"{count}"
    if best.speedup <= 1:
        nearest = f"the nearest is {best.label}: {best.speedup:.2f}x ({over})"
        return f"No configuration of {of} speeds the target up; {nearest}."
    return f"Best of {of}: {best.label}: {best.speedup:.2f}x the target alone on the same path ({over})."


def _sureness(best: Standing, others: list[Standing], noisy: list[Standing]) -> str:
    if best.noisy:
        return "How sure: not very, its reps vary too much (noisy); quiet the machine and run it again."
    faster = max(noisy, key=lambda one: one.speedup, default=best)
    if faster.speedup > best.speedup:
        found = f"{faster.label} was measured {faster.speedup:.2f}x ({_spread(faster)}), but noisy"
        return f"How sure: not very, {found}; quiet the machine and run it again."
    if not others:
        return "How sure: there is no other configuration to compare it with."
    close = [
        one for one in others if not math.isnan(one.hi) and not math.isnan(best.lo) and one.hi >= best.lo
    ]
    if math.isnan(best.lo):
        return "How sure: unknown, two reps are the least that give an interval."
    if close:
        names = "; ".join(f"{one.label} {one.speedup:.2f}x" for one in close[:2])
        return f"How sure: within noise of it: {names}{' and others' if len(close) > 2 else ''}."
    return (
        f"How sure: clear of the next, {others[0].label} at {others[0].speedup:.2f}x ({_spread(others[0])})."
    )


def _paths(ranked: list[Standing], best: Standing) -> str:
    stateful = [one for one in ranked if one.path == "stateful"]
    if not stateful:
        losers = [one for one in ranked if one.speedup < 1]
        if not losers:
            unsure = sum(not one.lo > 1 for one in ranked)
            but = f"; of {unsure} the interval includes less" if unsure else ""
            return f"Every configuration measured here is at least as fast as the target alone{but}."
        return f"Slower than no draft at all: {', '.join(one.label for one in losers[:3])}."
    top = max(stateful, key=lambda one: one.speedup)
    word = "speeds up" if top.speedup > 1 else "slows down"
    note = "emulated: this is the path's cost, not an NPU's" if top.emulated else "measured on the device"
    return f"The NPU draft's path (stateful) {word}: {top.speedup:.2f}x at best, {top.label} ({note})."
