"""The import graph: one direction, no cycle, and a worker that loads next to nothing."""

from __future__ import annotations

import graphlib
import subprocess
import sys

import grimp
import pytest


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("sweeps", "explorer", exclude_type_checking_imports=True, cache_dir=None)


def test_no_module_imports_itself_by_a_detour(graph: grimp.ImportGraph) -> None:
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as cycle:
        pytest.fail(" -> ".join(cycle.args[1]))


def test_the_engine_does_not_know_the_app(graph: grimp.ImportGraph) -> None:
    for module in graph.modules:
        if module.split(".")[0] == "sweeps":
            known = graph.find_modules_directly_imported_by(module)
            assert not {name for name in known if name.startswith("explorer")}, module


def loaded(code: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter has after running `code`."""
    listing = "; import sys; print(' '.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code + listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_worker_loads_next_to_nothing() -> None:
    names = loaded("import sweeps.worker.__main__, sweeps.worker.measure, sweeps.worker.pipeline")
    assert not names & {"polars", "numpy", "psutil", "click", "textual", "openvino", "platformdirs"}


def test_help_and_first_paint_wait_for_nothing_heavy() -> None:
    names = loaded("import explorer.cli, explorer.cli.options")
    assert not names & {"polars", "numpy", "textual", "openvino", "openvino_genai"}
    names = loaded("import explorer.launch, explorer.app")
    assert not names & {"polars", "openvino", "openvino_genai", "textual_plot"}


def test_openvino_reports_nothing_from_our_processes() -> None:
    """Its telemetry forks the measuring process from a thread: it must not even be imported."""
    code = "import sweeps, sys, openvino; assert sys.modules['openvino_telemetry'] is None"
    assert "openvino" in loaded(code)
