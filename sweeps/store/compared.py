"""What a row gets from other rows of its sweep: speed-ups, the identity, and where texts part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from sweeps.compare.divergence import compare, describe, letters
from sweeps.compare.near_tie import near_tie
from sweeps.compare.noise import clock_off, is_noisy, relative_mad
from sweeps.compare.speedup import Ratio, Side, identity_rate, paired_ratio, ratio, unlike
from sweeps.events.types import Agreement
from sweeps.measure.guards import check_identity, fired, reason_of, spoiled
from sweeps.measure.path import baseline_path
from sweeps.measure.rep import RepMetrics
from sweeps.plan.model import Run
from sweeps.store.rows import Row
from sweeps.store.state import Rep

CHOOSES_PATH: Final = frozenset({"ATTENTION_BACKEND"})
"""Properties that pin the engine: they differ between a row and its baseline on purpose."""


DRIFT_NOISY: Final = 0.1
"""A baseline that moved by more than this makes the rows measured against it noisy."""


@dataclass(frozen=True)
class Measured:
    """A row with what it was made of."""

    row: Row
    run: Run
    reps: Sequence[tuple[Rep, RepMetrics]]
    interleaved: bool
    beside: Mapping[int, float] = field(default_factory=dict)
    """Rep number -> decode rate of the baseline, measured in the same process in turn with that rep."""
    yardstick: str | None = None
    """Run id of that baseline."""

    @property
    def rates(self) -> dict[int, float]:
        """Rep number -> decode rate."""
        return {rep.done.rep: m.tok_s for rep, m in self.reps if m.tok_s is not None}

    @property
    def text(self) -> list[int]:
        """Token ids of the first counted rep."""
        return self.reps[0][0].done.token_ids if self.reps else []

    @property
    def label(self) -> str:
        """The row among the drafts of its target, for people."""
        config = self.run.config
        nat = config.num_assistant_tokens
        name = f"{config.draft} on {config.draft_device}" if config.draft else config.kind
        return name if nat is None else f"{name} NAT {nat}"


Asked = Mapping[tuple[str, str], Agreement]
"""(run id of a baseline, prompt) -> the target scored on that baseline's text."""


def complete(
    items: Sequence[Measured],
    asked: Asked | None = None,
    at_the_end: Mapping[tuple[str, str], float] | None = None,
) -> None:
    """Fill the columns that compare rows, in place; `items` are the rows of one sweep.

    `at_the_end`: (run, prompt) -> decode rate of a baseline measured once more when the sweep was over.
    """
    by_key = {(item.run.id, str(item.row["prompt"])): item for item in items}
    for item in items:
        _pace(item, by_key.get((item.yardstick or "", str(item.row["prompt"]))))
    for item in items:
        base = by_key.get((item.run.baseline or "", str(item.row["prompt"])))
        default = by_key.get((item.run.baseline_default or "", str(item.row["prompt"])))
        _speedups(item, base, default)
        _baseline_text(item, base, asked or {})
    for item in items:
        _drift(item, by_key, at_the_end or {})
    _texts(items)


def _speedups(item: Measured, base: Measured | None, default: Measured | None) -> None:
    row = item.row
    if item.run.baseline is None or item.run.config.kind == "agreement" or not item.rates:
        return
    why = _refusal(item, base, same_path=True)
    if base is None or why:
        row["reason"] = row["reason"] or f"no speed-up: {why}"
    else:
        found = _ratio(item, base)
        row["speedup"], row["speedup_lo"], row["speedup_hi"] = found.value, found.lo, found.hi
        row["identity_speedup"] = _identity(item, base)
        if _is_beside(item, base):
            row["notes"] = _joined(row["notes"], "speed-up from pairs: its baseline ran beside each rep")
        else:
            _noise_of_the_baseline(item, base)
            if found.paired and found.lo is not None:
                row["notes"] = _joined(row["notes"], "speed-up interval from pairs of passes")
    if default is not None and not _refusal(item, default, same_path=False):
        row["speedup_default"] = _ratio(item, default).value
    problems = check_identity(row.get("speedup"), row.get("identity_speedup"))
    if problems:
        row["status"] = "metric_suspect" if row["status"] == "ok" else row["status"]
        row["reason"] = _joined(row["reason"], reason_of(problems))
    for column in spoiled(fired(row["reason"])):
        if column in row:
            row[column] = None


def _noise_of_the_baseline(item: Measured, base: Measured) -> None:
    row = item.row
    if base.row["noisy"] and not row["noisy"]:
        row["noisy"] = True
        row["notes"] = _joined(row["notes"], "noisy: its baseline is")
    off = clock_off(_clocks(item), _clocks(base))
    if off is not None:
        row["noisy"] = True
        row["notes"] = _joined(row["notes"], f"noisy: the clock was {off:+.0%} off the baseline's")


def _pace(item: Measured, yardstick: Measured | None) -> None:
    """What stood beside a row says how fast the machine was then, and whether the pairs scatter."""
    pairs = [(item.rates[rep], rate) for rep, rate in item.beside.items() if rep in item.rates]
    if not pairs or yardstick is None or not yardstick.rates:
        return
    item.row["pace"] = fmean(rate for _, rate in pairs) / fmean(yardstick.rates.values())
    item.row["rel_mad"] = relative_mad([ours / theirs for ours, theirs in pairs])
    item.row["noisy"] = is_noisy(item.row["rel_mad"]) or any(rep.throttles for rep, _ in item.reps)


def _is_beside(item: Measured, base: Measured) -> bool:
    return item.yardstick == base.run.id and bool(set(item.beside) & set(item.rates))


def _clocks(item: Measured) -> list[float]:
    return [rep.freq_mhz for rep, _ in item.reps if rep.freq_mhz]


def _refusal(item: Measured, base: Measured | None, same_path: bool) -> str:
    if base is None:
        return "the baseline is not part of this sweep"
    if not base.rates:
        return f"the baseline is {base.row['status']}"
    ours, theirs = _side(item), _side(base)
    if not same_path:
        # The library's own choice brings its own engine and prefix cache; the decode rate, which is
        # divided here, begins after the prefix.
        ours = replace(ours, path="", prefix_caching=False)
        theirs = replace(theirs, path="", prefix_caching=False)
    return unlike(ours, theirs)


def _side(item: Measured) -> Side:
    row, run = item.row, item.run
    properties = {key: str(value) for key, value in run.target_properties.items() if key not in CHOOSES_PATH}
    return Side(
        model=f"{run.config.target} {run.target_hash}".strip(),
        device=run.config.target_device,
        prompt=str(row["prompt"]),
        path=baseline_path(str(row["path"]), run.config.target_device),
        tokens=row["tokens"],
        prompt_tokens=row["prompt_tokens"],
        prefix_caching=bool(row["prefix_caching"]),
        properties=tuple(sorted(properties.items())),
        # Reps that count are worth comparing while others are still missing.
        status=str(row["rep_status"] or row["status"]),
    )


def _pair(item: Measured, base: Measured) -> tuple[dict[int, float], dict[int, float], bool]:
    """Rates by rep number on both sides, and whether the reps are pairs: measured beside each other, or in
    the same of interleaved passes."""
    if _is_beside(item, base):
        common = set(item.rates) & set(item.beside)
        return {r: item.rates[r] for r in common}, {r: item.beside[r] for r in common}, True
    common = set(item.rates) & set(base.rates)
    if not (item.interleaved and base.interleaved and common):
        return item.rates, base.rates, False
    return {r: item.rates[r] for r in common}, {r: base.rates[r] for r in common}, True


def _ratio(item: Measured, base: Measured) -> Ratio:
    ours, theirs, paired = _pair(item, base)
    return paired_ratio(ours, theirs) if paired else ratio(list(ours.values()), list(theirs.values()))


def _identity(item: Measured, base: Measured) -> float | None:
    """tau * T / (k d + v + s) from the very reps that the speed-up comes from."""
    ours, theirs, _ = _pair(item, base)
    rates: list[float] = []
    for rep, m in item.reps:
        if rep.done.rep not in ours:
            continue
        if m.rounds is None or m.accepted is None or m.draft_total_ms is None:
            return None
        if m.verify_total_ms is None or m.rounds_total_ms is None:
            return None
        tokens = m.rounds + m.accepted
        rate = identity_rate(tokens, m.rounds, m.draft_total_ms, m.verify_total_ms, m.rounds_total_ms)
        if rate is None:
            return None
        rates.append(rate)
    # T is the inverse of the mean rate that the measured speed-up divides by.
    return fmean(rates) / fmean(theirs.values()) if rates else None


def _drift(
    item: Measured,
    by_key: Mapping[tuple[str, str], Measured],
    at_the_end: Mapping[tuple[str, str], float],
) -> None:
    """How much faster or slower the row's baseline had become by the end of the sweep."""
    own = item.run.config.kind == "plain" and item.run.baseline is None
    baseline = item.run.id if own else item.run.baseline or ""
    for (run, prompt), rate in at_the_end.items():
        base = by_key.get((run, prompt))
        if run != baseline or base is None or not base.rates:
            continue
        off = rate / fmean(base.rates.values()) - 1
        item.row["notes"] = _joined(item.row["notes"], f"drift: the baseline {off:+.1%} at the end")
        if abs(off) > DRIFT_NOISY and not own and item.rates:
            item.row["noisy"] = True


def _baseline_text(item: Measured, base: Measured | None, asked: Asked) -> None:
    if base is None or not item.text or not base.text:
        return
    found = compare(item.text, base.text)
    key = (base.run.id, str(item.row["prompt"]))
    tie = near_tie(asked[key], base.text, found) if key in asked else None
    item.row["same_prefix_tokens"] = found.same_prefix
    item.row["first_divergence"] = found.position
    item.row["divergence"] = describe(found, "the baseline") + (f" ({tie})" if tie else "")


def _texts(items: Sequence[Measured]) -> None:
    """Letters for equal texts, and for each draft how its text compares with the other drafts'."""
    groups: Mapping[tuple[str, str], list[Measured]] = defaultdict(list)
    for item in items:
        if item.text:
            groups[item.run.config.target, str(item.row["prompt"])].append(item)
    for group in groups.values():
        plain_first = sorted(group, key=lambda item: item.run.config.kind != "plain")
        named = letters((id(item), item.text) for item in plain_first)
        for item in group:
            item.row["text"] = named[id(item)]
        drafts = [item for item in group if item.run.config.kind == "speculative"]
        for item in drafts:
            others = [other for other in drafts if other is not item]
            if others:
                said = _among(item, others)
                item.row["divergence"] = _joined(item.row.get("divergence"), said)


def _among(item: Measured, others: Sequence[Measured]) -> str:
    parted = [
        (compare(item.text, other.text), other) for other in others if other.row["text"] != item.row["text"]
    ]
    if not parted:
        return (
            f"equal to all {len(others)} other draft rows"
            if len(others) > 1
            else "equal to the other draft row"
        )
    first, other = min(parted, key=lambda pair: pair[0].same_prefix)
    return f"unlike {len(parted)} of {len(others)} other draft rows, first {describe(first, other.label)}"


def _joined(text: str | None, more: str) -> str:
    return "; ".join(part for part in (text, more) if part)
