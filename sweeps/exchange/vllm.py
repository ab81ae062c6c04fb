"""vLLM (`vllm bench serve --save-result`): one JSON object a benchmark, or one a line when appended.

A rep of such a benchmark is a request, and each request has a prompt of its own: the spread across requests
is not a spread across reps, so `tok_s_sd` stays empty. `tok_s` is 1000 / mean TPOT, the decode rate of one
request; with more than one request at a time it is a rate under load, which the row's `reason` says.
Acceptance comes from the counters; the percentage that the file states must agree with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from sweeps.exchange import rows
from sweeps.exchange.rows import ExchangeError, Imported

TOOL: Final = "vllm"
_OPTIONS: Final = ("backend", "endpoint_type", "request_rate", "max_concurrency", "num_prompts")
_PERCENT_TOLERANCE: Final = 0.1
"""Percentage points by which the stated acceptance rate may differ from the counters' (rounding)."""


def recognises(objects: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are results of `vllm bench serve`."""
    return bool(objects) and all({"mean_tpot_ms", "completed", "duration"} <= item.keys() for item in objects)


def load(path: Path, objects: Sequence[Mapping[str, object]]) -> Imported:
    """One run row a benchmark. Raises ExchangeError when nothing was completed or counters contradict."""
    return Imported(rows.frame([_row(path, n, item) for n, item in enumerate(objects)]), TOOL)


def _row(path: Path, n: int, item: Mapping[str, object]) -> dict[str, object]:
    where = f"{path}: result {n}"
    completed = rows.whole(item["completed"])
    if not completed:
        raise ExchangeError(f"{where}: no request was completed (completed = {item['completed']!r})")
    tpot = rows.number(item["mean_tpot_ms"])
    name = rows.text(item.get("model_id")) or rows.text(item.get("model"))
    concurrency = rows.whole(item.get("max_concurrency"))
    lengths = item.get("output_lens")
    tokens = [rows.whole(value) for value in lengths] if isinstance(lengths, list) else []
    shortest = min((value for value in tokens if value), default=None)
    speculation = _speculation(where, item, completed)
    options = {key: item.get(key) for key in _OPTIONS}
    prompt = rows.text(item.get("label")) or f"{completed} requests"
    return speculation | {
        "run": rows.run_id(TOOL, name, prompt, options, speculation.get("num_assistant_tokens")),
        "sweep": f"import:{path.name}",
        "kind": "speculative" if speculation else "plain",
        "target": name,
        "prompt": prompt,
        "reps": completed,
        "tokens": shortest,
        "tok_s": 1000 / tpot if tpot else None,
        "tpot_ms": tpot or None,
        "ttft_ms": rows.number(item.get("mean_ttft_ms")),
        "wall_tok_s": rows.number(item.get("output_throughput")) if concurrency == 1 else None,
        "status": "ok" if tpot else "metric_suspect",
        "reason": _reason(tpot, concurrency),
        "started": rows.text(item.get("date")),
        "properties": rows.properties(options),
        "source": TOOL,
    }


def _reason(tpot: float | None, concurrency: int | None) -> str | None:
    if not tpot:
        return "no time per output token: one token a request, or none"
    if concurrency != 1:
        limit = f"up to {concurrency}" if concurrency else "any number of"
        return f"a rate under load: {limit} requests at a time"
    return None


def _speculation(where: str, item: Mapping[str, object], completed: int) -> dict[str, object]:
    """Counts of the whole benchmark; rates from them. Empty when the file has no speculative counters."""
    names = ("num_drafts", "draft_tokens", "accepted_tokens")
    counts = {name: item.get(f"spec_decode_{name}") for name in names}
    if all(value is None for value in counts.values()):
        return {}
    rounds, proposals, accepted = (rows.whole(counts[name]) for name in names)
    if rounds is None or proposals is None or accepted is None:
        missing = [name for name in names if rows.whole(counts[name]) is None]
        raise ExchangeError(f"{where}: spec_decode_{missing[0]} is {counts[missing[0]]!r}, not a count")
    if accepted > proposals:
        raise ExchangeError(f"{where}: {accepted} tokens accepted of {proposals} proposed: impossible")
    stated = rows.number(item.get("spec_decode_acceptance_rate"))
    if stated is not None and proposals and abs(stated - 100 * accepted / proposals) > _PERCENT_TOLERANCE:
        ours = 100 * accepted / proposals
        raise ExchangeError(f"{where}: it states {stated} % acceptance, its counters say {ours:.2f} %")
    positions = item.get("spec_decode_per_position_acceptance_rates")
    return {
        # One rate for each position that can be proposed: their number is the number of proposals asked for.
        "num_assistant_tokens": len(positions) if isinstance(positions, list) and positions else None,
        "accepted": accepted,
        "proposals": proposals,
        "rounds": rounds / completed,
        "acceptance": accepted / proposals if proposals else None,
        "tokens_per_round": 1 + accepted / rounds if rounds else None,
        "proposals_per_round": proposals / rounds if rounds else None,
    }
