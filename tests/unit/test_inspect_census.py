"""The census tells by counts what a device will meet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeps.models import census
from sweeps.models.files import MODEL_XML
from sweeps.models.fitness import npu_findings
from tests.unit.tiny_models import DEMO, Weights, write_ir


def read(folder: Path) -> census.Census:
    return census.read(folder / MODEL_XML)


def test_symmetric_and_asymmetric_int4_are_told_apart_by_counts(tmp_path: Path) -> None:
    write_ir(tmp_path / "sym", "i4")
    write_ir(tmp_path / "asym", "u4")
    sym, asym = read(tmp_path / "sym"), read(tmp_path / "asym")
    assert (sym.i4_weights, sym.u4_weights, sym.u4_zero_points) == (3, 0, 0)
    assert (asym.i4_weights, asym.u4_weights, asym.u4_zero_points) == (0, 3, 3)
    assert asym.u4_grouped_zero_points == 3
    assert sym.precisions["i4"] == 3 and "u4" not in sym.precisions
    # 3 weights and 3 zero points are constants of one type: only their place in the graph tells them apart.
    assert asym.precisions["u4"] == 6
    assert sym.parameters == asym.parameters == 2 * 128 * 128 + 32 * 128


def test_one_scale_a_row_is_no_group(tmp_path: Path) -> None:
    write_ir(tmp_path, "u4-row")
    found = read(tmp_path)
    assert found.group_sizes == {census.PER_CHANNEL: 3}
    assert (found.u4_zero_points, found.u4_grouped_zero_points) == (3, 0)


@pytest.mark.parametrize("group", [32, 64, 128])
def test_group_sizes(tmp_path: Path, group: int) -> None:
    write_ir(tmp_path, "i4", group=group)
    assert read(tmp_path).group_sizes == {group: 3}


@pytest.mark.parametrize(("weights", "family"), [("i8", "int8"), ("f16", "float")])
def test_other_weights(tmp_path: Path, weights: Weights, family: str) -> None:
    write_ir(tmp_path, weights)
    found = read(tmp_path)
    assert found.weight_elements == {family: found.parameters}
    assert not found.group_sizes


@pytest.mark.parametrize(("name", "group"), [("target", 32), ("draft-m", 64), ("draft-s", 64)])
def test_the_demo_models(name: str, group: int) -> None:
    found = read(DEMO / name)
    settings = json.loads((DEMO / name / "config.json").read_text(encoding="utf-8"))
    layers = settings["num_hidden_layers"]
    assert found.group_sizes == {group: 7 * layers}, "seven matrices a layer"
    assert (found.i4_weights, found.u4_zero_points, found.int8_weights) == (7 * layers, 0, 1)
    assert found.logits_width == settings["vocab_size"]
    assert found.stateful and found.layers == layers
    assert found.kv_elements_per_token == 2 * layers * settings["num_key_value_heads"] * settings["head_dim"]
    assert found.bin_bytes_needed == (DEMO / name / "openvino_model.bin").stat().st_size
    assert found.recipe["mode"] == "int4_sym"
    assert (found.openvino_version or "").count(".") == 2
    # Tied embedding, attention and MLP matrices, norms: what a Qwen3 of this shape has.
    hidden, ffn, head = settings["hidden_size"], settings["intermediate_size"], settings["head_dim"]
    heads = settings["num_attention_heads"] * head
    states = settings["num_key_value_heads"] * head
    matrices = settings["vocab_size"] * hidden + layers * hidden * (2 * heads + 2 * states + 3 * ffn)
    assert matrices < found.parameters < 1.01 * matrices


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "other xml"])
def test_a_broken_xml_is_one_clear_line(tmp_path: Path, damage: str) -> None:
    write_ir(tmp_path, "i4")
    xml = tmp_path / MODEL_XML
    whole = xml.read_text(encoding="utf-8")
    damaged = {"cut": whole[: len(whole) // 2], "empty": "", "text": "Not Found", "other xml": "<a><b/></a>"}
    xml.write_text(damaged[damage], encoding="utf-8")
    with pytest.raises(census.CensusError, match=MODEL_XML) as error:
        read(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("weights", "group", "real", "emulated"),
    [
        ("i4", 64, set(), set()),
        ("i4", 128, set(), set()),
        ("i4", 32, {("refused", "npu_group_size")}, {("refused", "npu_group_size")}),
        ("u4", 64, {("refused", "npu_asymmetric_int4")}, {("noted", "npu_asymmetric_int4")}),
        ("u4-row", 64, {("warned", "npu_asymmetric_int4")}, {("noted", "npu_asymmetric_int4")}),
        ("i8", 64, {("warned", "npu_int8")}, set()),
        ("f16", 64, {("noted", "npu_float")}, {("refused", "npu_float")}),
    ],
)
def test_what_an_npu_makes_of_it(
    tmp_path: Path,
    weights: Weights,
    group: int,
    real: set[tuple[str, str]],
    emulated: set[tuple[str, str]],
) -> None:
    write_ir(tmp_path, weights, group=group)
    found = read(tmp_path)

    def codes(*, emulated: bool) -> set[tuple[str, str]]:
        findings = list(npu_findings("m", found, emulated=emulated))
        assert all("specdec export" in finding.remedy for finding in findings)
        return {(finding.level, finding.code) for finding in findings}

    assert codes(emulated=False) == real
    assert codes(emulated=True) == emulated
