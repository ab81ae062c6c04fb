"""The round rules: how many tokens each engine proposes, round by round.

Positions count the generated tokens. The first token comes from the prefill, so the first round starts
at position 1 with `remaining = budget - 1` tokens still to come. A round proposes c tokens, m of them are
accepted, and it emits m + 1 tokens (the accepted ones and the target's own).

- Continuous batching (`cb`): c = min(NAT, remaining - 1).
- Stateful (`stateful`, and a target on the NPU): k starts at NAT in every call, k_max = 2 NAT;
  c = min(k, remaining - 1); afterwards k = min(k + 2, k_max) if m == k, else max(k - 1, 1). The comparison
  is with k and not with c: a round cut short by the budget counts as a miss.

With one token remaining both rules give c = 0: a round without proposals, the target alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Rule = Literal["cb", "stateful"]


class Rounds(NamedTuple):
    """One call, round by round (all of one length). `bursts` leaves the first token (prefill) out."""

    positions: tuple[int, ...]
    """Tokens generated before each round."""
    proposals: tuple[int, ...]
    accepted: tuple[int, ...]

    @property
    def bursts(self) -> tuple[int, ...]:
        """Tokens that each round emitted."""
        return tuple(m + 1 for m in self.accepted)

    @property
    def tokens_per_round(self) -> float:
        """tau = 1 + accepted / rounds."""
        return 1.0 + sum(self.accepted) / len(self.accepted) if self.accepted else 1.0


def rule_of(path: str) -> Rule:
    """The rule that a path follows. A plain path (`sdpa`, `default`) proposes nothing.

    Raises:
        ValueError: the path has no draft.
    """
    if path == "cb":
        return "cb"
    if path in ("stateful", "npu"):
        return "stateful"
    raise ValueError(f"path {path!r} does not speculate; expected cb, stateful or npu")


def widest(rule: Rule, nat: int) -> int:
    """The most tokens that a round can propose."""
    return nat if rule == "cb" else 2 * nat


def next_k(rule: Rule, nat: int, k: int, accepted: int) -> int:
    """The k of the next round, from this round's k and what was accepted of it."""
    if rule == "cb":
        return nat
    return min(k + 2, 2 * nat) if accepted == k else max(k - 1, 1)


def proposals_of(bursts: Sequence[int], rule: Rule, nat: int, budget: int) -> tuple[int, ...]:
    """Proposals of each measured round.

    Args:
        bursts: tokens of each burst in order, the first token (prefill) included.
        budget: max_new_tokens.
    """
    out: list[int] = []
    k, position = nat, bursts[0] if bursts else 0
    for burst in bursts[1:]:
        out.append(max(min(k, budget - position - 1), 0))
        k = next_k(rule, nat, k, burst - 1)
        position += burst
    return tuple(out)


def replay(bits: str, rule: Rule, nat: int, budget: int, *, unseen: bool = False) -> Rounds:
    """Plays the rule on an agreement string until the budget is used up.

    Args:
        bits: `bits[i]` is '1' where the draft's argmax is the target's token i, '0' where it is not; any
            other character, and every position beyond the end, is unseen.
        unseen: what an unseen position counts as (accepted or not). For expected values over unseen
            positions see `chance.expected`.
    """
    text = bits[:budget].ljust(budget, "?")
    run = [0] * (budget + 1)  # accepted positions in a row from here
    for i in range(budget - 1, -1, -1):
        yes = text[i] == "1" or (unseen and text[i] != "0")
        run[i] = run[i + 1] + 1 if yes else 0
    positions: list[int] = []
    proposals: list[int] = []
    accepted: list[int] = []
    position, k = 1, nat
    while position < budget:
        c = min(k, budget - position - 1)
        m = min(c, run[position])
        positions.append(position)
        proposals.append(c)
        accepted.append(m)
        k = next_k(rule, nat, k, m)
        position += m + 1
    return Rounds(tuple(positions), tuple(proposals), tuple(accepted))
