"""The pane's text, as lines of (text, style) parts. No Textual: the screen draws what is said here."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from explorer.glyphs import Glyphs
from explorer.screens.whatif.fields import BY_NAME, FIELDS, number
from explorer.screens.whatif.outcome import Outcome
from explorer.screens.whatif.scenario import Base, MeasuredPoint, Origin, Scenario
from sweeps.costmodel.cases import Case
from sweeps.plan.routing import marked

Part = str | tuple[str, str]
Parts = tuple[Part, ...]
"""A line: texts, or (text, style) with a style of `LinePane`."""

LABEL: Final = 22
IN_HEADLINE: Final = ("predicted speed-up", "measured speed-up", "error")
WORDS: Final = {
    "draft_ms": "draft",
    "acceptance": "acceptance",
    **{f.name: f.label for f in FIELDS},
}


def times(value: float, glyphs: Glyphs) -> str:
    """A speed-up: `1.35×`."""
    return f"{value:.2f}{glyphs.times}"


def interval(lo: float | None, hi: float | None) -> str:
    """`0.87..2.14`; empty without both ends."""
    return "" if lo is None or hi is None else f"{lo:.2f}..{hi:.2f}"


def percent(value: float) -> str:
    """A relative difference with its sign."""
    return f"{value:+.1%}".replace("%", " %")


def headline(outcome: Outcome, width: int, glyphs: Glyphs) -> list[Parts]:
    """What it is about, and predicted, measured, error: always in sight."""
    scenario = outcome.scenario
    base, found = scenario.base, outcome.prediction
    first: list[Part] = [(base.title, "strong"), f"  NAT {scenario.nat}"]
    if scenario.is_edited:
        changed = [WORDS.get(name, name) for name in scenario.edits]
        if scenario.nat != base.case.nat:
            changed.insert(0, f"NAT (was {base.case.nat})")
        first.append((f"  edited: {', '.join(changed)}", "warn"))
    second: list[Part] = [
        ("predicted ", "dim"),
        (times(found.speedup, glyphs), "strong"),
        f" ({interval(found.lo, found.hi)})",
    ]
    measured = base.measured
    if measured is None:
        second += [("  measured ", "dim"), "not yet"]
    else:
        spread = interval(measured.lo, measured.hi)
        second += [("  measured ", "dim"), times(measured.speedup, glyphs), f" ({spread})" if spread else ""]
        if outcome.error is not None:
            inside = found.lo <= measured.speedup <= found.hi
            second += [("  error ", "dim"), (percent(outcome.error), "" if inside else "warn")]
        elif scenario.is_edited:
            second += [("  change ", "dim"), percent(found.speedup / measured.speedup - 1)]
    if found.extrapolates:
        # The mark alone where there is no room: the answers say what is extrapolated.
        word = " extrapolates" if width >= 100 else ""
        second.insert(3, (f" {glyphs.states['warned']}{word}", "warn"))
    return [tuple(first), tuple(second)]


def field_line(scenario: Scenario, name: str, glyphs: Glyphs) -> Parts:
    """Value, unit, standard error and where it came from."""
    field, value, origin = BY_NAME[name], scenario.value(name), scenario.origin(name)
    spread = number(origin.error) if origin.error and field.unit == "ms" else "0"
    error = "" if spread == "0" else glyphs.plus_minus + spread
    shown = "unknown" if math.isnan(value) else field.show(value)
    style = {"edited": "warn", "default": "dim", "none": "dim"}.get(origin.word, "")
    word = {"none": ""}.get(origin.word, origin.word)
    return (f"{shown:>8} {field.unit:<2} ", (f"{error:<8} ", "dim"), (word, style))


def field_story(origin: Origin, about: str, width: int, rows: int = 3) -> list[Parts]:
    """What the focused field means, and the whole story of its value."""
    text = f"{about} {_sentence(origin.words)}" if origin.words else about
    return [((piece, "dim"),) for piece in wrapped(text, width)[:rows]]


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def wrapped(text: str, width: int) -> list[str]:
    """Lines no wider than `width`."""
    return textwrap.wrap(text, max(20, width)) or [""]


def answers(outcome: Outcome, pinned: Outcome | None, width: int, glyphs: Glyphs) -> list[Parts]:
    """Everything the model answers; with a pinned scenario its answers in a second column."""
    lines: list[Parts] = []
    now = list(plain_values(outcome, glyphs))
    before = dict(plain_values(pinned, glyphs)) if pinned is not None else {}
    column = max(len(value) for _, value in now) + 2
    if pinned is not None:
        lines.append(((" " * LABEL, ""), (f"{'now':<{column}}", "strong"), ("pinned", "strong")))
    for label, value in now:
        if pinned is None and label in IN_HEADLINE:
            continue
        if pinned is None:
            lines.append(((f"{label:<{LABEL}}", "dim"), value))
        else:
            then = before.get(label, "-")
            same = "" if then == value else "warn"
            lines.append(((f"{label:<{LABEL}}", "dim"), f"{value:<{column}}", (then, same)))
    lines += _missed(outcome, width)
    lines += _placement(outcome.scenario.base, width)
    lines += _improve(outcome, width)
    lines += _made_of(outcome, width)
    lines += _notes(outcome.scenario.base, outcome, width, glyphs)
    return lines


def plain_values(outcome: Outcome, glyphs: Glyphs) -> Iterator[tuple[str, str]]:
    """(label, value) of each answer."""
    scenario = outcome.scenario
    found, base = outcome.prediction, scenario.base
    measured = base.measured
    yield "predicted speed-up", f"{times(found.speedup, glyphs)} ({interval(found.lo, found.hi)})"
    yield "measured speed-up", _measured(measured, glyphs)
    yield "error", percent(outcome.error) if outcome.error is not None else "-"
    own = base.case.tokens_per_round
    beside = f" (measured {own:.2f})" if own is not None and not scenario.is_edited else ""
    yield "tokens per round", f"{outcome.budget.tokens:.2f}{beside}"
    yield "proposals per round", f"{outcome.budget.proposals:.2f}"
    nat, best = outcome.best
    yield "best NAT", f"{nat} ({times(best, glyphs)})" if nat else "none: slower than the target alone"
    yield "break-even draft", _break_even(outcome)
    alpha = outcome.break_even_alpha
    yield "break-even acceptance", "never" if alpha is None else f"{alpha:.2f}" if alpha else "none needed"
    yield "longer compile pays", _payoff(outcome.payoff)


def _measured(point: MeasuredPoint | None, glyphs: Glyphs) -> str:
    if point is None:
        return "-"
    spread = interval(point.lo, point.hi)
    return times(point.speedup, glyphs) + (f" ({spread})" if spread else "")


def _break_even(outcome: Outcome) -> str:
    value = outcome.break_even_ms
    if value is None:
        return "-"
    if value < 0:
        return "none is fast enough"
    return f"{number(value)} ms (is {number(outcome.scenario.params.draft_ms)})"


def _payoff(tokens: float | None) -> str:
    if tokens is None:
        return "unknown"
    if math.isinf(tokens):
        return "never"
    return "at once" if tokens <= 0 else f"after {math.ceil(tokens)} tokens"


def _improve(outcome: Outcome, width: int) -> list[Parts]:
    lines: list[Parts] = [
        ("",),
        (("Improve first", "strong"), ("  10 % better, and the speed-up gains", "dim")),
    ]
    for each in outcome.improve[:4]:
        if each.gain > 0.0005:
            label = WORDS.get(each.term, each.term)
            text = f"{percent(each.gain):>8}   elasticity {each.elasticity:+.2f}"
            lines.append(((f"  {label:<{LABEL - 2}}", "dim"), text[: max(0, width - LABEL)]))
    return lines


def _made_of(outcome: Outcome, width: int) -> list[Parts]:
    parts = sorted(outcome.prediction.parts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name} {value:.1%}".replace("%", " %") for name, value in parts if value > 0.0005)
    return [
        ("",),
        (("The interval is made of", "strong"),),
        *((f"  {piece}",) for piece in wrapped(text, width - 2)),
    ]


def _placement(base: Base, width: int) -> list[Parts]:
    lines: list[Parts] = (
        [("",), (("Where the draft belongs", "strong"), ("  by all rows", "dim"))] if base.placement else []
    )
    for words in base.placement:
        lines += [("  " + piece,) for piece in wrapped(words, width - 2)]
    return lines


def _missed(outcome: Outcome, width: int) -> list[Parts]:
    base = outcome.scenario.base
    causes = [cause for cause in base.causes if abs(cause.effect) > 0.002]
    if not causes or base.measured is None:
        return []
    head = (("Why it was not as predicted", "strong"),)
    lines: list[Parts] = [("",), head]
    for cause in causes:
        pieces = wrapped(f"{cause.cause}: {cause.words}", width - 12)
        lines.append((f"  {percent(math.expm1(cause.effect)):>8}  ", pieces[0]))
        lines += [(" " * 12 + piece,) for piece in pieces[1:]]
    return lines


def _notes(base: Base, outcome: Outcome, width: int, glyphs: Glyphs) -> list[Parts]:
    unknown = unknown_terms(outcome.scenario)
    notes = [f"{glyphs.states['warned']} {words}" for words in outcome.prediction.extrapolates]
    if unknown:
        notes.append(f"Not known from rows, so assumed: {', '.join(unknown)}.")
    notes += [_sentence(note) for note in base.notes]
    notes.append(f"Acceptance: {base.origins['acceptance'].words}. Terms: {base.fit.source}.")
    lines: list[Parts] = [("",)]
    for note in notes:
        pieces = wrapped(_sentence(note), width - 2)
        lines.append(((f"{glyphs.bullet} ", "dim"), pieces[0]))
        lines += [(f"  {piece}",) for piece in pieces[1:]]
    return lines


def unknown_terms(scenario: Scenario) -> list[str]:
    """Labels of the fields that hold an assumption."""
    return [
        field.label
        for field in FIELDS
        if scenario.origin(field.name).word in ("default", "none") and abs(scenario.value(field.name)) > 0
    ]


def row_line(case: Case, predicted: float | None, width: int, glyphs: Glyphs) -> Parts:
    """One of the rows that can be chosen: pair, NAT, prompt, measured, predicted."""
    key = case.key
    pair = f"{key.draft}@{marked(key.draft_device, case.emulated)}"
    name = key.draft if case.kind == "prompt-lookup" else pair
    tail = f"{times(case.speedup, glyphs):>7}"
    tail += f" {times(predicted, glyphs):>7} {percent(predicted / case.speedup - 1):>9}" if predicted else ""
    head = f" {name} {key.path} NAT {case.nat} {case.prompt}"
    room = max(8, width - len(tail) - 1)
    return (head[:room].ljust(room), (tail, ""))


def same_rows(cases: Sequence[Case], case: Case) -> list[Case]:
    """The rows of a case's sweep, for the list beside it."""
    return [c for c in cases if c.sweep == case.sweep]
