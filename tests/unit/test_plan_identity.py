"""Run ids: the same on every machine, different for whatever changes a measurement."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sweeps.plan import content
from sweeps.plan.content import BLOCK, BLOCKS, content_hash, offsets
from sweeps.plan.identity import run_id
from sweeps.plan.model import Config
from sweeps.spec.model import Limits, Protocol

CONFIG = Config(
    kind="speculative",
    target="big",
    target_device="GPU",
    draft="small",
    draft_device="NPU",
    num_assistant_tokens=3,
)
SIDES: dict[str, Any] = {
    "target_hash": "aa",
    "draft_hash": "bb",
    "target_properties": {"KV_CACHE_PRECISION": "u8", "N": 1},
    "draft_properties": {"NPUW_DEVICES": "CPU"},
}


def test_an_id_is_the_same_on_every_machine_and_python() -> None:
    assert run_id(CONFIG, Protocol(), **SIDES) == "d34241a897"


def test_names_warm_up_reps_order_and_limits_are_not_in_it() -> None:
    same = run_id(CONFIG, Protocol(), **SIDES)
    other = Protocol(warmup=0, reps=9, order="interleaved", cooldown_s=5.0, limits_s=Limits(stall=1.0))
    assert run_id(CONFIG, other, **SIDES) == same
    assert run_id(msgspec.structs.replace(CONFIG, target="x", draft="y"), Protocol(), **SIDES) == same
    turned = {**SIDES, "target_properties": {"N": 1, "KV_CACHE_PRECISION": "u8"}}
    assert run_id(CONFIG, Protocol(), **turned) == same


def test_everything_that_changes_a_measurement_is_in_it() -> None:
    ids = [run_id(CONFIG, Protocol(), **SIDES)]
    configs: list[dict[str, Any]] = [
        {"kind": "agreement"},
        {"target_device": "CPU"},
        {"draft_device": "CPU"},
        {"num_assistant_tokens": 5},
        {"num_assistant_tokens": None, "assistant_confidence_threshold": 0.3},
        {"max_ngram_size": 3},
        {"branching_factor": 2},
        {"tree_depth": 2},
    ]
    ids += [run_id(msgspec.structs.replace(CONFIG, **change), Protocol(), **SIDES) for change in configs]
    protocols = Protocol(max_new_tokens=64), Protocol(ignore_eos=False), Protocol(prefix_caching=True)
    ids += [run_id(CONFIG, protocol, **SIDES) for protocol in protocols]
    sides: list[dict[str, Any]] = [
        {"target_hash": "cc"},
        {"draft_hash": "cc"},
        {"target_properties": {}},
        {"target_properties": {"KV_CACHE_PRECISION": "u8", "N": "1"}},
        {"target_properties": {"KV_CACHE_PRECISION": "u8", "N": True}},
        {"draft_properties": {}},
    ]
    ids += [run_id(CONFIG, Protocol(), **{**SIDES, **change}) for change in sides]
    assert len(set(ids)) == len(ids)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECDEC_STATE", str(tmp_path / "state"))
    folder = tmp_path / "model"
    folder.mkdir()
    for name in (
        "openvino_model.xml",
        "openvino_model.bin",
        "openvino_tokenizer.xml",
        "openvino_tokenizer.bin",
    ):
        write(folder / name, f"content of {name}".encode())
    return folder


def write(file: Path, data: bytes, seconds: int = 1_700_000_000) -> None:
    """A file with an old time stamp, as a model's files have."""
    file.write_bytes(data)
    os.utime(file, (seconds, seconds))


def test_a_model_s_hash_is_the_same_on_every_machine(model: Path) -> None:
    assert content_hash(model) == "c11d3abe12c4ec82"


def test_a_copy_under_another_name_is_the_same_model(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in model.iterdir():
        write(copy / file.name, file.read_bytes(), 1_600_000_000)
    assert content_hash(copy) == content_hash(str(model))


@pytest.mark.parametrize(
    "name",
    [
        "openvino_model.xml",
        "openvino_model.bin",
        "openvino_tokenizer.bin",
        "openvino_detokenizer.xml",
        "generation_config.json",
    ],
)
def test_a_changed_or_new_file_is_another_model(model: Path, name: str) -> None:
    before = content_hash(model)
    write(model / name, b"other", 1_700_000_001)
    assert content_hash(model) != before


def test_an_empty_or_absent_folder_has_a_hash_too(tmp_path: Path, model: Path) -> None:
    assert content_hash(tmp_path / "none") == content_hash(tmp_path) != content_hash(model)


def test_large_weights_are_read_in_blocks_from_first_to_last_byte() -> None:
    assert offsets(0) == []
    assert offsets(BLOCK * BLOCKS)[-1] == BLOCK * (BLOCKS - 1)
    size = 50 * 10**9 + 7
    starts = offsets(size)
    assert (len(starts), starts[0], starts[-1]) == (BLOCKS, 0, size - BLOCK)
    gaps = {after - before for before, after in itertools.pairwise(starts)}
    assert max(gaps) - min(gaps) <= 1


def test_the_last_byte_of_large_weights_counts(model: Path) -> None:
    """A sparse file: the size costs nothing, and only the last byte differs."""
    weights = model / "openvino_model.bin"
    hashes = []
    for last in (b"a", b"b"):
        with weights.open("wb") as file:
            file.seek(BLOCK * BLOCKS * 2)
            file.write(last)
        hashes.append(content_hash(model))
    assert hashes[0] != hashes[1]


def test_an_unchanged_file_is_not_read_again(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = content_hash(model)

    def fail(path: Path, size: int) -> str:
        raise AssertionError(path)

    monkeypatch.setattr(content, "_digest", fail)
    assert content_hash(model) == first


def test_a_file_of_this_moment_is_not_remembered(model: Path, tmp_path: Path) -> None:
    (model / "config.json").write_text("{}", encoding="utf-8")
    content_hash(model)
    assert "config.json" not in (tmp_path / "state" / "hashes.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "junk",
    [b"", b"\xff", b"[]", b"null", b'{"x": 1}', b'{"x": [1, 2]}', b'{"x": ["a", 1, "b"]}', b"[" * 100_000],
)
def test_a_broken_cache_is_an_empty_one(model: Path, tmp_path: Path, junk: bytes) -> None:
    first = content_hash(model)
    (tmp_path / "state" / "hashes.json").write_bytes(junk)
    assert content_hash(model) == first
    assert content_hash(model) == first


def test_a_state_folder_that_cannot_be_written_costs_nothing(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = content_hash(model)
    (model / "blocked").write_text("a file where a folder would be", encoding="utf-8")
    monkeypatch.setenv("SPECDEC_STATE", str(model / "blocked"))
    assert content_hash(model) == first
