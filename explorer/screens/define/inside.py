"""The helper process of Define: opens models, asks OpenVINO for devices, makes plans, starts sweeps.

It is a process of its own because a damaged model or a driver can abort or freeze the process that opens
it, and because native code that holds Python's lock would freeze the app with it. Requests come on
standard input, answers go to standard output, and the end of input is the end of the process.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from explorer.screens.define.wire import Found, Reply, Request
from sweeps import paths
from sweeps.spec.load import parse_sweep
from sweeps.spec.resolve import UnresolvedError, model_folder

if TYPE_CHECKING:
    from sweeps.check.case import Machine
    from sweeps.models.inspect import ModelFacts
    from sweeps.plan.estimate import Estimate
    from sweeps.plan.model import Plan


class Knowledge:
    """What is found out once: the machine, and the facts of a model folder until it changes."""

    def __init__(self) -> None:
        self._machine: Machine | None = None
        self._facts: dict[tuple[str, int], ModelFacts] = {}

    def machine(self) -> Machine:
        """This machine; imports OpenVINO."""
        if self._machine is None:
            from sweeps.check.machine import this_machine

            self._machine = this_machine()
        return self._machine

    def look(self, folder: Path) -> ModelFacts:
        """`inspect`, once for each state of a folder."""
        from sweeps.models.inspect import inspect

        xml = folder / "openvino_model.xml"
        key = (str(folder), xml.stat().st_mtime_ns if xml.is_file() else 0)
        if key not in self._facts:
            self._facts[key] = inspect(folder)
        return self._facts[key]


def answer(request: Request, knowledge: Knowledge) -> Reply:
    """Carry a request out. What the person can put right comes back as the reply's fault."""
    folder = Path(request.folder)
    try:
        if request.do == "look":
            return look(tomllib.loads(request.text), folder, knowledge)
        if request.do == "plan":
            return plan(request.text, folder, Path(request.results), knowledge)
        if request.do == "models":
            found = [Found(written(f, folder), summary(knowledge.look(f))) for f in model_folders(folder)]
            return Reply(models=found)
        return Reply(started=str(start(Path(request.file), Path(request.results), request.only)))
    except Exception as error:  # The app says it where the result would stand.
        return Reply(fault=f"{error}" or type(error).__name__)


def plan(text: str, folder: Path, results: Path, knowledge: Knowledge) -> Reply:
    """The checked plan of a text without faults, with its expected time."""
    from sweeps.check import preflight
    from sweeps.plan.build import build_plan

    made = build_plan(parse_sweep(text), folder)
    checked = preflight(made, machine=knowledge.machine(), look=knowledge.look)
    return Reply(plan=checked, estimate=expected(checked, results))


def expected(plan: Plan, results: Path) -> Estimate:
    """What the runs that can start will take, learned from this machine's recorded runs."""
    from sweeps.plan.estimate import estimate
    from sweeps.store.frames import load_runs

    startable = msgspec.structs.replace(plan, runs=tuple(run for run in plan.runs if not run.refused))
    return estimate(startable, load_runs(results, published=False))


def look(content: Mapping[str, Any], folder: Path, knowledge: Knowledge) -> Reply:
    """Facts of each model of a document that is there, every target with every draft, and the devices."""
    facts = dict(_models(content, folder, knowledge))
    grids = [grid for grid in content.get("grid", []) if isinstance(grid, Mapping)]
    targets = {name for grid in grids for name in _names(grid.get("target"))}
    pairs = {
        target: {draft: pairing(facts[target], facts[draft]) for draft in facts if draft != target}
        for target in sorted(targets & facts.keys())
    }
    about = {name: summary(found) for name, found in facts.items()}
    return Reply(facts=about, pairs=pairs, devices=list(knowledge.machine().devices))


def _models(
    content: Mapping[str, Any], folder: Path, knowledge: Knowledge
) -> Iterator[tuple[str, ModelFacts]]:
    models = content.get("models")
    for name, value in models.items() if isinstance(models, Mapping) else ():
        try:
            if isinstance(value, str):
                yield name, knowledge.look(model_folder(value, folder))
        except UnresolvedError:
            continue


def _names(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(v) for v in value] if isinstance(value, list) else []


def model_folders(folder: Path) -> Iterator[Path]:
    """Folders with an IR: bundled, near the sweep file, near where the app was started."""
    from sweeps.models.inspect import find_models

    seen: set[Path] = set()
    for root in (paths.bundled("models"), folder, Path.cwd()):
        for found in find_models(root) if root.is_dir() else ():
            if found.resolve() not in seen:
                seen.add(found.resolve())
                yield found


def written(found: Path, folder: Path) -> str:
    """How a sweep file in `folder` names a model's folder."""
    bundled = paths.bundled("models")
    if found.is_relative_to(bundled):
        return f"demo:{found.relative_to(bundled).as_posix()}"
    return found.relative_to(folder).as_posix() if found.is_relative_to(folder) else str(found)


def summary(facts: ModelFacts) -> str:
    """What decides whether a model fits: precision, size, NPU fitness, vocabulary."""
    from sweeps.models.fitness import npu_findings

    if facts.broken or facts.ir is None:
        return "broken: " + next((f.message for f in facts.findings if f.level == "refused"), "no IR")
    ir = facts.ir
    if ir.i4_weights or ir.u4_weights:
        groups = ",".join("row" if size == 0 else str(size) for size in sorted(ir.group_sizes))
        parts = [f"int4 {'asym' if ir.u4_zero_points else 'sym'} g{groups}"]
    else:
        parts = ["int8" if ir.int8_weights else "float"]
    parts.append(f"{ir.parameters / 1e6:.4g} M")
    worst = next((f for f in npu_findings(facts.name, ir) if f.level in ("refused", "warned")), None)
    parts.append(f"NPU: no ({worst.code.replace('_', ' ')})" if worst else "NPU: fits")
    if ir.logits_width:
        parts.append(f"vocab {ir.logits_width}")
    return ", ".join(parts)


def pairing(target: ModelFacts, draft: ModelFacts) -> str:
    """Whether `draft` can be the target's draft."""
    from sweeps.models.inspect import pair

    findings = sorted(pair(target, draft).findings, key=lambda finding: finding.level != "refused")
    if not findings:
        return f"a pair with {target.name}"
    worst = findings[0]
    return f"{'no pair' if worst.level == 'refused' else 'doubtful'} with {target.name}: {worst.message}"


def start(file: Path, results: Path, only: list[str]) -> Path:
    """Start a sweep file on its own; returns its results folder. Waits until the supervisor lives.

    Raises:
        Problem: The file is not a sweep, or another sweep is running.
        NotStarted: The supervisor ended at once (another sweep is running, say).
        OSError: The results folder cannot be written.
    """
    from explorer.cli.running import prepared, with_needs
    from explorer.cli.sweeps_in import load_plan
    from sweeps.supervise.detach import start_detached

    plan, text = load_plan(file)
    chosen = sorted(with_needs(plan, only)) if only else None
    results.mkdir(parents=True, exist_ok=True)
    folder = prepared(results, plan, text)
    start_detached(folder, only=chosen)
    return folder.path


def main() -> None:
    """Answer until the app closes our input."""
    knowledge = Knowledge()
    decode, encode = msgspec.json.Decoder(Request).decode, msgspec.json.encode
    # Nothing else may write to the answers' stream, whatever a library prints.
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    for line in sys.stdin.buffer:
        out.write(encode(answer(decode(line), knowledge)) + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
