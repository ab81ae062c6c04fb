"""llm_bench (openvino.genai/tools/llm_bench): its CSV and its JSON report.

Iteration 0 is the warm-up, `avg`, `mini` and `median` rows repeat what the others say, and the CSV ends with
rows of comments: all of these are left out. A rep's decode rate is 1000 / "2nd_avg_latency", the mean time of
the tokens after the first, which is this table's `tok_s`. The report does not say whether a draft was used or
which engine ran, so every row is `plain` with an empty `path`; whoever knows better says so when importing.
Times without a zone (`start`) are that machine's local time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sweeps.exchange import rows
from sweeps.exchange.rows import ExchangeError, Imported

TOOL: Final = "llm_bench"
_CSV_NEEDS: Final = ("iteration", "model", "device", "output_size", "2nd_avg_latency(ms)", "prompt_idx")
_JSON_NEEDS: Final = ("iteration", "output_size", "second_avg_latency", "prompt_idx")


class _Rep(NamedTuple):
    """One counted iteration; None where the report says NA."""

    prompt: int
    prompt_tokens: int | None
    budget: int | None
    tokens: int | None
    generation_s: float | None
    ttft_ms: float | None
    tpot_ms: float | None
    rss_mb: float | None
    started: str | None


class _Report(NamedTuple):
    """What holds for a whole report."""

    model: str | None
    device: str | None
    construct_s: float | None
    options: dict[str, object]


def recognises_csv(content: str) -> bool:
    """Whether the first line is the header of an llm_bench report."""
    header = next(csv.reader(io.StringIO(content)), [])
    return {"iteration", "2nd_avg_latency(ms)"} <= {name.strip() for name in header}


def recognises_json(objects: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is llm_bench's JSON report."""
    return len(objects) == 1 and {"metadata", "perfdata"} <= objects[0].keys()


def load_csv(path: Path, content: str) -> Imported:
    """One run row a prompt of a CSV report. Raises ExchangeError naming the line."""
    reader = csv.DictReader(io.StringIO(content, newline=""))
    missing = [name for name in _CSV_NEEDS if name not in (reader.fieldnames or ())]
    if missing:
        raise ExchangeError(f"{path}: line 1: no column {', '.join(missing)}")
    first: dict[str, str] | None = None
    reps: list[_Rep] = []
    for line in reader:
        iteration = rows.whole(line["iteration"])
        if iteration is None:
            continue
        first = first or line
        if iteration > 0:
            reps.append(_csv_rep(path, reader.line_num, line))
    if first is None:
        raise ExchangeError(f"{path}: no iteration in it")
    report = _Report(
        model=rows.text(first["model"]),
        device=rows.text(first["device"]),
        construct_s=rows.number(first.get("pretrain_time(s)")),
        options={key: first.get(key) for key in ("framework", "precision", "num_beams", "batch_size")},
    )
    return _imported(path, report, reps)


def load_json(path: Path, document: Mapping[str, object]) -> Imported:
    """One run row a prompt of a JSON report. Raises ExchangeError naming the place."""
    metadata, perfdata = document["metadata"], document["perfdata"]
    results = perfdata.get("results") if isinstance(perfdata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(perfdata, dict) or not isinstance(results, list):
        raise ExchangeError(f"{path}: metadata and perfdata.results are not what llm_bench writes")
    reps = []
    for n, item in enumerate(results):
        missing = [name for name in _JSON_NEEDS if not isinstance(item, dict) or name not in item]
        if missing:
            raise ExchangeError(f"{path}: perfdata.results[{n}]: no {', '.join(missing)}")
        if rows.whole(item["iteration"]):
            reps.append(_json_rep(path, n, item))
    report = _Report(
        model=rows.text(metadata.get("model")),
        device=rows.text(metadata.get("device")),
        construct_s=rows.number(perfdata.get("compile_time")),
        options={key: metadata.get(key) for key in ("framework", "precision", "num_beams", "batch_size")},
    )
    return _imported(path, report, reps)


def _csv_rep(path: Path, line: int, item: Mapping[str, str]) -> _Rep:
    prompt = rows.whole(item["prompt_idx"])
    if prompt is None:
        raise ExchangeError(f"{path}: line {line}: prompt_idx is {item['prompt_idx']!r}, not a number")
    # The column's name has changed over the versions: max_rss_mem(MB), max_rss_mem.
    rss = next((value for name, value in item.items() if name and name.startswith("max_rss_mem")), None)
    return _Rep(
        prompt=prompt,
        prompt_tokens=rows.whole(item.get("input_size")),
        budget=rows.whole(item.get("infer_count")),
        tokens=rows.whole(item["output_size"]),
        generation_s=rows.number(item.get("generation_time(s)")),
        ttft_ms=rows.number(item.get("1st_latency(ms)")),
        tpot_ms=rows.number(item["2nd_avg_latency(ms)"]),
        rss_mb=rows.number(rss),
        started=rows.text(item.get("start")),
    )


def _json_rep(path: Path, n: int, item: Mapping[str, object]) -> _Rep:
    prompt = rows.whole(item["prompt_idx"])
    if prompt is None:
        raise ExchangeError(
            f"{path}: perfdata.results[{n}].prompt_idx is {item['prompt_idx']!r}, not a number"
        )
    return _Rep(
        prompt=prompt,
        prompt_tokens=rows.whole(item.get("input_size")),
        budget=rows.whole(item.get("infer_count")),
        tokens=rows.whole(item["output_size"]),
        generation_s=rows.number(item.get("generation_time")),
        ttft_ms=rows.number(item.get("first_latency")),
        tpot_ms=rows.number(item["second_avg_latency"]),
        rss_mb=rows.number(item.get("max_rss_mem")),
        started=rows.text(item.get("start")),
    )


def _imported(path: Path, report: _Report, reps: Sequence[_Rep]) -> Imported:
    if not reps:
        raise ExchangeError(f"{path}: only the warm-up (iteration 0) is in it: run with -n 1 or more")
    for key in ("batch_size", "num_beams"):
        value = rows.whole(report.options.get(key))
        if value is not None and value > 1:
            raise ExchangeError(f"{path}: {key} is {value}: only rates of one sequence compare here")
    prompts = sorted({rep.prompt for rep in reps})
    found = [_row(path, report, prompt, [rep for rep in reps if rep.prompt == prompt]) for prompt in prompts]
    return Imported(rows.frame(found), TOOL)


def _row(path: Path, report: _Report, prompt: int, reps: Sequence[_Rep]) -> dict[str, object]:
    tokens = [rep.tokens for rep in reps if rep.tokens is not None]
    budgets = {rep.budget for rep in reps}
    budget = budgets.pop() if len(budgets) == 1 else None
    walls = [rep.tokens / rep.generation_s for rep in reps if rep.tokens and rep.generation_s]
    rates = [1000 / rep.tpot_ms for rep in reps if rep.tpot_ms]
    prompt_tokens = {rep.prompt_tokens for rep in reps}
    status, reason = _status(min(tokens, default=None), budget, len(rates), len(reps))
    return rows.rate_columns(rates) | {
        "run": rows.run_id(TOOL, report.model, report.device, budget, report.options),
        "sweep": f"import:{path.name}",
        "kind": "plain",
        "target": report.model,
        "target_device": report.device,
        "prompt": f"prompt {prompt}",
        "prompt_tokens": prompt_tokens.pop() if len(prompt_tokens) == 1 else None,
        "max_new_tokens": budget,
        "status": status,
        "reason": reason,
        "reps": len(reps),
        "tokens": min(tokens, default=None),
        "wall_tok_s": rows.mean(walls),
        "ttft_ms": rows.mean(rows.known(rep.ttft_ms for rep in reps)),
        "tpot_ms": rows.mean(rows.known(rep.tpot_ms for rep in reps)),
        "construct_s": report.construct_s,
        "peak_rss_mb": max(rows.known(rep.rss_mb for rep in reps), default=None),
        "started": min((rep.started for rep in reps if rep.started), default=None),
        "properties": rows.properties(report.options),
        "source": TOOL,
    }


def _status(tokens: int | None, budget: int | None, rates: int, reps: int) -> tuple[str, str | None]:
    if rates < reps:
        return (
            "metric_suspect",
            f"{reps - rates} of {reps} iterations have no latency of the tokens after the first",
        )
    if tokens is not None and budget is not None and tokens < budget:
        return "budget_not_met", f"{tokens} of {budget} tokens"
    return "ok", None
