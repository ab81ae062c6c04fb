"""A plan as rows and as plain text."""

from __future__ import annotations

from typing import Final, TypedDict

from sweeps.plan.estimate import Estimate
from sweeps.plan.model import Plan, Run
from sweeps.plan.routing import marked


class Row(TypedDict):
    """One run of a plan, as it is shown."""

    run: str
    kind: str
    target: str
    draft: str
    nat: str
    options: str
    path: str
    added: bool
    findings: int
    refused: bool
    seconds: float | None


_OPTIONS: Final = (
    ("assistant_confidence_threshold", "threshold"),
    ("max_ngram_size", "ngram"),
    ("branching_factor", "branching"),
    ("tree_depth", "depth"),
    ("attention_backend", "backend"),
    ("kv_cache_precision", "kv"),
    ("inference_num_threads", "threads"),
)


def rows(plan: Plan, estimate: Estimate | None = None) -> list[Row]:
    """One row a run, in the order of starting: target@device, draft@device, NAT, path, added, findings.

    An emulated NPU stands as `NPU*`; `seconds` is None where nothing like the run was recorded.
    """
    return [_row(run, estimate.runs.get(run.id) if estimate else None) for run in plan.runs]


def describe(run: Run) -> str:
    """One run in a few words: `target@CPU + draft-s@NPU* NAT 3 (stateful)`."""
    row = _row(run, None)
    words = [row["target"]]
    if row["draft"]:
        words += ["+", row["draft"]]
    if row["kind"] in ("prompt-lookup", "agreement"):
        words.append(row["kind"])
    if row["nat"]:
        words.append(f"NAT {row['nat']}")
    return " ".join([*words, f"({row['path']})"])


def _row(run: Run, seconds: float | None) -> Row:
    config = run.config
    options = [f"{short}={value}" for name, short in _OPTIONS if (value := getattr(config, name)) is not None]
    options += [f"{key}={value}" for key, value in config.properties.items()]
    return Row(
        run=run.id,
        kind=config.kind,
        target=_at(config.target, config.target_device, run.emulated),
        draft=_at(config.draft, config.draft_device, run.emulated),
        nat="" if config.num_assistant_tokens is None else str(config.num_assistant_tokens),
        options=" ".join(options),
        path=run.path,
        added=run.added,
        findings=len(run.findings),
        refused=run.refused,
        seconds=seconds,
    )


def _at(model: str | None, device: str | None, emulated: bool) -> str:
    return "" if model is None else f"{model}@{marked(device, emulated)}"


def plan_text(plan: Plan, estimate: Estimate | None = None) -> str:
    """The plan as text: a table, what was dropped and why, and the count with its time estimate."""
    heads = ("run", "kind", "target", "draft", "NAT", "path", "options", "notes")
    body = [_cells(row) for row in rows(plan, estimate)]
    widths = [max(len(line[i]) for line in (heads, *body)) for i in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in (heads, *body)
    ]
    text = [line.rstrip() for line in lines]
    if any(run.emulated for run in plan.runs):
        text.append("* the NPU code path, run on another device")
    text += [f"dropped  {drop.place}: {drop.reason}" for drop in plan.dropped]
    text.append(summary(plan, estimate))
    return "\n".join(text)


def summary(plan: Plan, estimate: Estimate | None = None) -> str:
    """`12 runs (4 added: baselines, agreement), 3 prompts, 3 reps + 1 warm-up; about 4 min`."""
    added = sum(run.added for run in plan.runs)
    protocol = plan.protocol
    counts = [_count(len(plan.runs), "run") + (f" ({added} added: baselines, agreement)" if added else "")]
    if plan.dropped:
        counts.append(f"{len(plan.dropped)} dropped")
    counts.append(_count(len(plan.prompts), "prompt"))
    counts.append(f"{_count(protocol.reps, 'rep')} + {_count(protocol.warmup, 'warm-up')}")
    return ", ".join(counts) + "; " + _time(plan, estimate)


def duration(seconds: float) -> str:
    """`45 s`, `4 min`, `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def _time(plan: Plan, estimate: Estimate | None) -> str:
    if estimate is None or not plan.runs or estimate.unknown == len(plan.runs):
        return "time unknown (nothing like it was recorded)" if plan.runs else "nothing to run"
    if estimate.total is not None:
        return f"about {duration(estimate.total)}"
    return f"more than {duration(estimate.at_least)} ({_count(estimate.unknown, 'run')} of unknown length)"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _cells(row: Row) -> tuple[str, ...]:
    notes = ["added"] if row["added"] else []
    if row["findings"]:
        notes.append(_count(row["findings"], "finding") + (" (refused)" if row["refused"] else ""))
    if row["seconds"] is not None:
        notes.append(duration(row["seconds"]))
    return (
        row["run"],
        row["kind"],
        row["target"],
        row["draft"],
        row["nat"],
        row["path"],
        row["options"],
        ", ".join(notes),
    )
