"""Rows of the three tables from the folded state of one sweep: plain dicts and lists, no Polars."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import fmean, stdev
from typing import Any, Final

from sweeps.compare.divergence import repeatable
from sweeps.compare.noise import BUSY_CORES, is_noisy, relative_mad
from sweeps.measure.guards import check_acceptance, reason_of, spoiled
from sweeps.measure.path import fell_back, prefix_caching, real_path
from sweeps.measure.rep import RepMetrics, RepStatus
from sweeps.store.state import Rep, RunState, SweepState

Row = dict[str, Any]

BAD_FIRST: Final[tuple[RepStatus, ...]] = ("metric_suspect", "not_speculative", "budget_not_met", "ok")
"""A row is as good as its worst rep."""


def identity_columns(sweep: str, state: RunState, path: str, prompt: str) -> Row:
    """What names a row, in all three tables."""
    config = state.run.config
    return {
        "sweep": sweep,
        "run": state.run.id,
        "prompt": prompt,
        "kind": config.kind,
        "target": config.target,
        "target_device": config.target_device,
        "draft": config.draft,
        "draft_device": config.draft_device,
        "path": path,
        "num_assistant_tokens": config.num_assistant_tokens,
    }


def rep_row(names: Row, state: RunState, rep: Rep, metrics: RepMetrics) -> Row:
    """One counted rep."""
    done = rep.done
    spoilt = spoiled(problem.name for problem in metrics.problems)
    row = {
        **names,
        "rep": done.rep,
        "status": metrics.status,
        "reason": metrics.reason or None,
        "attempt": done.attempt,
        "call": done.call,
        "tokens": metrics.tokens,
        "wall_ms": metrics.wall_ms,
        "ttft_ms": metrics.ttft_ms,
        "tpot_ms": metrics.tpot_ms,
        "tok_s": metrics.tok_s,
        "wall_tok_s": metrics.wall_tok_s,
        "rounds": metrics.rounds,
        "proposals": metrics.proposals,
        "accepted": metrics.accepted,
        "draft_total_ms": metrics.draft_total_ms,
        "verify_total_ms": metrics.verify_total_ms,
        "rounds_total_ms": metrics.rounds_total_ms,
        "first_round_ms": metrics.first_round_ms,
        "finish": metrics.finish or None,
        "token_ids": done.token_ids,
        "other_cpu": rep.other_cpu,
        "freq_mhz": rep.freq_mhz,
        "throttles": rep.throttles,
        "started": iso(rep.started),
        "prompt_tokens": state.prompt_tokens.get(done.prompt),
        "max_new_tokens": state.protocol.max_new_tokens,
        "notes": "; ".join(metrics.notes) or None,
    }
    return row | dict.fromkeys(column for column in spoilt if column in row)


def round_rows(names: Row, rep: int, metrics: RepMetrics, pace: float | None = None) -> list[Row]:
    """The rounds of one rep; none where a guard fired, since they stand on the same lists."""
    speculates = metrics.rounds is not None
    rows = []
    for item in metrics.by_round:
        counted = speculates and item.number > 0
        accepted = item.tokens - 1 if counted else None
        known = accepted is not None and item.proposals is not None
        rows.append(
            {
                **names,
                "rep": rep,
                "round": item.number,
                "position": item.position,
                "tokens": item.tokens,
                "proposals": item.proposals,
                "accepted": accepted,
                # A round without room for a proposal was not fully accepted: nothing was.
                "full": accepted == item.proposals and accepted > 0
                if known and accepted is not None
                else None,
                "start_ms": item.start_ms,
                "wall_ms": item.wall_ms,
                "draft_ms": item.draft_ms,
                "verify_ms": item.verify_ms,
                "rest_ms": item.rest_ms if counted and (item.draft_ms is not None) else None,
                "pace": pace,
            }
        )
    return rows


def path_of(state: RunState, reps: Sequence[Rep]) -> str:
    """The engine that really ran, as far as the reps tell."""
    end_calls = reps[0].done.end_calls if reps else 0
    return real_path(state.run, end_calls, state.fallback)


def run_row(
    sweep: str, sweep_state: SweepState, run: str, prompt: str, reps: Sequence[tuple[Rep, RepMetrics]]
) -> Row:
    """One run and prompt, without what needs other rows (speed-ups, divergence): see `compared`.

    `reps` are the counted ones, in order.
    """
    state = sweep_state.runs[run]
    path = path_of(state, [rep for rep, _ in reps])
    status, failure = sweep_state.row_status(run, prompt)
    row = identity_columns(sweep, state, path, prompt) | _configuration(sweep_state, state)
    row["prefix_caching"] = prefix_caching(state.run, path, state.protocol.prefix_caching)
    row |= {
        "status": status,
        "failure": failure.failure or None,
        "reason": failure.reason or None,
        "reps": len(reps),
        "prompt_tokens": state.prompt_tokens.get(prompt),
        "construct_s": state.construct_s,
        "peak_rss_mb": state.peak_rss_mb or None,
    }
    row |= measured(state.run.config.kind, [metrics for _, metrics in reps])
    if status == "ok" and row["rep_status"] not in (None, "ok"):
        row["status"], row["reason"] = row["rep_status"], row["rep_reason"]
    if any(rep.throttles for rep, _ in reps):
        row["noisy"] = True
    row["repeatable"] = repeatable([rep.done.token_ids for rep, _ in reps])
    row["started"] = iso(min(rep.started for rep, _ in reps)) if reps else None
    row["notes"] = "; ".join(_notes(sweep_state, state, prompt, path, reps)) or None
    if (run, prompt) in sweep_state.agreements:
        row |= {"reps": 1, "tokens": len(sweep_state.agreements[run, prompt].bits)}
    return row


def measured(kind: str, reps: Sequence[RepMetrics]) -> Row:
    """The metrics of a row from its counted reps: rates are means over reps, counts are sums, and what is
    per round or per proposal is a quotient of sums. `rep_status` and `rep_reason` say how good they are."""
    rates = _known(reps, "tok_s")
    accepted, proposals, rounds = (_sum(reps, name) for name in ("accepted", "proposals", "rounds"))
    draft, verify, wall = (_sum(reps, f"{name}_total_ms") for name in ("draft", "verify", "rounds"))
    problems = [problem for metrics in reps for problem in metrics.problems]
    if accepted is not None and proposals is not None:
        problems += check_acceptance(kind, int(accepted), int(proposals))
    status: RepStatus = next((bad for bad in BAD_FIRST if any(rep.status == bad for rep in reps)), "ok")
    if problems:
        status = "metric_suspect"
    reason = reason_of(problems) or next((rep.reason for rep in reps if rep.status == status), "")
    rest = None
    if wall is not None and verify is not None and (draft is not None or kind == "prompt-lookup"):
        rest = wall - verify - (draft or 0.0)
    row: Row = {
        "rep_status": status if reps else None,
        "rep_reason": reason or None,
        "tokens": min((rep.tokens for rep in reps), default=None),
        "tok_s": fmean(rates) if rates else None,
        "tok_s_sd": stdev(rates) if len(rates) > 1 else None,
        "wall_tok_s": _mean(reps, "wall_tok_s"),
        "ttft_ms": _mean(reps, "ttft_ms"),
        "tpot_ms": _mean(reps, "tpot_ms"),
        "accepted": None if accepted is None else int(accepted),
        "proposals": None if proposals is None else int(proposals),
        "acceptance": _over(accepted, proposals),
        "tokens_per_round": 1 + accepted / rounds if accepted is not None and rounds else None,
        "proposals_per_round": _over(proposals, rounds),
        "rounds": _mean(reps, "rounds"),
        "draft_ms": _over(draft, proposals),
        "verify_ms": _over(verify, rounds),
        "rest_ms": _over(max(rest, 0.0) if rest is not None else None, rounds),
        "finish": ",".join(sorted({rep.finish for rep in reps if rep.finish})) or None,
        "rel_mad": relative_mad(rates),
        "noisy": is_noisy(relative_mad(rates)),
    }
    return row | dict.fromkeys(c for c in spoiled(p.name for p in problems) if c in row)


def _configuration(sweep_state: SweepState, state: RunState) -> Row:
    run, config = state.run, state.run.config
    properties: dict[str, Mapping[str, object]] = {}
    if run.target_properties:
        properties["target"] = run.target_properties
    if run.draft_properties:
        properties["draft"] = run.draft_properties
    return {
        "emulated": run.emulated,
        "attention_backend": config.attention_backend,
        "assistant_confidence_threshold": config.assistant_confidence_threshold,
        "max_ngram_size": config.max_ngram_size,
        "kv_cache_precision": config.kv_cache_precision,
        "inference_num_threads": config.inference_num_threads,
        "properties": json.dumps(properties, sort_keys=True) if properties else None,
        "max_new_tokens": state.protocol.max_new_tokens,
        "added": run.added,
        "baseline": run.baseline,
        "host": sweep_state.host or None,
        "openvino": state.openvino or sweep_state.facts.get("openvino"),
        "genai": state.genai or sweep_state.facts.get("openvino_genai"),
        "source": "measured",
    }


def _notes(
    sweep_state: SweepState, state: RunState, prompt: str, path: str, reps: Sequence[tuple[Rep, RepMetrics]]
) -> list[str]:
    notes: list[str] = []
    if state.run.path not in ("default", path) and state.run.config.kind != "agreement":
        notes.append(f"asked for {state.run.path}, ran on {path}")
    if fell_back(state.run, path):
        notes.append("paged attention failed and the library fell back to SDPA without a word")
    if state.fallback:
        notes.append(state.fallback)
    if reps and prefix_caching(state.run, path, state.protocol.prefix_caching):
        notes.append("prefix caching is on: TTFT is that of a repeated prompt")
    notes += [f.message for f in state.run.findings if f.level == "warned"]
    busy = [rep.other_cpu for rep, _ in reps if rep.other_cpu is not None]
    if busy and fmean(busy) > BUSY_CORES:
        notes.append(f"other processes used {fmean(busy):.1f} cores")
    throttles = sum(rep.throttles for rep, _ in reps)
    if throttles:
        notes.append(f"noisy: the processor was throttled {throttles} times")
    if any(rep.on_battery for rep, _ in reps):
        notes.append("on battery: clocks may be held down")
    agreement = sweep_state.agreements.get((state.run.id, prompt))
    if agreement is not None and agreement.bits:
        share = agreement.bits.count("1") / len(agreement.bits)
        notes.append(f"agrees with {share:.1%} of {len(agreement.bits)} tokens")
    said = dict.fromkeys(note for _, metrics in reps for note in metrics.notes)
    if said:
        first = next(iter(said))
        notes.append(first if len(said) == 1 else f"{first} (and {len(said) - 1} like it in the reps)")
    return notes


def iso(t: float) -> str | None:
    """Unix seconds as ISO 8601, UTC."""
    return datetime.fromtimestamp(t, UTC).isoformat(timespec="milliseconds") if t > 0 else None


def _known(reps: Sequence[RepMetrics], name: str) -> list[float]:
    return [value for rep in reps if (value := getattr(rep, name)) is not None]


def _mean(reps: Sequence[RepMetrics], name: str) -> float | None:
    values = _known(reps, name)
    return fmean(values) if values else None


def _sum(reps: Sequence[RepMetrics], name: str) -> float | None:
    """Sum over the reps, None unless every rep has the value."""
    values = _known(reps, name)
    return sum(values) if values and len(values) == len(reps) else None


def _over(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None
