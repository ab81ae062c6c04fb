"""In which order runs are started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sweeps.plan.model import Run


def in_order(requested: Sequence[Run], added: Sequence[Run]) -> tuple[Run, ...]:
    """Requested runs by target and device, each row right behind the plain runs that it needs.

    So the first speculative row has its speed-up as soon as it is done, and a compiled-model cache or a
    warm file cache serves neighbours. Agreement runs that nobody asked for stand behind the first row of
    their pair's target, as soon as there is a text to score. Ids are unique over both lists; nothing is lost.
    """
    by_id = {run.id: run for run in (*requested, *added)}
    emitted: dict[str, Run] = {}
    for run in _grouped(requested):
        for needed in (run.baseline, run.baseline_default, run.draft_alone, run.id):
            if needed is not None and needed not in emitted:
                emitted[needed] = by_id[needed]
        for score in added:
            if score.config.kind == "agreement" and score.baseline in emitted:
                emitted.setdefault(score.id, score)
    for run in added:
        for needed in (run.baseline, run.id):
            if needed is not None:
                emitted.setdefault(needed, by_id[needed])
    return tuple(emitted.values())


def _grouped(runs: Sequence[Run]) -> Iterator[Run]:
    """Groups in the order of their first run; within a group the file's order."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.target_hash, run.config.target_device), []).append(run)
    for group in groups.values():
        yield from group
