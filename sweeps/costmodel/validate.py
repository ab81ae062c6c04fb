"""Predicts rows that were measured from rows other than them, and says how far off it was.

A split names what is learned from and what is predicted: `fit` (rows with some NATs teach, all others are
predicted) or a hold-out, in which each value of a column is predicted in turn from the rows without it.
Baselines and drafts alone are no speculative rows and may always be used, and so may agreement strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import polars as pl

from sweeps.costmodel import formulas
from sweeps.costmodel.answers import Measured, why
from sweeps.costmodel.calibrate import Probes
from sweeps.costmodel.cases import Case
from sweeps.costmodel.evidence import Source, Strings
from sweeps.costmodel.model import NO_PROBES, Model, Tables, tables, train
from sweeps.costmodel.params import Params, total_ms
from sweeps.costmodel.terms import Fit

HoldOut = Literal["run", "nat", "draft", "device", "prompt"]


class Split(NamedTuple):
    """Which cases teach and which are predicted."""

    train: list[Case]
    test: list[Case]


def splits(
    found: Sequence[Case], hold_out: HoldOut = "run", fitted: Callable[[Case], bool] | None = None
) -> list[Split]:
    """The splits of a validation: one for `fitted`, else one for each value held out."""
    if fitted is not None:
        train = [c for c in found if fitted(c)]
        return [Split(train, [c for c in found if not fitted(c)])]
    by: dict[HoldOut, Callable[[Case], object]] = {
        "run": lambda c: (c.sweep, c.run),
        "nat": lambda c: c.nat,
        "draft": lambda c: c.key.draft,
        "device": lambda c: c.key.draft_device,
        "prompt": lambda c: c.prompt,
    }
    value = by[hold_out]
    values = list(dict.fromkeys(value(c) for c in found))
    return [Split([c for c in found if value(c) != v], [c for c in found if value(c) == v]) for v in values]


def validate(
    runs: pl.DataFrame,
    rounds: pl.DataFrame,
    *,
    hold_out: HoldOut = "run",
    fitted: Callable[[Case], bool] | None = None,
    strings: Strings | None = None,
    probes: Probes = NO_PROBES,
    nats: bool = True,
) -> pl.DataFrame:
    """One row a predicted case: measured, ours with its interval, the published formulas, why it missed.

    Args:
        runs, rounds: frames of `sweeps.store.schema`.
        hold_out: what is held out in turn, unless `fitted` names the rows that teach.
        strings: agreement strings over the baselines' texts.
        probes: what was found out outside of the engines.
        nats: look for the best NAT too (ten more predictions a row).
    """
    known = tables(runs, rounds)
    rows = []
    for split in splits(known.cases, hold_out, fitted):
        model = train(known, split.train, strings, probes)
        rows += [_row(model, case, known, nats) for case in split.test]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


_TEXT = ("sweep", "run", "kind", "target", "target_device", "draft", "draft_device", "path", "prompt")
_NUMBERS = ("speedup", "predicted_speedup", "predicted_lo", "predicted_hi", "error", *formulas.NAMES)
SCHEMA: Final[dict[str, Any]] = {
    **dict.fromkeys(_TEXT, pl.String),
    "emulated": pl.Boolean,
    "num_assistant_tokens": pl.Int64,
    **dict.fromkeys(_NUMBERS, pl.Float64),
    "tokens_per_round": pl.Float64,
    "predicted_tokens_per_round": pl.Float64,
    "break_even_draft_ms": pl.Float64,
    "best_nat": pl.Int64,
    "best_speedup": pl.Float64,
    "same_text": pl.Boolean,
    "covered": pl.Boolean,
    "because": pl.String,
    "acceptance_from": pl.String,
    "terms_from": pl.String,
    "extrapolates": pl.String,
}
"""Columns of `validate`; `error` is predicted / measured - 1, `covered`: the interval holds the measured,
`break_even_draft_ms`: none where no draft would be fast enough."""


def _row(model: Model, case: Case, known: Tables, nats: bool) -> dict[str, Any]:
    source = model.evidence.source(case)
    params, terms = model.params(case, source)
    found = model.predict(case)
    best = model.best_nat(case) if nats else (None, None)
    inferences = float(source.counts.proposals) + params.catch_up_inferences * float(source.counts.caught_up)
    without = float(total_ms(replace(params, draft_ms=0.0), source.counts))
    left = source.counts.tokens * params.target_ms - without
    break_even = left / inferences if inferences and left > 0 else None
    return {
        "sweep": case.sweep,
        "run": case.run,
        "kind": case.kind,
        **case.key._asdict(),
        "emulated": case.emulated,
        "prompt": case.prompt,
        "num_assistant_tokens": case.nat,
        "speedup": case.speedup,
        "predicted_speedup": found.speedup,
        "predicted_lo": found.lo,
        "predicted_hi": found.hi,
        "error": found.speedup / case.speedup - 1,
        **published(case, terms),
        "tokens_per_round": case.tokens_per_round,
        "predicted_tokens_per_round": float(source.counts.tokens_per_round),
        "break_even_draft_ms": None if case.kind == "prompt-lookup" else break_even,
        "best_nat": best[0],
        "best_speedup": best[1],
        "same_text": None if case.same_prefix is None else case.same_text,
        "covered": found.lo <= case.speedup <= found.hi,
        "because": _because(case, params, source, known),
        "acceptance_from": source.words,
        "terms_from": terms.source,
        "extrapolates": "; ".join(found.extrapolates) or None,
    }


def published(case: Case, terms: Fit) -> dict[str, float | None]:
    """The published formulas on a case. They get more than ours does: its own r. Of times they get the draft
    standing alone (else in the loop), and what the library reports in the rows that teach (in a table
    without rounds: in this very row)."""
    out: dict[str, float | None] = dict.fromkeys(formulas.NAMES)
    r, draft = case.acceptance, case.draft_alone_ms or case.draft_ms
    if case.kind == "prompt-lookup":
        draft = 0.0
    if r is None or draft is None:
        return out
    out["leviathan_r"] = formulas.leviathan_r(r, case.nat, draft, case.target_ms)
    out["leviathan_alpha"] = formulas.leviathan_alpha(r, case.nat, draft, case.target_ms)
    in_loop = case.draft_ms if terms.mean_draft_ms is None else terms.mean_draft_ms
    verify = case.verify_ms if terms.mean_verify_ms is None else terms.mean_verify_ms
    if in_loop is not None and verify is not None:
        out["round_budget"] = formulas.round_budget(r, case.nat, in_loop, verify, case.target_ms)
    base, slope = terms["verify_base"], terms["verify_slope"]
    out["linear_verify"] = formulas.linear_verify(r, case.nat, draft, base, slope, case.target_ms)
    return out


def _because(case: Case, params: Params, source: Source, known: Tables) -> str | None:
    """The largest cause of a miss, in words; None where the row has no rounds to compare."""
    rounds = known.rounds.get((case.sweep, case.run, case.prompt))
    if rounds is None or case.tokens_per_round is None:
        return None
    count = max(rounds.number.size, 1)
    timed = bool(np.isfinite(rounds.draft).all() and np.isfinite(rounds.verify).all())
    proposals = float(rounds.c.sum())
    measured = Measured(
        speedup=case.speedup,
        tokens_per_round=case.tokens_per_round,
        proposals_per_round=proposals / count,
        draft_ms=float(rounds.draft.sum()) / proposals if timed and proposals else None,
        verify_ms=float(rounds.verify.sum()) / count if timed else None,
        rest_ms=float((rounds.wall - rounds.draft - rounds.verify).sum()) / count if timed else None,
        noise_rel=case.noise_rel,
        diverged_at=case.same_prefix if case.same_prefix is not None and not case.same_text else None,
    )
    first = why(params, source.counts, measured)[0]
    return f"{first.cause} ({first.effect:+.1%}): {first.words}"


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """Median and worst absolute error by method, over all rows and over those with the baseline's text;
    coverage of the 90 % interval for ours."""
    rows: list[dict[str, Any]] = []
    for rows_of, part in (("all", frame), ("same text", frame.filter(pl.col("same_text")))):
        for method in ("predicted_speedup", *formulas.NAMES):
            errors = part.select(((pl.col(method) / pl.col("speedup")) - 1).abs().alias("e"))[
                "e"
            ].drop_nulls()
            if not len(errors):
                continue
            ours = method == "predicted_speedup"
            rows.append(
                {
                    "rows_of": rows_of,
                    "method": "ours" if ours else method,
                    "rows": len(errors),
                    "median_error": errors.median(),
                    "worst_error": errors.max(),
                    "coverage": part["covered"].mean() if ours else None,
                }
            )
    types = {
        "rows_of": pl.String,
        "method": pl.String,
        "rows": pl.Int64,
        "median_error": pl.Float64,
        "worst_error": pl.Float64,
        "coverage": pl.Float64,
    }
    return pl.DataFrame(rows, schema=types, orient="row")
