"""Runs refused before they cost a compile: through sweep file, plan and preflight, on real folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from explorer.cli.commands.check import command
from sweeps.check import Machine, preflight
from sweeps.models.inspect import ModelFacts, inspect
from sweeps.paths import presets
from sweeps.plan.build import build_plan, plan_file
from sweeps.plan.model import Finding, Plan, Run
from sweeps.spec.load import load_sweep
from tests.unit.tiny_models import (
    DEMO,
    copy_demo,
    cut,
    point_to_lfs,
    swap_two_tokens,
    widen_logits,
    with_ir,
)

GB = 10**9
LAPTOP = Machine(
    devices=("CPU", "GPU", "NPU"),
    properties={"CPU": frozenset({"CPU_DENORMALS_OPTIMIZATION"})},
    memory_total=32 * GB,
    memory_available=24 * GB,
    device_memory={},
    openvino_version="2026.4.1",
    tokenizers_version="2026.4.1.0",
)
EMULATED = '[devices.NPU]\nNPU_USE_NPUW = "YES"\nNPUW_DEVICES = "CPU"\nNPUW_ONLINE_PIPELINE = "NONE"\n'


def plan_of(
    folder: Path,
    *,
    target: str = "demo:target",
    draft: str = "demo:draft-s",
    target_device: str = "CPU",
    draft_device: str = "CPU",
    nat: int = 3,
    prompt: str = "def f(x):",
    devices: str = "",
) -> Plan:
    """A plan of one pair; TOML literals keep Windows paths as they are."""
    (folder / "prompt.txt").write_text(prompt, encoding="utf-8")
    path = folder / "s.toml"
    path.write_text(
        f"name = 's'\n[models]\nt = '{target}'\nd = '{draft}'\n"
        f"[prompts]\np = {{ file = 'prompt.txt' }}\n{devices}"
        f"[[grid]]\nkind = 'speculative'\ntarget = 't'\ntarget_device = '{target_device}'\n"
        f"draft = 'd'\ndraft_device = '{draft_device}'\nnum_assistant_tokens = {nat}\n",
        encoding="utf-8",
    )
    return build_plan(load_sweep(path), folder)


def pair_run(plan: Plan) -> Run:
    return next(run for run in plan.runs if run.config.kind == "speculative")


@cache
def demo(folder: Path) -> ModelFacts:
    return inspect(folder)


def look(folder: Path) -> ModelFacts:
    """Nobody damages the demo models: they are read once for all tests."""
    return demo(folder) if DEMO in folder.parents else inspect(folder)


def findings(plan: Plan, machine: Machine = LAPTOP) -> dict[str, Finding]:
    checked = preflight(plan, machine=machine, look=look)
    return {finding.code: finding for finding in pair_run(checked).findings}


def levels(plan: Plan, machine: Machine = LAPTOP) -> dict[str, str]:
    return {code: finding.level for code, finding in findings(plan, machine).items()}


@pytest.mark.parametrize("name", ["demo", "nat-scan", "prompt-lookup"])
def test_presets_on_the_demo_models_have_no_findings(name: str) -> None:
    plan = preflight(plan_file(presets() / f"{name}.toml"), machine=LAPTOP)
    assert [(run.id, finding) for run in plan.runs for finding in run.findings] == []


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda folder: (folder / "openvino_tokenizer.bin").unlink(), "missing_file"),
        (lambda folder: cut(folder / "openvino_model.bin"), "truncated_weights"),
        (lambda folder: point_to_lfs(folder / "openvino_model.bin"), "lfs_pointer"),
        (lambda folder: point_to_lfs(folder / "openvino_tokenizer.xml"), "lfs_pointer"),
        (swap_two_tokens, "tokenizers_differ"),
    ],
)
@pytest.mark.parametrize("side", ["target", "draft"])
def test_damaged_folders_are_refused_on_both_sides(
    tmp_path: Path, damage: Callable[[Path], Any], code: str, side: str
) -> None:
    folder = copy_demo("draft-s", tmp_path / "damaged")
    damage(folder)
    other = {"target": "draft-m", "draft": "target"}[side]
    sides = {"target": f"demo:{other}", "draft": f"demo:{other}", side: str(folder)}
    found = findings(plan_of(tmp_path, **sides))  # type: ignore[arg-type]  # only the two strings
    assert found[code].level == "refused"
    assert "\n" not in found[code].message and found[code].remedy


def test_a_draft_does_without_its_detokenizer_a_target_does_not(tmp_path: Path) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    (folder / "openvino_detokenizer.xml").unlink()
    assert levels(plan_of(tmp_path, draft=str(folder))) == {"missing_file": "noted"}
    assert levels(plan_of(tmp_path, target=str(folder)))["missing_file"] == "refused"


def test_a_wider_vocabulary_is_refused_on_the_stateful_path_only(tmp_path: Path) -> None:
    folder = copy_demo("draft-s", tmp_path / "wide")
    widen_logits(folder)
    assert levels(plan_of(tmp_path, draft=str(folder))) == {"logits_widths_differ": "warned"}
    npu = plan_of(tmp_path, draft=str(folder), draft_device="NPU", devices=EMULATED)
    assert levels(npu)["logits_widths_differ"] == "refused"


def test_u4_zero_points_are_refused_on_a_real_npu_with_the_command_that_helps(tmp_path: Path) -> None:
    folder = with_ir(tmp_path / "asym", "u4")
    real = findings(plan_of(tmp_path, draft=str(folder), draft_device="NPU"))["npu_asymmetric_int4"]
    assert real.level == "refused" and "specdec export" in real.remedy and "--npu" in real.remedy
    assert "npu_asymmetric_int4" not in levels(plan_of(tmp_path, draft=str(folder), draft_device="CPU"))
    emulated = plan_of(tmp_path, draft=str(folder), draft_device="NPU", devices=EMULATED)
    assert levels(emulated)["npu_asymmetric_int4"] == "noted"


def test_groups_of_32_on_the_npu_path(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, draft="demo:draft-s", target_device="NPU", devices=EMULATED)
    assert levels(plan) == {"npu_group_size": "refused"}


def test_an_emulated_npu_needs_no_npu(tmp_path: Path) -> None:
    desktop = Machine(("CPU",), {}, 32 * GB, 24 * GB, {}, "2026.4.1", "2026.4.1.0")
    assert levels(plan_of(tmp_path, draft_device="NPU", devices=EMULATED), desktop) == {}
    real = findings(plan_of(tmp_path, draft_device="NPU"), desktop)["device_unavailable"]
    assert real.level == "refused"
    assert "available: CPU" in real.message and "NPUW_DEVICES" in real.remedy
    gpu = plan_of(tmp_path, draft_device="NPU", devices=EMULATED.replace('S = "CPU"', 'S = "GPU"'))
    assert levels(gpu, desktop) == {"device_unavailable": "refused"}


def test_a_property_on_the_wrong_side(tmp_path: Path) -> None:
    found = findings(plan_of(tmp_path, draft_device="NPU", devices="[devices.CPU]\nMAX_PROMPT_LEN = 2048\n"))
    assert found["property_wrong_side"].level == "refused"
    assert "target on CPU" in found["property_wrong_side"].message
    assert (
        levels(plan_of(tmp_path, draft_device="NPU", devices="[devices.NPU]\nMAX_PROMPT_LEN = 2048\n")) == {}
    )


def test_prompts_are_counted_in_tokens(tmp_path: Path) -> None:
    line = "    x = x + 1\n"
    fits, long = plan_of(tmp_path, prompt=line * 100), plan_of(tmp_path, prompt=line * 200)
    assert levels(fits) == levels(long) == {}, "a CPU takes both"

    def on_npu(lines: int, more: str = "") -> dict[str, Finding]:
        return findings(plan_of(tmp_path, prompt=line * lines, draft_device="NPU", devices=EMULATED + more))

    assert on_npu(100) == {}
    refused = on_npu(200)["prompt_too_long"]
    assert refused.level == "refused" and "1024" in refused.message
    room = int(refused.remedy.split("MAX_PROMPT_LEN = ")[1].split()[0])
    assert on_npu(200, f"MAX_PROMPT_LEN = {room}\n") == {}, "the remedy helps"


def test_an_answer_that_the_npu_has_no_room_for(tmp_path: Path) -> None:
    more = "MAX_PROMPT_LEN = 64\nMIN_RESPONSE_LEN = 64\n"
    plan = plan_of(tmp_path, draft_device="NPU", devices=EMULATED + more)
    found = findings(plan)["npu_context_full"]
    assert found.level == "refused"
    remedy = found.remedy.split(" under")[0].removeprefix("set ")
    helped = plan_of(tmp_path, draft_device="NPU", devices=f"{EMULATED}MAX_PROMPT_LEN = 64\n{remedy}\n")
    assert levels(helped) == {}
    alone = next(r for r in preflight(plan, machine=LAPTOP).runs if r.path == "npu")
    assert [(f.level, f.code) for f in alone.findings] == [("warned", "npu_context_full")]


def test_a_context_beyond_the_model(tmp_path: Path) -> None:
    line = "    x = x + 1\n"
    assert levels(plan_of(tmp_path, prompt=line * 247)) == {"context_beyond_model": "warned"}
    assert levels(plan_of(tmp_path, prompt=line * 400)) == {"prompt_beyond_model": "refused"}


@pytest.mark.parametrize(
    ("default", "nat", "refused"), [(None, 7, False), (None, 8, True), (9, 11, False), (1, 4, True)]
)
def test_the_verify_window_of_an_npu_target(
    tmp_path: Path, default: int | None, nat: int, refused: bool
) -> None:
    folder = copy_demo("draft-s", tmp_path / "t")
    if default is not None:
        (folder / "generation_config.json").write_text(
            json.dumps({"num_assistant_tokens": default}), encoding="utf-8"
        )
    plan = plan_of(tmp_path, target=str(folder), target_device="NPU", nat=nat, devices=EMULATED)
    assert ("nat_beyond_window" in findings(plan)) is refused
    on_cpu = plan_of(tmp_path, target=str(folder), nat=nat)
    assert "nat_beyond_window" not in findings(on_cpu)


def test_releases_newer_than_the_installed_one(tmp_path: Path) -> None:
    old = Machine(("CPU",), {}, 32 * GB, 24 * GB, {}, "2026.1.0", "2026.1.0.0")
    assert levels(plan_of(tmp_path), old) == {"ir_newer": "warned", "tokenizer_newer": "warned"}


@pytest.mark.parametrize(
    ("total", "free", "expected"),
    [
        (8 * GB, 4 * GB, {}),
        (8 * GB, GB // 4, {"memory_available": "warned"}),
        (GB // 4, GB // 4, {"memory_total": "refused"}),
    ],
)
def test_memory(tmp_path: Path, total: int, free: int, expected: dict[str, str]) -> None:
    machine = Machine(("CPU",), {}, total, free, {}, "2026.4.1", "2026.4.1.0")
    assert levels(plan_of(tmp_path), machine) == expected


def test_in_pairs_the_target_is_loaded_twice(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    paired = msgspec.structs.replace(plan, protocol=msgspec.structs.replace(plan.protocol, order="paired"))

    def needed(of: Plan) -> float:
        machine = Machine(("CPU",), {}, 1, 1, {}, "2026.4.1", "2026.4.1.0")
        return float(findings(of, machine)["memory_total"].message.split("at least ")[1].split()[0])

    assert needed(paired) > needed(plan)


def test_a_card_with_memory_of_its_own(tmp_path: Path) -> None:
    machine = Machine(("CPU", "GPU"), {}, 8 * GB, 4 * GB, {"GPU": 10**6}, "2026.4.1", "2026.4.1.0")
    found = findings(plan_of(tmp_path, draft_device="GPU.0"), machine)
    assert set(found) == {"memory_total"} and "GPU has" in found["memory_total"].message


def test_each_folder_is_read_once(tmp_path: Path) -> None:
    seen: list[Path] = []

    def watched(folder: Path) -> ModelFacts:
        seen.append(folder)
        return look(folder)

    preflight(plan_file(presets() / "demo.toml"), machine=LAPTOP, look=watched)
    assert sorted(seen) == sorted({DEMO / name for name in ("target", "draft-m", "draft-s")})


def check(path: Path, format_: str = "json") -> Any:
    return CliRunner().invoke(command, [str(path), "--format", format_])


def test_check_lists_one_object_a_run(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    result = check(tmp_path / "s.toml")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["run"] for row in rows] == [run.id for run in plan.runs]
    speculative = next(row for row in rows if row["kind"] == "speculative")
    assert speculative["draft_device"] == "CPU" and speculative["num_assistant_tokens"] == 3
    assert speculative["findings"] == [] and speculative["added"] is False
    assert any(row["added"] for row in rows)


def test_check_exits_1_when_a_run_is_refused(tmp_path: Path) -> None:
    plan_of(tmp_path, target_device="NPU", devices=EMULATED)
    result = check(tmp_path / "s.toml")
    assert result.exit_code == 1
    found = [finding for row in json.loads(result.stdout) for finding in row["findings"]]
    assert {"level", "code", "message", "remedy"} == set(found[0])
    text = check(tmp_path / "s.toml", "text")
    assert text.exit_code == 1 and "REFUSED" in text.stdout and "npu_group_size" in text.stdout


def test_check_lists_dropped_points(tmp_path: Path) -> None:
    plan_of(tmp_path)
    path = tmp_path / "s.toml"
    more = "assistant_confidence_threshold = 0.4\n"
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    rows = json.loads(check(path).stdout)
    dropped = [row for row in rows if row["dropped"]]
    assert len(dropped) == 1 and dropped[0]["run"] is None
    assert "grid[0]" in dropped[0]["findings"][0]["message"]


def test_a_lower_case_device_is_wrong_input(tmp_path: Path) -> None:
    from explorer.cli.errors import Problem
    from sweeps.spec.errors import SpecError

    with pytest.raises(SpecError, match="CPU"):
        plan_of(tmp_path, draft_device="cpu")
    with pytest.raises(Problem, match="say CPU") as error:
        CliRunner().invoke(command, [str(tmp_path / "s.toml")], catch_exceptions=False)
    assert error.value.exit_code == 2
