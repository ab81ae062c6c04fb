"""How many tokens each round proposed, replayed from its bursts by the rule of its engine.

Rules (read in the library's source and checked against its raw counts):

- continuous batching: `c = min(NAT, remaining - 1)`;
- prompt lookup: its candidates are padded to NAT, match or no match, so the same rule holds;
- stateful (and static NPU) pipelines: NAT is a seed. `k` starts at NAT, `k_max = 2 * NAT`; a round proposes
  `c = min(k, remaining - 1)`, `m` of them are accepted; then `k = min(k + 2, k_max)` if `m == k`,
  else `k = max(k - 1, 1)`.

`remaining` is the budget minus the tokens generated before the round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Rule = Literal["fixed", "adaptive"]


def rule_of(path: str, kind: str) -> Rule:
    """The rule by which an engine chooses the number of proposals."""
    return "adaptive" if kind == "speculative" and path in ("stateful", "npu") else "fixed"


def replay(rule: Rule, nat: int, budget: int, burst_sizes: Sequence[int]) -> list[int]:
    """Proposals of rounds 1.. of one `generate()`; as long as `burst_sizes` without its first entry.

    `nat` is at least 1, `budget` is `max_new_tokens`, `burst_sizes[0]` is the first token's burst.
    """
    proposals: list[int] = []
    k, k_max = nat, 2 * nat
    generated = burst_sizes[0] if burst_sizes else 0
    for size in burst_sizes[1:]:
        proposals.append(max(min(k, budget - generated - 1), 0))
        if rule == "adaptive":
            # Compared with k, not with what the budget left of it: a round that was cut counts as a miss.
            k = min(k + 2, k_max) if size - 1 == k else max(k - 1, 1)
        generated += size
    return proposals


def split_draft(draft_us: Sequence[float], proposals: Sequence[int]) -> list[float] | None:
    """Draft time of each round in microseconds, or None where the raw list does not fit the proposals.

    The list holds one entry a proposal, in order, and may be led by one entry for the draft's prefill,
    which is left out here (see `lead`).
    """
    if lead(draft_us, proposals) is None:
        return None
    at = len(draft_us) - sum(proposals)
    times: list[float] = []
    for count in proposals:
        times.append(sum(draft_us[at : at + count]))
        at += count
    return times


def lead(draft_us: Sequence[float], proposals: Sequence[int]) -> int | None:
    """Entries before the first proposal's (0 or 1), or None where the list does not fit."""
    extra = len(draft_us) - sum(proposals)
    return extra if extra in (0, 1) else None
