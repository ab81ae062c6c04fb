"""Identities that must hold for every rep, and what it means when one does not.

Each guard has a name, which leads the stored reason (`name: text; name: text`), and the columns that it
spoils: those are stored as null, so that no reader can show the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from sweeps.events.types import RepDone

_COUNTS: Final = (
    "acceptance",
    "tokens_per_round",
    "proposals_per_round",
    "rounds",
    "accepted",
    "proposals",
    "identity_speedup",
)
_RATES: Final = (
    "tok_s",
    "tok_s_sd",
    "tpot_ms",
    "wall_tok_s",
    "speedup",
    "speedup_lo",
    "speedup_hi",
    "speedup_default",
)
_TIMERS: Final = ("draft_ms", "verify_ms", "rest_ms", "draft_total_ms", "verify_total_ms")

SPOILS: Final[dict[str, tuple[str, ...]]] = {
    "lists_differ": (*_COUNTS, *_RATES, *_TIMERS, "ttft_ms"),
    "ids_differ": (*_COUNTS, *_RATES),
    "tokens_over_budget": (*_COUNTS, *_RATES),
    "clock_backwards": (*_RATES, *_TIMERS, "ttft_ms", "identity_speedup"),
    "ttft_not_positive": ("ttft_ms", "wall_tok_s"),
    "first_burst": (*_COUNTS, "ttft_ms"),
    "accepted_over_proposals": _COUNTS,
    "first_burst_late": (
        "tok_s", "tok_s_sd", "tpot_ms", "rest_ms",
        "speedup", "speedup_lo", "speedup_hi", "speedup_default", "identity_speedup",
    ),
    "timers_over_wall": (*_TIMERS, "identity_speedup"),
    "identity_off": ("speedup", "speedup_lo", "speedup_hi", "identity_speedup", *_TIMERS),
    "zero_acceptance": ("acceptance", "tokens_per_round", "speedup", "speedup_lo", "speedup_hi",
                        "speedup_default", "identity_speedup"),
}  # fmt: skip
"""Guard -> columns (of any table) that cannot be trusted when it fires."""

IDENTITY_TOLERANCE: Final = 0.05
"""Identity speed-up against measured speed-up, relative."""

ZERO_ACCEPTANCE_PROPOSALS: Final = 50
"""From this many proposals on, none accepted is no chance: a draft with r = 0.1 would do that once in 200."""

TIMERS_TOLERANCE: Final = 0.005
"""Draft and verify times against the wall time of the whole call, relative: clocks are rounded."""

DECODE_TOLERANCE: Final = 0.25
"""By how much the time between bursts may fall short of what was computed meanwhile, relative."""


class Problem(NamedTuple):
    """A guard that fired."""

    name: str
    text: str


def check_rep(done: RepDone, budget: int, accepted: int | None, proposals: int | None) -> list[Problem]:
    """Guards on the raw record of one `generate()`.

    `accepted` and `proposals` are our own counts, None in a plain run or where they are not known.
    """
    sizes, times = done.burst_sizes, done.burst_us
    if len(sizes) != len(times) or sum(sizes) != len(done.token_ids) or any(size < 1 for size in sizes):
        ids = len(done.token_ids)
        text = f"{len(times)} burst times, {len(sizes)} bursts of {sum(sizes)} tokens, {ids} token ids"
        return [Problem("lists_differ", text)]
    problems: list[Problem] = []
    if not done.result_ids_equal:
        problems.append(Problem("ids_differ", "the streamed token ids are not the returned ones"))
    if len(done.token_ids) > budget:
        text = f"{len(done.token_ids)} tokens, the budget is {budget}"
        problems.append(Problem("tokens_over_budget", text))
    if _backwards(times, done.wall_us):
        problems.append(Problem("clock_backwards", "bursts are not in order of time within the call"))
    if times and times[0] <= 0:
        problems.append(Problem("ttft_not_positive", f"first token after {times[0] / 1000:.3f} ms"))
    if sizes and sizes[0] != 1:
        problems.append(Problem("first_burst", f"the prefill gave {sizes[0]} tokens instead of one"))
    if accepted is not None and proposals is not None and accepted > proposals:
        text = f"{accepted} tokens accepted of {proposals} proposed"
        problems.append(Problem("accepted_over_proposals", text))
    return problems


def check_timers(wall_us: float, draft_us: float, verify_us: float) -> list[Problem]:
    """The call took at least as long as draft and target were computing in it, prefills included.

    Not asked of the rounds alone: their bursts are handed over by another thread, so that on a busy
    machine the first may arrive milliseconds late and the rounds seem that much shorter.
    """
    if draft_us + verify_us > wall_us * (1 + TIMERS_TOLERANCE):
        draft, verify, wall = draft_us / 1000, verify_us / 1000, wall_us / 1000
        text = f"draft {draft:.1f} ms + verify {verify:.1f} ms > generate() {wall:.1f} ms"
        return [Problem("timers_over_wall", text)]
    return []


def check_decode(decode_us: float, computed_us: float) -> list[Problem]:
    """From the first burst to the last it took about as long as what was computed between them, or longer.

    Another thread hands the bursts over, and the first may come late: with two or three tokens that makes
    rates which no machine could reach. `computed_us` is the library's own time for the tokens after the
    first (draft and verify of the rounds, or its time per token in a plain run).
    """
    if decode_us >= computed_us * (1 - DECODE_TOLERANCE):
        return []
    text = (
        f"{decode_us / 1000:.2f} ms of decode by our clock, {computed_us / 1000:.2f} ms were computed in it"
    )
    return [Problem("first_burst_late", text)]


def check_identity(speedup: float | None, identity: float | None) -> list[Problem]:
    """tau * T / (k d + v + s) is the measured speed-up, or a count or a timer is wrong."""
    if speedup is None or identity is None or abs(identity / speedup - 1) <= IDENTITY_TOLERANCE:
        return []
    text = f"the round budget gives {identity:.3f}, measured {speedup:.3f} ({identity / speedup - 1:+.1%})"
    return [Problem("identity_off", text)]


def check_acceptance(kind: str, accepted: int, proposals: int) -> list[Problem]:
    """A draft of which nothing at all was accepted, over enough proposals. Prompt lookup may well find
    nothing, so it is not judged."""
    if kind != "speculative" or accepted or proposals < ZERO_ACCEPTANCE_PROPOSALS:
        return []
    text = f"none of {proposals} proposals accepted: another tokenizer, or a draft or pipeline that broke"
    return [Problem("zero_acceptance", text)]


def reason_of(problems: Iterable[Problem]) -> str:
    """The stored reason: each guard once, in order."""
    first = {problem.name: problem.text for problem in reversed(list(problems))}
    return "; ".join(f"{name}: {first[name]}" for name in sorted(first, key=list(SPOILS).index))


def fired(reason: str | None) -> list[str]:
    """Names of the guards in a stored reason."""
    names = [part.split(":", 1)[0] for part in (reason or "").split("; ")]
    return [name for name in names if name in SPOILS]


def spoiled(names: Iterable[str]) -> dict[str, str]:
    """Column -> name of the (first) guard that spoils it."""
    columns: dict[str, str] = {}
    for name in names:
        for column in SPOILS[name]:
            columns.setdefault(column, name)
    return columns


def _backwards(times: Sequence[int], wall_us: int) -> bool:
    ordered = all(a <= b for a, b in pairwise(times))
    return not ordered or (bool(times) and times[-1] > wall_us)
