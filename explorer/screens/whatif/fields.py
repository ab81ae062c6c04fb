"""The terms that can be changed in the pane: names, units, steps, limits. No numbers of any model here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Field:
    """A number that can be typed or stepped."""

    name: str
    """Field of `Params`; or `nat`, `acceptance`, `extra_construct_s`."""
    label: str
    unit: str
    about: str
    """One sentence for the line under the fields."""
    low: float = 0.0
    high: float = 1e6
    step: float = 0.0
    """Smallest step; 0: about a fiftieth of the value, in round numbers."""
    whole: bool = False

    def clamp(self, value: float) -> float:
        """The nearest value that the field allows."""
        value = max(self.low, min(self.high, value))
        return float(round(value)) if self.whole else value

    def stepped(self, value: float, steps: int) -> float:
        """`value` after so many steps, on a round number.

        Ten steps at once move a number without a step of its own by about a fifth.
        """
        size = self.step or _round_step(value)
        moved = round(value / size + steps) * size
        return self.clamp(round(moved, 9))

    def parse(self, text: str) -> float:
        """A typed number.

        Raises:
            ValueError: with what would be right, if it is none or outside of the limits.
        """
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            raise ValueError(f"{self.label}: {text!r} is not a number") from None
        if not self.low <= value <= self.high or (self.whole and value != int(value)):
            kind = "a whole number" if self.whole else "a number"
            raise ValueError(f"{self.label}: expected {kind} from {self.low:g} to {self.high:g}")
        return value

    def show(self, value: float) -> str:
        """The value in at most seven characters."""
        if self.whole:
            return f"{value:.0f}"
        return number(value)


def number(value: float) -> str:
    """Three digits that count."""
    if value != value:
        return "-"
    size = abs(value)
    if size < 0.0005:
        return "0"
    places = 1 if size >= 100 else 2 if size >= 10 else 3
    return f"{value:.{places}f}"


def _round_step(value: float) -> float:
    """1, 2 or 5 times a power of ten, between a hundredth and a fiftieth of the value or above."""
    size = abs(value) / 50
    if size < 0.001:
        return 0.01
    power = 0.001
    while power * 10 <= size:
        power *= 10
    return next(power * factor for factor in (5, 2, 1) if power * factor <= size)


FIELDS: Final[tuple[Field, ...]] = (
    Field("nat", "NAT", "", "Tokens that the draft proposes: fixed on cb, a seed on stateful.",
          1, 16, 1, True),
    Field("acceptance", "acceptance", "",
          "alpha: chance that a proposal is accepted after accepted ones. Edited: one for every place.",
          0, 1, 0.01),
    Field("draft_ms", "draft", "ms", "One proposal in the loop."),
    Field("target_ms", "target alone", "ms", "T: the target without a draft, per token, on this path.", 1e-3),
    Field("verify_base_ms", "verify base", "ms", "The target verifying one token."),
    Field("verify_slope_ms", "verify slope", "ms", "Each proposal more to verify.", -1e3, 1e4),
    Field("verify_change_ms", "width changes", "ms",
          "More of it where a round is not as wide as the one before (stateful).", -1e3, 1e4),
    Field("rest_ms", "rest", "ms", "Of each round, neither draft nor verify.", -1e3, 1e4),
    Field("rest_mismatch_ms", "rest if refused", "ms", "More of it when a proposal is refused (KV trim).",
          -1e3, 1e4),
    Field("rest_proposal_ms", "rest a proposal", "ms", "More of it for each proposal.", -1e3, 1e4),
    Field("draft_first_ms", "first proposal", "ms",
          "What a round's first draft step costs more; the next ones less and less.", -1e3, 1e4),
    Field("catch_up", "catch-up", "x", "Draft inferences more after a round that was accepted whole.",
          -10, 100),
    Field("first_round_ms", "first round", "ms", "What round 1 costs more: the draft's prefill.", -1e4, 1e6),
    Field("extra_construct_s", "extra compile", "s", "Construction beyond the baseline's.", -1e4, 1e5),
)  # fmt: skip
BY_NAME: Final = {field.name: field for field in FIELDS}
