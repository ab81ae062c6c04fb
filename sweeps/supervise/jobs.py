"""From a planned run to the job of one worker."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sweeps.plan.beside import beside
from sweeps.plan.model import Plan, Run
from sweeps.worker.job import Job, Todo


def make_job(
    plan: Plan, run: Run, attempt: int, todo: list[Todo], spool: Path, *, drift: bool = False
) -> Job:
    """The job that measures `todo` of a run; `drift`: to see how far the machine drifted."""
    job = _job(plan, run, attempt, todo, spool, drift)
    other = beside(plan.runs, run) if plan.protocol.paired else None
    base = next((each for each in plan.runs if each.id == other), None)
    if base is None or base.refused:
        return job
    # Its events are the run's: they say themselves that they are of what stands beside it.
    return msgspec.structs.replace(
        job, beside=msgspec.structs.replace(_job(plan, base, attempt, [], spool, drift), run=run.id)
    )


def _job(plan: Plan, run: Run, attempt: int, todo: list[Todo], spool: Path, drift: bool) -> Job:
    config, protocol = run.config, plan.protocol
    return Job(
        run=run.id,
        attempt=attempt,
        kind=config.kind,
        target_dir=run.target_dir,
        target_device=config.target_device,
        target_properties=run.target_properties,
        todo=todo,
        events=str(spool / f"{run.id}-{attempt}.events.jsonl"),
        draft_dir=run.draft_dir,
        draft_device=config.draft_device,
        draft_properties=run.draft_properties,
        num_assistant_tokens=config.num_assistant_tokens,
        assistant_confidence_threshold=config.assistant_confidence_threshold,
        max_ngram_size=config.max_ngram_size,
        branching_factor=config.branching_factor,
        tree_depth=config.tree_depth,
        max_new_tokens=protocol.max_new_tokens,
        ignore_eos=protocol.ignore_eos,
        prefix_caching=protocol.prefix_caching,
        drift=drift,
        continuous_batching=run.path == "cb",
    )
