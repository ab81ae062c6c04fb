"""The measured rows that the model learns from and is tested on, one a (run, prompt)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sweeps.compare.student import t_quantile
from sweeps.costmodel.terms import LOOKUP, Key

if TYPE_CHECKING:
    import polars as pl

BASELINE_PATH: Final = {"cb": "cb", "stateful": "sdpa", "npu": "npu"}
"""Path of the plain run that a path's speed-up is measured against."""


@dataclass(frozen=True)
class Case:
    """One speculative row with its measured speed-up."""

    sweep: str
    run: str
    kind: str
    key: Key
    nat: int
    prompt: str
    budget: int
    speedup: float
    target_ms: float
    """T of its baseline: 1000 speedup / tok_s."""
    noise_rel: float
    """Relative standard error of the measured speed-up; 0 when unknown."""
    draft_alone_ms: float | None
    acceptance: float | None
    tokens_per_round: float | None
    draft_ms: float | None
    """Per proposal, in this row's loop."""
    verify_ms: float | None
    """Per round, in this row's loop."""
    same_prefix: int | None
    """Leading tokens that its text shares with the baseline's."""
    emulated: bool
    max_ngram: int | None
    draft_prefill_ms: float | None = None
    """The draft standing alone on the prompt, to its first token."""

    @property
    def shares_device(self) -> bool:
        """The draft computes where the target does: what slows the one down slows the other down."""
        return self.emulated or self.key.draft_device == self.key.target_device

    @property
    def same_text(self) -> bool:
        """Its text is the baseline's, as far as is known."""
        return self.same_prefix is not None and self.same_prefix >= self.budget


def cases(runs: pl.DataFrame) -> list[Case]:
    """Every speculative and prompt-lookup row that has a speed-up.

    Args:
        runs: the run table (`sweeps.store.schema.RUNS`); rows of a status other than ok are left out.
    """
    import polars as pl

    rows = runs.filter(
        pl.col("kind").is_in(["speculative", "prompt-lookup"])
        & (pl.col("status") == "ok")
        & pl.col("speedup").is_not_null()
        & (pl.col("tok_s") > 0)
        & (pl.col("num_assistant_tokens") > 0)
        & pl.col("path").is_in(list(BASELINE_PATH))
        & pl.col("assistant_confidence_threshold").is_null()
    ).to_dicts()
    alone, prefill = draft_alone(runs), draft_prefill(runs)
    out = []
    for row in rows:
        lookup = row["kind"] == "prompt-lookup"
        key = Key(
            row["target"],
            row["target_device"],
            LOOKUP if lookup else row["draft"],
            row["target_device"] if lookup else row["draft_device"],
            row["path"],
        )
        out.append(
            Case(
                sweep=row["sweep"] or "",
                run=row["run"] or "",
                kind=row["kind"],
                key=key,
                nat=row["num_assistant_tokens"],
                prompt=row["prompt"] or "",
                budget=row["max_new_tokens"] or row["tokens"] or 128,
                speedup=row["speedup"],
                target_ms=1000.0 * row["speedup"] / row["tok_s"],
                noise_rel=_noise(row),
                draft_alone_ms=None if lookup else alone.get((row["draft"], row["draft_device"])),
                acceptance=row["acceptance"],
                tokens_per_round=row["tokens_per_round"],
                draft_ms=row["draft_ms"],
                verify_ms=row["verify_ms"],
                same_prefix=row["same_prefix_tokens"],
                emulated=bool(row["emulated"]),
                max_ngram=row["max_ngram_size"],
                draft_prefill_ms=prefill.get((row["draft"], row["draft_device"], row["prompt"])),
            )
        )
    return out


def planned(
    key: Key,
    nat: int,
    prompt: str,
    budget: int,
    target_ms: float,
    draft_alone_ms: float | None,
    *,
    emulated: bool = False,
    max_ngram: int | None = None,
    draft_prefill_ms: float | None = None,
) -> Case:
    """A row that is not run yet, to be predicted: its speed-up is nan, and nothing may learn from it.

    Args:
        target_ms: T of the baseline of the key's path (`target_alone`).
        draft_alone_ms: the draft standing alone on its device (`draft_alone`).
        draft_prefill_ms: the same to its first token (`draft_prefill`).
    """
    return Case(
        sweep="",
        run="",
        kind="prompt-lookup" if key.draft == LOOKUP else "speculative",
        key=key,
        nat=nat,
        prompt=prompt,
        budget=budget,
        speedup=math.nan,
        target_ms=target_ms,
        noise_rel=0.0,
        draft_alone_ms=draft_alone_ms,
        acceptance=None,
        tokens_per_round=None,
        draft_ms=None,
        verify_ms=None,
        same_prefix=None,
        emulated=emulated,
        max_ngram=max_ngram,
        draft_prefill_ms=draft_prefill_ms,
    )


def _noise(row: dict[str, Any]) -> float:
    low, high, value = row["speedup_lo"], row["speedup_hi"], row["speedup"]
    if low is not None and high is not None and value:
        quantile = t_quantile(max(int(row["reps"] or 0) - 1, 1), 0.95)
        return abs(float(high) - float(low)) / (2 * quantile * float(value))
    if row["tok_s_sd"] is not None and row["reps"]:
        return float(row["tok_s_sd"]) / float(row["tok_s"]) / math.sqrt(float(row["reps"]))
    return 0.0


def draft_alone(runs: pl.DataFrame) -> dict[tuple[str, str], float]:
    """(model, device) -> milliseconds per token of the model standing alone, median over its plain rows.

    On the NPU only its own pipeline exists; elsewhere rows on paged attention are preferred, which is what
    a draft runs on under continuous batching. Where a baseline ran beside it, the times are brought to the
    pace that the machine had in that baseline's own row: it is the draft's share of T that counts.
    """
    import polars as pl

    pace = pl.col("pace").fill_null(1.0)
    plain = runs.filter(
        (pl.col("kind") == "plain") & (pl.col("status") == "ok") & (pl.col("tok_s") > 0)
    ).with_columns(pl.col("path").fill_null("default"))
    out: dict[tuple[str, str], float] = {}
    for paths in (("sdpa", "default"), ("cb", "npu")):  # the later wins
        part = plain.filter(pl.col("path").is_in(paths)).group_by("target", "target_device")
        for model, device, ms in part.agg((1000.0 * pace / pl.col("tok_s")).median().alias("ms")).iter_rows():
            out[model, device] = ms
    return out


def draft_prefill(runs: pl.DataFrame) -> dict[tuple[str, str, str], float]:
    """(model, device, prompt) -> milliseconds to the first token of the model standing alone."""
    import polars as pl

    plain = runs.filter(
        (pl.col("kind") == "plain") & (pl.col("status") == "ok") & pl.col("ttft_ms").is_not_null()
    ).group_by("target", "target_device", "prompt")
    ttft = pl.col("ttft_ms") * pl.col("pace").fill_null(1.0)
    return {(model, device, prompt): ms for model, device, prompt, ms in plain.agg(ttft.median()).iter_rows()}


def target_alone(runs: pl.DataFrame, target: str, device: str, path: str) -> dict[str, tuple[float, float]]:
    """Prompt -> (T in ms, relative standard error) of the baseline that belongs to a path."""
    import polars as pl

    rows = runs.filter(
        (pl.col("kind") == "plain")
        & (pl.col("target") == target)
        & (pl.col("target_device") == device)
        & (pl.col("path") == BASELINE_PATH[path])
        & (pl.col("status") == "ok")
        & (pl.col("tok_s") > 0)
    )
    out: dict[str, tuple[float, float]] = {}
    for row in rows.sort("started", nulls_last=False).to_dicts():
        sd, reps = row["tok_s_sd"], row["reps"] or 1
        out[row["prompt"] or ""] = (
            1000.0 / row["tok_s"],
            (sd / row["tok_s"] / reps**0.5) if sd is not None else 0.02,
        )
    return out


def of_runs(rounds: pl.DataFrame, chosen: Sequence[Case]) -> pl.DataFrame:
    """The rounds that belong to the chosen cases."""
    import polars as pl

    wanted = pl.DataFrame(
        {
            "sweep": [c.sweep for c in chosen],
            "run": [c.run for c in chosen],
            "prompt": [c.prompt for c in chosen],
        },
        schema={"sweep": pl.String, "run": pl.String, "prompt": pl.String},
    ).unique()
    return rounds.join(wanted, on=["sweep", "run", "prompt"], how="semi")
