"""Whether two greedy texts are the same, and where they part. A near tie between two tokens may fall
either way in a batched verification: a difference is reported, never counted as a failure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Divergence(NamedTuple):
    """Where a text leaves another one."""

    same_prefix: int
    """Leading tokens that are equal."""
    token: int | None
    """Our token at the first difference; None where our text ends there."""
    other: int | None
    """The other text's token there; None where it ends."""

    @property
    def equal(self) -> bool:
        """The texts are the same to the end."""
        return self.token is None and self.other is None

    @property
    def position(self) -> int | None:
        """Index of the first differing token, None if there is none."""
        return None if self.equal else self.same_prefix


def compare(ours: Sequence[int], other: Sequence[int]) -> Divergence:
    """Compare two sequences of token ids."""
    shorter = min(len(ours), len(other))
    same = next((i for i in range(shorter) if ours[i] != other[i]), shorter)
    return Divergence(
        same,
        ours[same] if same < len(ours) else None,
        other[same] if same < len(other) else None,
    )


def describe(divergence: Divergence, name: str) -> str:
    """One phrase: `equal to the baseline`, or the step with both tokens."""
    if divergence.equal:
        return f"equal to {name}"
    ours, other = (_token(divergence.token), _token(divergence.other))
    return f"token {divergence.same_prefix}: {ours} here, {other} in {name}"


def _token(token: int | None) -> str:
    return "end" if token is None else str(token)


def letters(texts: Iterable[tuple[K, Sequence[int]]]) -> dict[K, str]:
    """Name each distinct text by a letter in order of first appearance (A, B, ... Z, AA, ...): equal
    letters are equal texts."""
    known: dict[tuple[int, ...], str] = {}
    named: dict[K, str] = {}
    for key, ids in texts:
        named[key] = known.setdefault(tuple(ids), _letter(len(known)))
    return named


def _letter(number: int) -> str:
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def repeatable(texts: Sequence[Sequence[int]]) -> bool | None:
    """Whether all reps gave the same token ids; None below two reps."""
    if len(texts) < 2:
        return None
    return all(list(text) == list(texts[0]) for text in texts[1:])
