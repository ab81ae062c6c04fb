"""Everything that can be known before a compile is spent: a plan in, the same plan with findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from sweeps.check import budget, devices, files, memory, options, precision, properties, tokenizers
from sweeps.check.case import Case, Machine, Side
from sweeps.check.machine import this_machine
from sweeps.models import tokenizer
from sweeps.models.inspect import ModelFacts, inspect
from sweeps.plan.model import Finding, Plan, Prompt, Run

Counter = Callable[[Path, tuple[Prompt, ...]], dict[str, int]]
"""Counts the prompts' tokens with the tokenizer of a folder: prompt name -> tokens."""

THEMES = (files, devices, tokenizers, precision, properties, options, budget, memory)
_ORDER = {"refused": 0, "warned": 1, "noted": 2}


def preflight(
    plan: Plan,
    *,
    machine: Machine | None = None,
    look: Callable[[Path], ModelFacts] = inspect,
    count: Counter | None = None,
) -> Plan:
    """Check every run of a plan; findings are added to the runs, worst first, and nothing is compiled.

    Each model folder is read once. Without `machine` this machine is asked; `look` and `count` read
    models and count tokens (tests hand in their own). Raises nothing for bad models: they become findings.
    """
    here = machine or this_machine()
    counting = count or count_tokens
    models: dict[str, ModelFacts] = {}
    tokens: dict[str, dict[str, int]] = {}

    def model(folder: str) -> ModelFacts:
        if folder not in models:
            models[folder] = look(Path(folder))
        return models[folder]

    def counts(folder: str) -> dict[str, int]:
        if folder not in tokens:
            known = model(folder).tokenizer is not None
            tokens[folder] = counting(Path(folder), plan.prompts) if known else {}
        return tokens[folder]

    runs = []
    for run in plan.runs:
        case = Case(
            run=run,
            protocol=plan.protocol,
            prompts=plan.prompts,
            target=Side("target", run.config.target_device, run.target_properties, model(run.target_dir)),
            draft=_draft(run, model),
            machine=here,
            prompt_tokens=counts(run.target_dir),
        )
        runs.append(msgspec.structs.replace(run, findings=_sorted((*run.findings, *check(case)))))
    return msgspec.structs.replace(plan, runs=tuple(runs))


def check(case: Case) -> Iterator[Finding]:
    """All findings about one run. Pure: everything it knows is in the case."""
    for theme in THEMES:
        yield from theme.check(case)


def count_tokens(folder: Path, prompts: tuple[Prompt, ...]) -> dict[str, int]:
    """Tokens of each prompt as the worker hands it over; empty when the tokenizer cannot be loaded."""
    try:
        encoder = tokenizer.load(folder)
        return {prompt.name: tokenizer.count_prompt(encoder, prompt.text) for prompt in prompts}
    except tokenizer.TokenizerError:
        return {}


def _draft(run: Run, model: Callable[[str], ModelFacts]) -> Side | None:
    if run.draft_dir is None:
        return None
    # An agreement run asks the draft for logits through OpenVINO itself, on the device of its own.
    device = run.config.draft_device or "CPU"
    return Side("draft", device, run.draft_properties, model(run.draft_dir))


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Worst first, each once (a model that is its own draft would report everything twice)."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _ORDER[finding.level]))
