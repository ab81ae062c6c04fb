"""What has to be measured before a grid can be foretold: no speculative run is among it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from sweeps.plan.model import Config, Plan, Run

MAX_WIDTH = 10
"""Prompt-lookup probes go up to this NAT; beyond, the line through them is believed."""


def forecast_plan(plan: Plan, identify: Callable[[Config, Run], Run]) -> Plan:
    """The plan without its speculative rows, plus probes of the verify cost at each width they use.

    Prompt lookup pads its candidates to NAT, so that each of its rounds verifies NAT + 1 tokens, match or no
    match: on continuous batching it measures the verify at that width inside the real engine. (The stateful
    path's widths are timed by the agreement run of the target with its own text.)

    Args:
        identify: makes the run of a configuration that resembles a given run (same target, properties).
    """
    kept = [run for run in plan.runs if run.config.kind not in ("speculative", "prompt-lookup")]
    known = {run.id for run in plan.runs}
    probes: dict[str, Run] = {}
    for run, nat in _widths(plan):
        config = Config(
            kind="prompt-lookup",
            target=run.config.target,
            target_device=run.config.target_device,
            num_assistant_tokens=nat,
            max_ngram_size=3,
            kv_cache_precision=run.config.kv_cache_precision,
            inference_num_threads=run.config.inference_num_threads,
            properties=run.config.properties,
        )
        probe = identify(config, run)
        links = {"baseline": run.baseline, "baseline_default": run.baseline_default}
        probes.setdefault(probe.id, msgspec.structs.replace(probe, added=probe.id not in known, **links))
    return msgspec.structs.replace(plan, runs=(*kept, *probes.values()))


def with_probes(plan: Plan, probes: Plan) -> Plan:
    """The plan and, behind it, those runs of `forecast_plan` that it has not."""
    known = {run.id for run in plan.runs}
    return msgspec.structs.replace(plan, runs=(*plan.runs, *(r for r in probes.runs if r.id not in known)))


def _widths(plan: Plan) -> Iterator[tuple[Run, int]]:
    for run in plan.runs:
        nat = run.config.num_assistant_tokens
        if run.config.kind == "speculative" and run.path == "cb" and nat is not None and not run.refused:
            yield run, min(nat, MAX_WIDTH)


def make_identifier(plan: Plan) -> Callable[[Config, Run], Run]:
    """Runs for probes: ids as the plan makes them, everything of the target taken from the row probed for."""
    from sweeps.plan.identity import run_id

    def identify(config: Config, like: Run) -> Run:
        return Run(
            id=run_id(
                config,
                plan.protocol,
                target_hash=like.target_hash,
                draft_hash="",
                target_properties=like.target_properties,
                draft_properties={},
            ),
            config=config,
            path="cb",
            emulated=False,
            target_dir=like.target_dir,
            target_properties=like.target_properties,
            target_hash=like.target_hash,
        )

    return identify
