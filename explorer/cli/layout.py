"""How the three tables look as text: which cells, from which columns, and which go when it is narrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from explorer.numbers import bounded
from sweeps.measure.guards import fired, spoiled
from sweeps.plan.routing import marked

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Signs:
    """The characters beyond ASCII that cells use, and what stands for them."""

    plus_minus: str = "±"
    null: str = "–"


ASCII: Final = Signs("+-", "-")
UNICODE: Final = Signs()


@dataclass(frozen=True)
class Cell:
    """One text column: its header (with the unit), how it is made of a row, and its rank: the highest rank
    is dropped first when the width does not suffice."""

    header: str
    text: Callable[[Row, Signs], str]
    rank: int = 0
    right: bool = True


def runs_layout(notes: Callable[[str], str]) -> list[Cell]:
    """The run table. `notes` takes a reason and gives its mark, e.g. `[2]`; reasons stand below the table."""
    return [
        Cell("sweep", _of("sweep"), 9, right=False),
        Cell("kind", _of("kind"), 8, right=False),
        Cell("target", _target, 4, right=False),
        Cell("run", _what, 0, right=False),
        Cell("path", _path, 2, right=False),
        Cell("NAT", _of("num_assistant_tokens"), 0),
        Cell("prompt", _of("prompt"), 0, right=False),
        Cell("tok/s", _rate, 1),
        Cell("speed-up [95 %]", _speedup, 0, right=False),
        Cell("r", _number("acceptance", 2), 3),
        Cell("tau", _number("tokens_per_round", 2), 5),
        Cell("TTFT ms", _number("ttft_ms", 1), 6),
        Cell("d ms", _number("draft_ms", 2), 7),
        Cell("v ms", _number("verify_ms", 2), 7),
        Cell("s ms", _number("rest_ms", 2), 9),
        Cell("predicted", _number("predicted_speedup", 2), 8),
        Cell("text", _of("text"), 8, right=False),
        Cell("reps", _of("reps"), 9),
        Cell("status", lambda row, signs: _status(row, notes), 0, right=False),
    ]


def reps_layout(notes: Callable[[str], str]) -> list[Cell]:
    """The table of reps."""
    return [
        Cell("sweep", _of("sweep"), 9, right=False),
        Cell("target", _target, 5, right=False),
        Cell("run", _what, 0, right=False),
        Cell("path", _of("path"), 3, right=False),
        Cell("NAT", _of("num_assistant_tokens"), 0),
        Cell("prompt", _of("prompt"), 0, right=False),
        Cell("rep", _of("rep"), 0),
        Cell("tokens", _of("tokens"), 4),
        Cell("tok/s", _number("tok_s", 1), 0),
        Cell("TTFT ms", _number("ttft_ms", 1), 2),
        Cell("TPOT ms", _number("tpot_ms", 2), 6),
        Cell("rounds", _of("rounds"), 3),
        Cell("proposed", _of("proposals"), 4),
        Cell("accepted", _of("accepted"), 4),
        Cell("draft ms", _number("draft_total_ms", 1), 7),
        Cell("verify ms", _number("verify_total_ms", 1), 7),
        Cell("rounds ms", _number("rounds_total_ms", 1), 8),
        Cell("status", lambda row, signs: _status(row, notes), 0, right=False),
    ]


def rounds_layout() -> list[Cell]:
    """The table of rounds."""
    return [
        Cell("sweep", _of("sweep"), 9, right=False),
        Cell("target", _target, 5, right=False),
        Cell("run", _what, 0, right=False),
        Cell("path", _of("path"), 3, right=False),
        Cell("NAT", _of("num_assistant_tokens"), 0),
        Cell("prompt", _of("prompt"), 0, right=False),
        Cell("rep", _of("rep"), 0),
        Cell("round", _of("round"), 0),
        Cell("position", _of("position"), 6),
        Cell("tokens", _of("tokens"), 0),
        Cell("proposed", _of("proposals"), 1),
        Cell("wall ms", _number("wall_ms", 2), 0),
        Cell("draft ms", _number("draft_ms", 2), 2),
        Cell("verify ms", _number("verify_ms", 2), 2),
        Cell("rest ms", _number("rest_ms", 2), 4),
    ]


def _of(column: str) -> Callable[[Row, Signs], str]:
    def text(row: Row, signs: Signs) -> str:
        value = row[column]
        return _suspect(row, column) or (signs.null if value is None else str(value))

    return text


def _number(column: str, digits: int) -> Callable[[Row, Signs], str]:
    def text(row: Row, signs: Signs) -> str:
        value = row[column]
        return _suspect(row, column) or (signs.null if value is None else f"{value:.{digits}f}")

    return text


def _suspect(row: Row, column: str) -> str:
    """What stands in the place of a number that a guard has withheld."""
    if row.get("status") != "metric_suspect" or row[column] is not None:
        return ""
    guard = spoiled(fired(row.get("reason"))).get(column)
    return f"!{guard}" if guard else ""


def _target(row: Row, signs: Signs) -> str:
    return f"{row['target']}@{row['target_device']}"


def _what(row: Row, signs: Signs) -> str:
    """What is told apart within a target: the target alone, or what is added to it."""
    if row["kind"] == "prompt-lookup":
        return "+ prompt lookup"
    device = "target_device" if row["draft"] is None else "draft_device"
    at = f"@{marked(row[device], row.get('emulated'), '(emu)')}"
    agrees = " agreement" if row["kind"] == "agreement" else ""
    return f"{row['target']}{at}" if row["draft"] is None else f"+ {row['draft']}{at}{agrees}"


def _path(row: Row, signs: Signs) -> str:
    """The engine; in a plain row also whether the library chose it."""
    path = _of("path")(row, signs)
    chosen = row["kind"] == "plain" and row["attention_backend"] is None and row["path"] in ("cb", "sdpa")
    return f"{path} (default)" if chosen else path


def _rate(row: Row, signs: Signs) -> str:
    text = _number("tok_s", 1)(row, signs)
    if row["tok_s"] is None or row["tok_s_sd"] is None:
        return text
    return f"{text} {signs.plus_minus}{row['tok_s_sd']:.1f}"


def _speedup(row: Row, signs: Signs) -> str:
    text = _number("speedup", 2)(row, signs)
    if row["speedup"] is None or row["speedup_lo"] is None:
        return text
    return f"{text} [{row['speedup_lo']:.2f}, {bounded(row['speedup_hi'], 2)}]"


def _status(row: Row, notes: Callable[[str], str]) -> str:
    words = [str(row["status"] or "")]
    if row.get("failure"):
        words.append(str(row["failure"]))
    if row.get("noisy"):
        words.append("noisy")
    if row.get("reason"):
        words.append(notes(str(row["reason"])))
    return " ".join(words)
