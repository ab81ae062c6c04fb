"""Marked rows side by side: where their settings differ, their metrics with intervals, their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from explorer.analysis.cells import UNICODE, CellGlyphs, format_column
from explorer.analysis.columns import specs
from explorer.analysis.view import Level
from sweeps.compare import divergence

SETTINGS: Final[tuple[str, ...]] = (
    "sweep", "kind", "target", "target_device", "draft", "draft_device", "emulated", "path",
    "attention_backend", "num_assistant_tokens", "assistant_confidence_threshold", "max_ngram_size", "prompt",
    "prompt_tokens", "max_new_tokens", "kv_cache_precision", "inference_num_threads", "properties",
    "prefix_caching", "rep", "round", "host", "openvino", "genai", "source",
)  # fmt: skip
METRICS: Final[tuple[str, ...]] = (
    "status", "speedup", "tok_s", "predicted_speedup", "acceptance", "tokens_per_round",
    "proposals_per_round", "rounds", "proposals", "accepted", "ttft_ms", "tpot_ms", "draft_ms", "verify_ms",
    "rest_ms", "wall_ms", "construct_s", "peak_rss_mb", "same_prefix_tokens", "finish", "reason",
)  # fmt: skip
NAMES: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST: Final = len(NAMES)

Spell = Callable[[int], bytes]
"""The bytes that a token stands for."""


@dataclass(frozen=True)
class Comparison:
    """Lines of text for each part; the first item of a line is its label, one item for each row follows."""

    names: list[str]
    differing: list[tuple[str, list[str]]]
    common: list[tuple[str, str]]
    metrics: list[tuple[str, list[str]]]
    texts: list[str]


def compare(
    rows: pl.DataFrame,
    level: Level,
    reps: pl.DataFrame | None = None,
    glyphs: CellGlyphs = UNICODE,
    spellings: Sequence[Spell | None] = (),
) -> Comparison:
    """Compare rows of one level.

    Args:
        rows: Two or more rows.
        level: Their level.
        reps: Reps with `token_ids`, for the texts; None: no texts.
        glyphs: Characters.
        spellings: How each row's tokens read; without one the ids are shown.
    """
    rows = rows.head(MOST)
    shown = specs(level, rows)

    def texts(name: str) -> list[str]:
        return [text.strip() for text in format_column(rows, shown[name], glyphs)]

    differing, common = [], []
    for name in SETTINGS:
        if name not in rows.columns or rows[name].null_count() == rows.height:
            continue
        values = format_column(rows.select(name), specs(level, rows.select(name))[name], glyphs)
        if rows[name].n_unique() > 1:
            differing.append((name, values))
        else:
            common.append((name, values[0]))
    metrics = [
        (shown[name].header, texts(name))
        for name in METRICS
        if name in rows.columns and rows[name].null_count() < rows.height
    ]
    names = list(NAMES[: rows.height])
    spelled = dict(zip(names, [*spellings, *[None] * rows.height], strict=False))
    found = _texts(rows, level, reps, spelled) if reps is not None else []
    return Comparison(names, differing, common, metrics, found)


def token_ids(rows: pl.DataFrame, level: Level, reps: pl.DataFrame) -> list[list[int] | None]:
    """The text of each row: its own rep's, or the first counted rep's of its run and prompt."""
    found: list[list[int] | None] = []
    keys = ["sweep", "run", "prompt", *(["rep"] if level != "runs" else [])]
    keys = [key for key in keys if key in rows.columns and key in reps.columns]
    for row in rows.select(keys).iter_rows(named=True):
        same = pl.all_horizontal(pl.col(key).eq_missing(pl.lit(value)) for key, value in row.items())
        text = reps.filter(same & pl.col("token_ids").is_not_null())
        found.append(text["token_ids"][0].to_list() if text.height else None)
    return found


def _texts(
    rows: pl.DataFrame, level: Level, reps: pl.DataFrame, spelled: Mapping[str, Spell | None]
) -> list[str]:
    """For each row after the first: where its text leaves the first one's, with what stands around."""
    names = list(spelled)
    texts = dict(zip(names, token_ids(rows, level, reps), strict=True))
    known = {name: ids for name, ids in texts.items() if ids is not None}
    lines = [f"{name}: no text is kept for this row" for name, ids in texts.items() if ids is None]
    if len(known) < 2:
        return lines
    first, *others = known
    letters = divergence.letters(known.items())
    for name in others:
        parted = divergence.compare(known[name], known[first])
        if rows_differ(rows, names, name, first):
            lines.append(f"{name} and {first} answer different prompts: their texts are not compared")
            continue
        lines.append(f"{name}: {divergence.describe(parted, first)}")
        if not parted.equal:
            for side in (first, name):
                spell = spelled[side]
                if spell is not None:
                    lines.append(f"   {side}: {around_text(known[side], parted.same_prefix, spell)}")
                lines.append(f"   {side}: {around(known[side], parted.same_prefix)}")
    lines.append("equal letters, equal texts: " + " ".join(f"{name}={letters[name]}" for name in known))
    return lines


def rows_differ(rows: pl.DataFrame, names: Sequence[str], one: str, other: str) -> bool:
    """Whether two rows have different prompts."""
    if "prompt" not in rows.columns:
        return False
    prompts: Mapping[str, Any] = dict(zip(names, rows["prompt"].to_list(), strict=True))
    return bool(prompts[one] != prompts[other])


def around(ids: Sequence[int], at: int, before: int = 6, after: int = 8) -> str:
    """Token ids around a place, the one at the place in brackets."""
    start = max(0, at - before)
    shown = [f"[{ids[i]}]" if i == at else str(ids[i]) for i in range(start, min(len(ids), at + after))]
    head = f"token {start}: " if start else ""
    tail = " [end]" if at >= len(ids) else ""
    return head + " ".join(shown) + tail


def around_text(ids: Sequence[int], at: int, spell: Spell, before: int = 12, after: int = 12) -> str:
    """The text around a place on one line, the token at the place in brackets; line ends as `\\n`."""

    def text(part: Sequence[int]) -> str:
        return b"".join(map(spell, part)).decode("utf-8", "replace").replace("\n", "\\n").replace("\t", "\\t")

    start = max(0, at - before)
    head = f"{'...' if start else ''}{text(ids[start:at])}"
    if at >= len(ids):
        return f"{head} [end]"
    return f"{head}[{text(ids[at : at + 1])}]{text(ids[at + 1 : at + after])}"


def to_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown."""
    head = "| | " + " | ".join(comparison.names) + " |\n|---|" + "---|" * len(comparison.names)
    lines = [head]
    for label, values in [*comparison.differing, *comparison.metrics]:
        cells = [value.replace("|", "\\|") for value in values]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    if comparison.common:
        lines.append("\nCommon: " + ", ".join(f"{name} = {value}" for name, value in comparison.common))
    return "\n".join([*lines, "", *comparison.texts]).strip() + "\n"
