"""A whole grid foretold before any speculative run: from baselines, drafts alone, agreement and widths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sweeps.costmodel.cases import Case, draft_alone, draft_prefill, planned, target_alone
from sweeps.costmodel.evidence import strings_of
from sweeps.costmodel.model import Model, tables, train
from sweeps.costmodel.predict import Prediction
from sweeps.costmodel.probes import probes_of
from sweeps.costmodel.terms import Key
from sweeps.plan.routing import marked

if TYPE_CHECKING:
    import polars as pl

    from sweeps.plan.model import Plan, Run
    from sweeps.store.state import SweepState


def forecast(plan: Plan, state: SweepState, runs: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """Every speculative row of a plan, predicted and ranked; nothing of a speculative row is looked at.

    Args:
        plan: the sweep's whole plan.
        state: the sweep's journal, folded: agreement strings and verify widths.
        runs: its run table.
        rounds: its round table (prompt-lookup rounds are what is used of it).

    Returns:
        One row a run and prompt, best first: run, target, target_device, draft, draft_device, emulated, path,
        num_assistant_tokens, prompt, predicted_speedup, predicted_lo, predicted_hi (90 %),
        predicted_tokens_per_round, predicted_rounds, acceptance_source, terms_source, extrapolates, worth
        ('yes', 'maybe' or 'no': whether the interval is above, around or below 1) and, where it cannot be
        predicted, missing (in words).
    """
    import polars as pl

    model = foreteller(state, runs, rounds)
    alone, prefill = draft_alone(runs), draft_prefill(runs)
    rows: list[dict[str, Any]] = []
    for run in plan.runs:
        if run.config.kind != "speculative" or run.config.num_assistant_tokens is None or run.refused:
            continue
        baselines = target_alone(runs, run.config.target, run.config.target_device, _path(run))
        for prompt in plan.prompts:
            rows.append(
                _row(model, run, prompt.name, plan.protocol.max_new_tokens, baselines, alone, prefill)
            )
    frame = pl.DataFrame(rows, schema=schema())
    return frame.sort("predicted_speedup", descending=True, nulls_last=True, maintain_order=True)


def schema() -> dict[str, Any]:
    """Columns of a forecast and their Polars types."""
    import polars as pl

    texts = ("run", "target", "target_device", "draft", "draft_device", "path", "prompt")
    numbers = ("speedup", "lo", "hi", "tokens_per_round", "rounds")
    return {
        **dict.fromkeys(texts, pl.String),
        "emulated": pl.Boolean,
        "num_assistant_tokens": pl.Int64,
        **{f"predicted_{name}": pl.Float64 for name in numbers},
        **dict.fromkeys(("acceptance_source", "terms_source", "extrapolates", "worth", "missing"), pl.String),
    }


def foreteller(state: SweepState, runs: pl.DataFrame, rounds: pl.DataFrame) -> Model:
    """The model on probes alone."""
    known = tables(runs, rounds)
    probed = [case for case in known.cases if case.kind == "prompt-lookup"]
    return train(known, probed, strings_of(state), probes_of(state))


def _path(run: Run) -> str:
    return "npu" if run.config.target_device == "NPU" else run.path


def _row(
    model: Model,
    run: Run,
    prompt: str,
    budget: int,
    baselines: Mapping[str, tuple[float, float]],
    alone: Mapping[tuple[str, str], float],
    prefill: Mapping[tuple[str, str, str], float],
) -> dict[str, Any]:
    config = run.config
    assert config.num_assistant_tokens is not None
    draft, device = config.draft or "", config.draft_device or ""
    row: dict[str, Any] = {
        "run": run.id,
        "target": config.target,
        "target_device": config.target_device,
        "draft": draft,
        "draft_device": device,
        "emulated": run.emulated,
        "path": run.path,
        "num_assistant_tokens": config.num_assistant_tokens,
        "prompt": prompt,
    }
    if prompt not in baselines:
        return row | {"missing": "the baseline of the same path"}
    case = planned(
        Key(config.target, config.target_device, draft, device, run.path),
        config.num_assistant_tokens,
        prompt,
        budget,
        baselines[prompt][0],
        alone.get((draft, device)),
        emulated=run.emulated,
        draft_prefill_ms=prefill.get((draft, device, prompt)),
    )
    source = model.evidence.source(case)
    return row | _predicted(model.predict(case), source.words, _words(model, case))


def _words(model: Model, case: Case) -> str:
    return model.fit_of(case).source


def _predicted(prediction: Prediction, acceptance: str, terms: str) -> dict[str, Any]:
    counts = prediction.counts
    rounds = float(counts.rounds) if counts is not None else None
    tokens = float(counts.tokens) if counts is not None else None
    worth = "yes" if prediction.lo > 1 else "no" if prediction.hi < 1 else "maybe"
    return {
        "predicted_speedup": prediction.speedup,
        "predicted_lo": prediction.lo,
        "predicted_hi": prediction.hi,
        "predicted_tokens_per_round": tokens / rounds if rounds and tokens is not None else None,
        "predicted_rounds": rounds,
        "acceptance_source": acceptance,
        "terms_source": terms,
        "extrapolates": "; ".join(prediction.extrapolates),
        "worth": worth,
    }


def reading(frame: pl.DataFrame) -> list[str]:
    """Which runs are worth doing, in a few lines."""
    import polars as pl

    known = frame.drop_nulls("predicted_speedup")
    if known.is_empty():
        return ["Nothing can be foretold: " + "; ".join(frame["missing"].drop_nulls().unique())]
    lines = []
    for (prompt,), group in known.group_by("prompt", maintain_order=True):
        best = group.row(0, named=True)
        near = group.filter(pl.col("predicted_hi") >= best["predicted_speedup"]).height
        device = marked(best["draft_device"], best["emulated"], " (emulated)")
        lines.append(
            f"{prompt}: best {best['draft']} on {device}, NAT {best['num_assistant_tokens']}: "
            f"{best['predicted_speedup']:.2f}x ({best['predicted_lo']:.2f} to {best['predicted_hi']:.2f}); "
            f"{near} of {group.height} could be as good"
        )
    worth = known["worth"].value_counts().to_dict(as_series=False)
    counts: dict[str, int] = dict(zip(worth["worth"], worth["count"], strict=True))
    lines.append(
        f"Worth running: {counts.get('yes', 0)} rows are above 1, {counts.get('maybe', 0)} may be, "
        f"{counts.get('no', 0)} are below."
    )
    return lines
