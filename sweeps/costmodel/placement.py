"""Where does the draft belong? Every draft, device and path that the rows know, at its best NAT, ranked.

Rows of different paths have different baselines, so places are compared by their rate (tokens per second):
the speed-up over T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sweeps.costmodel.answers import PathAndDevice, path_and_device, win_probability
from sweeps.costmodel.calibrate import Probes
from sweeps.costmodel.cases import Case
from sweeps.costmodel.evidence import Strings
from sweeps.costmodel.model import NO_PROBES, Model, tables, train
from sweeps.costmodel.predict import Prediction
from sweeps.costmodel.terms import LOOKUP

if TYPE_CHECKING:
    import polars as pl

SURE: Final = 0.95
"""Probability from which a place is said to win."""


@dataclass(frozen=True)
class Place:
    """One draft on one device and path, for one target and prompt, at its best NAT."""

    case: Case
    """With that NAT; its `speedup` is the measured one of another NAT where this one was not measured."""
    prediction: Prediction
    measured: bool
    """The best NAT was measured too."""

    @property
    def rate(self) -> float:
        """Predicted tokens per second."""
        return 1000.0 * self.prediction.speedup / self.case.target_ms

    @property
    def name(self) -> str:
        """`draft-s on NPU*`; the star: emulated."""
        key = self.case.key
        where = key.target_device if key.draft == LOOKUP else key.draft_device
        return f"{key.draft} on {where}{'*' if self.case.emulated else ''}"


def places(model: Model, rows: Sequence[Case], like: Case) -> list[Place]:
    """The places for the target, its device and the prompt of a case, the fastest first.

    Args:
        rows: measured cases; those of the same sweep, target, device and prompt are looked at.
    """
    near = [
        c
        for c in rows
        if (c.sweep, c.prompt, c.key.target, c.key.target_device)
        == (like.sweep, like.prompt, like.key.target, like.key.target_device)
    ]
    found = []
    for key in dict.fromkeys(c.key for c in near):
        mine = [c for c in near if c.key == key]
        nat, _ = model.best_nat(mine[0])
        # Slower than the target alone at every NAT: the smallest does least harm.
        nat = nat or min(c.nat for c in mine)
        own = next((c for c in mine if c.nat == nat), None)
        case = own or replace(mine[0], nat=nat)
        found.append(Place(case, model.predict(case), own is not None))
    return sorted(found, key=lambda place: -place.rate)


def beats(a: Place, b: Place) -> float:
    """P(a gives more tokens per second than b)."""
    return win_probability(replace(a.prediction, speedup=a.rate), replace(b.prediction, speedup=b.rate))


class Split(NamedTuple):
    """How a draft's rate changes from the CPU under continuous batching to an NPU."""

    draft: str
    factors: PathAndDevice
    emulated: bool
    """There is no real NPU among the rows: the device's own part is not known."""


def split(found: Sequence[Place]) -> list[Split]:
    """For each draft with a row on the CPU and one on an emulated or real NPU: what is the path's part.

    Each place stands for its draft at its best NAT there; rates, so that the baselines' difference counts.
    """
    out = []
    drafts = dict.fromkeys(p.case.key.draft for p in found if p.case.key.draft != LOOKUP)
    for draft in drafts:
        mine = [p for p in found if p.case.key.draft == draft and p.case.key.target_device != "NPU"]
        cb = next((p.rate for p in mine if p.case.key.path == "cb"), None)
        emulated = next((p.rate for p in mine if p.case.emulated), None)
        real = next((p.rate for p in mine if p.case.key.draft_device == "NPU" and not p.case.emulated), None)
        if cb is not None and emulated is not None:
            out.append(Split(draft, path_and_device(cb, emulated, real), real is None))
    return out


def words(found: Sequence[Place]) -> list[str]:
    """The ranking, how sure it is, and what of a slowdown is the path's, in a line each."""
    if not found:
        return []
    best = found[0]
    lines = [
        f"fastest: {best.name}, NAT {best.case.nat}, {best.rate:.1f} tok/s "
        f"({best.prediction.speedup:.2f}x its baseline)"
    ]
    if all(place.prediction.speedup < 1 for place in found):
        lines[0] += "; no place is faster than the target alone on its path"
    for other in found[1:]:
        sure = beats(best, other)
        verb = "beats" if sure >= SURE else "is likely before" if sure >= 0.75 else "cannot be told from"
        lines.append(
            f"{verb} {other.name}, NAT {other.case.nat}, {other.rate:.1f} tok/s (sure to {sure:.0%})"
        )
    for one in split(found):
        factors = one.factors
        if one.emulated or factors.device is None:
            lines.append(
                f"{one.draft}: the NPU's code path alone, run on the CPU, gives {factors.path:.2f} of the "
                "CPU draft's rate; what the NPU itself adds is not known"
            )
        else:
            lines.append(
                f"{one.draft}: the NPU draft gives {factors.whole:.2f} of the CPU draft's rate: "
                f"{factors.path:.2f} by the path, {factors.device:.2f} by the device"
            )
    return lines


def placements(
    runs: pl.DataFrame,
    rounds: pl.DataFrame,
    strings: Strings | None = None,
    probes: Probes = NO_PROBES,
) -> tuple[pl.DataFrame, list[str]]:
    """All places of each sweep, target, device and prompt, and the same in words.

    Args:
        runs, rounds: frames of `sweeps.store.schema`.
        strings: agreement strings over the baselines' texts.
        probes: what was timed outside of the engines.

    Returns:
        A frame with one row a place, the fastest of each prompt first: sweep, target, target_device, prompt,
        draft, draft_device, path, emulated, num_assistant_tokens (the best), predicted_tok_s,
        predicted_speedup, predicted_lo, predicted_hi (90 %, against the baseline of its own path), speedup
        (measured, where that NAT was), best_beats_it (probability that the first place is faster).
    """
    import polars as pl

    known = tables(runs, rounds)
    model = train(known, known.cases, strings, probes)
    rows: list[dict[str, Any]] = []
    said = []
    questions = {(c.sweep, c.key.target, c.key.target_device, c.prompt): c for c in known.cases}
    for (sweep, target, device, prompt), like in questions.items():
        found = places(model, known.cases, like)
        said += [f"{target} on {device}, {prompt or 'no prompt'}:", *(f"  {line}" for line in words(found))]
        for place in found:
            key = place.case.key
            rows.append(
                {
                    "sweep": sweep,
                    "target": target,
                    "target_device": device,
                    "prompt": prompt,
                    "draft": key.draft,
                    "draft_device": key.draft_device,
                    "path": key.path,
                    "emulated": place.case.emulated,
                    "num_assistant_tokens": place.case.nat,
                    "predicted_tok_s": place.rate,
                    "predicted_speedup": place.prediction.speedup,
                    "predicted_lo": place.prediction.lo,
                    "predicted_hi": place.prediction.hi,
                    "speedup": place.case.speedup if place.measured else None,
                    "best_beats_it": None if place is found[0] else beats(found[0], place),
                }
            )
    texts = ("sweep", "target", "target_device", "prompt", "draft", "draft_device", "path")
    numbers = ("predicted_tok_s", "predicted_speedup", "predicted_lo", "predicted_hi", "speedup")
    schema = {
        **dict.fromkeys(texts, pl.String),
        "emulated": pl.Boolean,
        "num_assistant_tokens": pl.Int64,
        **dict.fromkeys((*numbers, "best_beats_it"), pl.Float64),
    }
    return pl.DataFrame(rows, schema=schema), said
