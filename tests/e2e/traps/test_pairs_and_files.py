"""Pairs that do not fit, properties on the wrong side and broken folders: what the preflight says of them,
and what the library makes of them in a real worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.check import preflight
from sweeps.events.types import Constructed, RunStarted
from sweeps.plan.model import Run
from tests.e2e.engine import specdec
from tests.e2e.traps import kit
from tests.e2e.traps.damage import asymmetric
from tests.unit.tiny_models import copy_demo, cut, point_to_lfs, swap_two_tokens, widen_logits

pytestmark = pytest.mark.models


def test_a_wrong_tokenizer_of_equal_length_passes_the_library_and_is_refused_here(tmp_path: Path) -> None:
    swapped = copy_demo("draft-s", tmp_path / "swapped")
    swap_two_tokens(swapped)
    run = kit.cb(draft=swapped)
    (found,) = kit.findings(run)
    assert found["tokenizers_differ"].level == "refused"
    measured = kit.measure(tmp_path, run)
    assert [event.status for event in measured.ended(run)] == ["ok"]
    assert measured.row(run)["proposals"] > 0


def test_sixteen_more_in_the_vocabulary_on_both_paths(tmp_path: Path) -> None:
    wide = copy_demo("draft-s", tmp_path / "wide")
    widen_logits(wide, 16)
    on_cb, on_stateful = kit.cb(draft=wide), kit.stateful(draft=wide)
    warned, refused = kit.findings(on_cb, on_stateful)
    assert warned["logits_widths_differ"].level == "warned"
    assert refused["logits_widths_differ"].level == "refused"
    measured = kit.measure(tmp_path, on_cb, on_stateful)
    assert [event.status for event in measured.ended(on_cb)] == ["ok"]
    (ended,) = measured.ended(on_stateful)
    assert (ended.status, ended.failure, ended.phase) == ("failed", "bad_pair", "first_token")
    assert "Vocab sizes should be the same" in measured.row(on_stateful)["reason"]


def test_a_preflight_warning_stands_in_the_row(tmp_path: Path) -> None:
    wide = copy_demo("draft-s", tmp_path / "wide")
    widen_logits(wide, 16)
    plan = preflight(kit.make_plan([kit.cb(draft=wide)]))
    row = kit.supervise(tmp_path, plan).row(plan.runs[0])
    assert row["status"] == "ok"
    assert "8208" in row["notes"] and "8192" in row["notes"]


@pytest.mark.parametrize(
    ("run", "sign"),
    [
        (kit.stateful(properties={"MAX_PROMPT_LEN": 2048}), "MAX_PROMPT_LEN"),
        (kit.stateful(properties={"scheduler_config": "x"}), "scheduler_config"),
    ],
    ids=["MAX_PROMPT_LEN on the CPU", "scheduler_config beside an NPU"],
)
def test_a_property_on_the_wrong_side(tmp_path: Path, run: Run, sign: str) -> None:
    (found,) = kit.findings(run)
    refused = [finding for finding in found.values() if finding.level == "refused"]
    assert any(sign in finding.message for finding in refused)
    measured = kit.measure(tmp_path, run)
    (ended,) = measured.ended(run)
    assert (ended.failure, ended.phase) == ("bad_property", "construct")
    assert f"Unsupported property {sign} by CPU plugin" in ended.reason


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda folder: (folder / "openvino_tokenizer.xml").unlink(), "missing_file"),
        (lambda folder: (folder / "openvino_model.bin").unlink(), "missing_file"),
        (lambda folder: cut(folder / "openvino_model.bin", 100_000), "truncated_weights"),
        (lambda folder: point_to_lfs(folder / "openvino_model.bin"), "lfs_pointer"),
        (lambda folder: point_to_lfs(folder / "openvino_model.xml"), "lfs_pointer"),
    ],
    ids=["no tokenizer", "no weights", "truncated weights", "pointer for weights", "pointer for the IR"],
)
def test_broken_files(tmp_path: Path, damage: Callable[[Path], Any], code: str) -> None:
    folder = copy_demo("draft-m", tmp_path / "broken")
    damage(folder)
    run = kit.plain("PA", target=folder)
    (found,) = kit.findings(run)
    assert found[code].level == "refused"
    (ended,) = kit.measure(tmp_path, run).ended(run)
    assert ended.status == "failed"
    assert ended.failure == "missing_file", ended.reason


def test_u4_zero_points_are_refused_for_an_npu_before_a_process_is_started(tmp_path: Path) -> None:
    folder = copy_demo("draft-s", tmp_path / "asymmetric")
    changed = asymmetric(folder)
    assert changed > 0
    on_npu = kit.make_run(
        "speculative", "CPU", "NPU", draft=folder, nat=3, draft_properties={"NPUW_DEVICES": "NPU"}
    )
    plan = preflight(kit.make_plan([on_npu]))
    measured = kit.supervise(tmp_path, plan)
    (run,) = plan.runs
    refusal = next(finding for finding in run.findings if finding.code == "npu_asymmetric_int4")
    assert refusal.level == "refused" and f"{changed} grouped u4 zero points" in refusal.message
    assert "specdec export" in refusal.remedy
    assert measured.of(RunStarted, run) == []
    (ended,) = measured.ended(run)
    assert (ended.status, measured.row(run)["status"]) == ("refused", "refused")


def test_the_same_weights_with_zero_points_are_told_apart_by_counts(
    tmp_path: Path,
) -> None:
    folder = copy_demo("draft-s", tmp_path / "asymmetric")
    changed = asymmetric(folder)
    symmetric, other = json.loads(specdec("inspect", str(kit.SMALL), str(folder), "--format", "json").stdout)
    assert (symmetric["u4_zero_points"], other["u4_zero_points"]) == (0, changed)
    assert (symmetric["i4_weights"], other["i4_weights"]) == (changed, 0)
    assert (symmetric["npu_fit"], other["npu_fit"]) == (True, False)
    before, after = kit.cb(), kit.cb(draft=folder)
    measured = kit.measure(tmp_path, before, after)
    assert measured.of(Constructed, after)
    # The same numbers in another type: as good a draft, up to what the kernels round differently.
    assert measured.row(before)["accepted"] > 0
    assert measured.row(after)["accepted"] == pytest.approx(measured.row(before)["accepted"], abs=4)
