"""What Define computes beside the app's loop: faults, plan, machine, models. Pure but for the disk."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps import paths
from sweeps.spec.errors import PlacePath, SpecError, SpecIssue
from sweeps.spec.load import check_text, parse_sweep

if TYPE_CHECKING:
    from sweeps.check.case import Machine
    from sweeps.models.inspect import ModelFacts
    from sweeps.plan.estimate import Estimate
    from sweeps.plan.model import Plan


@dataclass(frozen=True)
class Examined:
    """A text as it was looked at."""

    text: str
    content: dict[str, Any] | None
    """The document; None while the text is no TOML."""
    issues: tuple[SpecIssue, ...] = ()

    @property
    def lines(self) -> dict[int, str]:
        """First fault of each line (from 1)."""
        found: dict[int, str] = {}
        for issue in self.issues:
            found.setdefault(issue.line or 1, issue.message)
        return found

    @property
    def places(self) -> dict[str, str]:
        """Fault by place (`grid[0].draft`)."""
        return {issue.place: issue.message for issue in reversed(self.issues)}


@dataclass(frozen=True)
class Planned:
    """A checked plan, or why there is none."""

    text: str
    plan: Plan | None = None
    fault: str = ""
    estimate: Estimate | None = None


def examine(text: str, folder: Path | None) -> Examined:
    """All faults of a text. Quick: no model is opened."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError):
        content = None
    return Examined(text, content, tuple(check_text(text, folder, models=True)))


@dataclass
class Knowledge:
    """What is found out once: the machine and the models' facts, by folder and time of change."""

    machine: Machine | None = None
    _facts: dict[tuple[str, int], ModelFacts] = field(default_factory=dict)

    def devices(self) -> tuple[str, ...]:
        """Devices that OpenVINO offers here; imports OpenVINO."""
        if self.machine is None:
            from sweeps.check.machine import this_machine

            self.machine = this_machine()
        return self.machine.devices

    def look(self, folder: Path) -> ModelFacts:
        """`inspect`, once for each state of a folder."""
        from sweeps.models.inspect import inspect

        xml = folder / "openvino_model.xml"
        stamp = xml.stat().st_mtime_ns if xml.is_file() else 0
        key = (str(folder), stamp)
        if key not in self._facts:
            self._facts[key] = inspect(folder)
        return self._facts[key]


def plan_text(text: str, folder: Path, knowledge: Knowledge, results: Path) -> Planned:
    """The checked plan of a text without faults, with its expected time."""
    from sweeps.check import preflight
    from sweeps.plan.build import build_plan

    try:
        knowledge.devices()
        plan = preflight(
            build_plan(parse_sweep(text), folder), machine=knowledge.machine, look=knowledge.look
        )
    except SpecError as error:
        return Planned(text, fault=str(error))
    except (OSError, ValueError) as error:
        return Planned(text, fault=f"no plan: {error}")
    return Planned(text, plan, estimate=expected(plan, results))


def expected(plan: Plan, results: Path) -> Estimate:
    """What the runs that can start will take, learned from this machine's recorded runs."""
    import msgspec

    from sweeps.plan.estimate import estimate
    from sweeps.store.frames import load_runs

    startable = msgspec.structs.replace(plan, runs=tuple(run for run in plan.runs if not run.refused))
    return estimate(startable, load_runs(results, published=False))


def model_folders(folder: Path | None) -> Iterator[Path]:
    """Folders with an IR: bundled, near the sweep file, near where the app was started."""
    from sweeps.models.inspect import find_models

    seen: set[Path] = set()
    for root in (paths.bundled("models"), folder, Path.cwd()):
        if root is None or not root.is_dir():
            continue
        for found in find_models(root):
            if found.resolve() not in seen:
                seen.add(found.resolve())
                yield found


def written(found: Path, folder: Path | None) -> str:
    """How a sweep file in `folder` names a model's folder."""
    bundled = paths.bundled("models")
    if found.is_relative_to(bundled):
        return f"demo:{found.relative_to(bundled).as_posix()}"
    if folder is not None and found.is_relative_to(folder):
        return found.relative_to(folder).as_posix()
    return str(found)


def summary(facts: ModelFacts) -> str:
    """What decides whether a model fits: precision, size, NPU fitness, vocabulary."""
    from sweeps.models.fitness import npu_findings

    if facts.broken or facts.ir is None:
        return "broken: " + next((f.message for f in facts.findings if f.level == "refused"), "no IR")
    ir = facts.ir
    parts = []
    if ir.i4_weights or ir.u4_weights:
        groups = ",".join("row" if size == 0 else str(size) for size in sorted(ir.group_sizes))
        parts.append(f"int4 {'asym' if ir.u4_zero_points else 'sym'} group {groups}")
    elif ir.int8_weights:
        parts.append("int8")
    else:
        parts.append("float")
    parts.append(f"{ir.parameters / 1e6:.4g} M")
    if ir.logits_width:
        parts.append(f"vocabulary {ir.logits_width}")
    worst = next((f for f in npu_findings(facts.name, ir) if f.level in ("refused", "warned")), None)
    parts.append(f"NPU: no ({worst.code.replace('_', ' ')})" if worst else "NPU: fits")
    return ", ".join(parts)


def pairing(target: ModelFacts, draft: ModelFacts) -> str:
    """Whether `draft` can be the target's draft."""
    from sweeps.models.inspect import pair

    findings = pair(target, draft).findings
    worst = next(iter(sorted(findings, key=lambda f: f.level != "refused")), None)
    if worst is None:
        return f"a pair with {target.name}"
    return f"{'no pair' if worst.level == 'refused' else 'doubtful pair'} with {target.name}: {worst.message}"


def model_facts(content: Mapping[str, Any], folder: Path, knowledge: Knowledge) -> dict[str, str]:
    """Summary of each model of a document that is there, by its name in the document."""
    models = content.get("models")
    found = {}
    for name in models if isinstance(models, Mapping) else ():
        facts = _facts_by_name(content, folder, knowledge, name)
        if facts is not None:
            found[str(name)] = summary(facts)
    return found


def _facts_by_name(
    content: Mapping[str, Any], folder: Path, knowledge: Knowledge, name: str
) -> ModelFacts | None:
    from sweeps.spec.resolve import UnresolvedError, model_folder

    value = content.get("models", {}).get(name)
    if not isinstance(value, str):
        return None
    try:
        return knowledge.look(model_folder(value, folder))
    except UnresolvedError:
        return None


def first_target(content: Mapping[str, Any], path: PlacePath) -> str:
    """The first target of the grid that `path` is in; empty without one."""
    grids = content.get("grid")
    index = path[1] if len(path) > 1 else None
    if not isinstance(grids, list) or not isinstance(index, int) or index >= len(grids):
        return ""
    target = grids[index].get("target", "") if isinstance(grids[index], Mapping) else ""
    return str(target[0] if isinstance(target, list) and target else target)


def pair_by_name(
    content: Mapping[str, Any], folder: Path, knowledge: Knowledge, target: str, draft: str
) -> str:
    """`pairing` of two models of a document; empty when one of them is not known."""
    first = _facts_by_name(content, folder, knowledge, target)
    second = _facts_by_name(content, folder, knowledge, draft)
    return pairing(first, second) if first is not None and second is not None else ""


def start(file: Path, results: Path, only: tuple[str, ...] = ()) -> Path:
    """Start a sweep file on its own; returns its results folder. Waits until the supervisor lives.

    Raises:
        NotStarted: The supervisor ended at once (another sweep is running, say).
        SpecError: The file is not a sweep.
        OSError: The results folder cannot be written.
    """
    from explorer.cli.running import with_needs
    from explorer.cli.sweeps_in import load_plan
    from sweeps.supervise.detach import start_detached
    from sweeps.supervise.prepare import prepare

    plan, text = load_plan(file)
    chosen = sorted(with_needs(plan, only)) if only else None
    results.mkdir(parents=True, exist_ok=True)
    folder = prepare(results, plan, text)
    start_detached(folder, only=chosen)
    return folder.path
