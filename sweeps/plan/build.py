"""Sweep -> plan: points, rules, ids, baselines, order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from sweeps.plan import baselines, effective, routing, rules
from sweeps.plan.content import content_hash
from sweeps.plan.expand import Point, points
from sweeps.plan.identity import run_id
from sweeps.plan.model import Config, Dropped, Plan, Prompt, Run
from sweeps.plan.order import in_order
from sweeps.spec import load, resolve
from sweeps.spec.checks import Fault
from sweeps.spec.errors import SpecError, SpecIssue, place_text
from sweeps.spec.model import Sweep

Hasher = Callable[[Path], str]


def plan_file(path: str | os.PathLike[str], hasher: Hasher = content_hash) -> Plan:
    """The plan of a sweep file. Raises SpecError with file, place and line, and nothing else."""
    text = load.read_text(path)
    sweep = load.load_sweep(path)
    try:
        return build_plan(sweep, Path(path).parent, hasher)
    except SpecError as error:
        raise SpecError.of([load.locate(issue, text) for issue in error.issues], str(path)) from None


def build_plan(sweep: Sweep, folder: Path, hasher: Hasher = content_hash) -> Plan:
    """The plan of a sweep whose relative paths start at `folder`.

    Reads prompt files and model folders; raises SpecError (place, no line) when one is missing.
    `hasher` gives a model folder's content hash.
    """
    faults = resolve.prompt_faults(sweep, folder) + resolve.model_faults(sweep, folder)
    if faults:
        raise SpecError.of([_issue(fault) for fault in faults])
    builder = _Builder(
        sweep, {name: _model(sweep, name, folder, hasher) for name in resolve.used_models(sweep)}
    )
    kept, dropped = _judged(sweep, builder)
    requested: dict[str, Run] = {}
    for run in map(builder.run, kept):
        requested.setdefault(run.id, run)
    added: dict[str, Run] = {}
    linked = [builder.linked(run, requested, added) for run in requested.values()]
    for run in list(requested.values()):
        for config in baselines.agreements(run.config, _text_of(run)):
            builder.foretell(config, requested, added)
    return Plan(
        sweep=sweep.name,
        protocol=sweep.protocol,
        prompts=tuple(Prompt(p.name, p.text, p.hash) for p in resolve.prompts(sweep, folder)),
        runs=in_order(linked, list(added.values())),
        dropped=tuple(dropped),
    )


def _text_of(run: Run) -> str | None:
    """Whose text an agreement run scores: the one that the row is compared with. The texts of the two
    engines part at near ties, and a string over the other one foretells another text's rounds."""
    if run.config.target_device == routing.NPU:
        return None
    return "PA" if run.path == "cb" else "SDPA"


class _Model(msgspec.Struct, frozen=True):
    folder: str
    hash: str


def _model(sweep: Sweep, name: str, folder: Path, hasher: Hasher) -> _Model:
    path = resolve.model_folder(sweep.models[name], folder)
    try:
        return _Model(str(path), hasher(path))
    except OSError as error:
        message = f"cannot be read ({error.strerror}: {error.filename})"
        raise SpecError(message, place_text(("models", name))) from None


def _issue(fault: Fault) -> SpecIssue:
    return SpecIssue(fault.message, place_text(fault.path))


def _judged(sweep: Sweep, builder: _Builder) -> tuple[list[Config], list[Dropped]]:
    """Configurations that can be run, and the points that cannot."""
    kept: list[Config] = []
    dropped: list[Dropped] = []
    for point in points(sweep):
        for left_out in _verdicts(point, builder):
            if isinstance(left_out, Config):
                kept.append(left_out)
            else:
                dropped.append(left_out)
    return kept, dropped


def _verdicts(point: Point, builder: _Builder) -> Iterator[Config | Dropped]:
    """What a point comes to: drops on the way, then the configuration unless nothing is left of it."""
    config: Config | None = point.config
    while config is not None:
        verdict = rules.verdict(config, builder.target_properties(config), builder.draft_properties(config))
        if verdict is None:
            yield config
            return
        yield Dropped(place_text(point.place(verdict.axis)), config, verdict.reason)
        config = verdict.instead


class _Builder:
    """Runs from configurations: ids, folders and properties are looked up here."""

    def __init__(self, sweep: Sweep, models: dict[str, _Model]) -> None:
        self._sweep = sweep
        self._models = models

    def target_properties(self, config: Config) -> effective.Properties:
        return effective.target_properties(config, self._sweep.devices)

    def draft_properties(self, config: Config) -> effective.Properties:
        return effective.draft_properties(config, self._sweep.devices)

    def run(self, config: Config) -> Run:
        target = self._models[config.target]
        draft = self._models[config.draft] if config.draft is not None else None
        on_target, on_draft = self.target_properties(config), self.draft_properties(config)
        draft_hash = draft.hash if draft else ""
        return Run(
            id=run_id(
                config,
                self._sweep.protocol,
                target_hash=target.hash,
                draft_hash=draft_hash,
                target_properties=on_target,
                draft_properties=on_draft,
            ),
            config=config,
            path=routing.path_of(config),
            emulated=routing.emulated(config, on_target, on_draft),
            target_dir=target.folder,
            target_properties=on_target,
            draft_dir=draft.folder if draft else None,
            draft_properties=on_draft,
            target_hash=target.hash,
            draft_hash=draft_hash,
        )

    def linked(self, run: Run, requested: dict[str, Run], added: dict[str, Run]) -> Run:
        """The run with the ids of what it needs; what nobody asked for goes to `added`."""
        needs = baselines.needs(run.config)
        return msgspec.structs.replace(
            run,
            baseline=self._id(needs.baseline, requested, added),
            baseline_default=self._id(needs.baseline_default, requested, added),
            draft_alone=self._id(needs.draft_alone, requested, added),
        )

    def foretell(self, config: Config, requested: dict[str, Run], added: dict[str, Run]) -> None:
        """Add an agreement run, with the text that it scores."""
        run = self.run(config)
        if run.id not in requested and run.id not in added:
            linked = self.linked(run, requested, added)
            added[run.id] = msgspec.structs.replace(linked, added=True)

    def _id(self, config: Config | None, requested: dict[str, Run], added: dict[str, Run]) -> str | None:
        if config is None:
            return None
        run = self.run(config)
        if run.id not in requested:
            added.setdefault(run.id, msgspec.structs.replace(run, added=True))
        return run.id
