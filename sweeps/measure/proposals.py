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


def entries(rule: Rule, proposals: Sequence[int]) -> list[int]:
    """Draft inferences that stand in the library's raw list for each round: one a proposal. Continuous
    batching runs the draft once even in a last round that has no room for a proposal."""
    return [max(count, 1) for count in proposals] if rule == "fixed" else list(proposals)


def split_draft(draft_us: Sequence[float], counts: Sequence[int]) -> list[float] | None:
    """Draft time of each round (microseconds), or None where the raw list does not fit `counts`.

    The list holds `counts[i]` entries for round i, in order, and may be led by one entry for the draft's
    prefill, which belongs to no round and is left out.
    """
    at = len(draft_us) - sum(counts)
    if at not in (0, 1):
        return None
    times: list[float] = []
    for count in counts:
        times.append(sum(draft_us[at : at + count]))
        at += count
    return times
