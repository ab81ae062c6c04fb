"""`specdec inspect`: damaged folders, wrong pairs, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from explorer.cli.commands.inspect import command
from explorer.cli.errors import Problem
from sweeps.models.inspect import ModelFacts, find_models, inspect, pair, row
from sweeps.models.tokenizer import Encoder
from tests.unit.tiny_models import (
    DEMO,
    copy_demo,
    cut,
    point_to_lfs,
    swap_two_tokens,
    widen_logits,
    with_ir,
)

NAMES = (
    "openvino_model.xml",
    "openvino_model.bin",
    "openvino_tokenizer.xml",
    "openvino_tokenizer.bin",
    "openvino_detokenizer.xml",
    "openvino_detokenizer.bin",
)


def refused(facts: ModelFacts) -> list[str]:
    return [finding.code for finding in facts.findings if finding.level == "refused"]


def never(folder: Path) -> Encoder:
    raise AssertionError(f"the library must not be shown the damaged tokenizer of {folder}")


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    (folder / name).unlink()
    facts = inspect(folder)
    assert refused(facts) == ["missing_file"]
    assert f"m/{name}" in facts.findings[0].message and facts.findings[0].remedy


@pytest.mark.parametrize("name", NAMES)
def test_a_git_lfs_pointer(tmp_path: Path, name: str) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    point_to_lfs(folder / name)
    facts = inspect(folder, never if "token" in name else _load)
    assert refused(facts) == ["lfs_pointer"]
    assert name in facts.findings[0].message and "git lfs pull" in facts.findings[0].remedy


@pytest.mark.parametrize("name", NAMES[1::2])
def test_weights_that_end_too_early(tmp_path: Path, name: str) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    cut(folder / name)
    facts = inspect(folder, never if "token" in name else _load)
    assert refused(facts) == ["truncated_weights"]
    assert name in facts.findings[0].message


@pytest.mark.parametrize("name", NAMES[::2])
def test_an_xml_that_ends_too_early(tmp_path: Path, name: str) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    cut(folder / name, 100)
    assert refused(inspect(folder, never if "token" in name else _load)) == ["broken_ir"]


def _load(folder: Path) -> Encoder:
    from sweeps.models.tokenizer import load

    return load(folder)


def test_a_wrong_tokenizer_of_equal_length(tmp_path: Path) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    one, other = swap_two_tokens(folder)
    whole, swapped = inspect(DEMO / "target"), inspect(folder)
    assert not swapped.findings, "nothing is wrong with the folder itself"
    assert whole.tokenizer is not None and swapped.tokenizer is not None
    assert whole.tokenizer.tokens == swapped.tokenizer.tokens
    found = pair(whole, swapped)
    assert found.same_tokenizer is False
    assert [(f.level, f.code) for f in found.findings] == [("refused", "tokenizers_differ")]
    ids = [
        _load(path).encode((one + other).decode()).input_ids.data.tolist()
        for path in (folder, DEMO / "target")
    ]
    assert ids[0] != ids[1] and len(ids[0]) == len(ids[1]), "the library's own check sees nothing here"


def test_the_demo_models_are_pairs() -> None:
    target = inspect(DEMO / "target")
    for name in ("draft-m", "draft-s"):
        found = pair(target, inspect(DEMO / name))
        assert (found.same_tokenizer, found.same_logits_width, found.draft_smaller) == (True, True, True)
        assert not found.findings


def test_a_draft_that_is_not_smaller() -> None:
    found = pair(inspect(DEMO / "draft-s"), inspect(DEMO / "target"))
    assert found.draft_smaller is False
    assert [(f.level, f.code) for f in found.findings] == [("warned", "draft_not_smaller")]


def test_a_wider_vocabulary(tmp_path: Path) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    widen_logits(folder)
    found = pair(inspect(DEMO / "target"), inspect(folder))
    assert found.logits_widths == (8192, 8208)
    assert found.same_tokenizer is True
    assert [f.code for f in found.findings] == ["logits_widths_differ"]


def test_a_tokenizer_of_a_wider_model(tmp_path: Path) -> None:
    facts = inspect(with_ir(tmp_path / "m", "i4", width=8000))
    assert "tokenizer_wider_than_model" in [finding.code for finding in facts.findings]


def test_find_models(tmp_path: Path) -> None:
    for place in ("a", "b/c", ".hidden", "b/c/d/e/f"):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "openvino_model.xml").write_text("<net/>", encoding="utf-8")
    assert find_models(tmp_path) == [tmp_path / "a", tmp_path / "b" / "c"]
    assert find_models(tmp_path / "a") == [tmp_path / "a"]
    assert find_models(tmp_path / "nothing here") == []


def run(*arguments: str) -> tuple[int, Any]:
    result = CliRunner().invoke(command, [*arguments, "--format", "json"])
    return result.exit_code, json.loads(result.stdout)


def test_json_has_the_promised_names() -> None:
    code, (found,) = run(str(DEMO / "draft-s"))
    assert code == 0
    assert found["u4_zero_points"] == 0 and found["i4_weights"] == found["precisions"]["i4"] == 14
    assert found["npu_fit"] is True
    assert found["vocab_size"] == 8192
    assert len(found["tokenizer_hash"]) == 16
    assert found["openvino_version"].startswith("202")
    assert found["findings"] == []
    assert "pair" not in found


def test_a_target_that_only_the_npu_refuses_is_no_failure() -> None:
    code, (found,) = run(str(DEMO / "target"))
    assert code == 0
    assert found["npu_fit"] is False
    assert [(f["level"], f["code"]) for f in found["findings"]] == [("warned", "npu_group_size")]


def test_json_of_a_pair(tmp_path: Path) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    swap_two_tokens(folder)
    code, found = run(str(DEMO / "target"), str(folder))
    assert code == 1
    assert len(found) == 2
    assert found[0]["pair"] == found[1]["pair"]
    assert found[0]["pair"]["same_tokenizer"] is False
    code, found = run(str(DEMO / "target"), str(DEMO / "draft-m"))
    assert code == 0 and found[0]["pair"]["same_tokenizer"] is True


def test_json_of_a_broken_folder_is_whole(tmp_path: Path) -> None:
    folder = copy_demo("draft-s", tmp_path / "m")
    (folder / "openvino_model.xml").unlink()
    code, (found,) = run(str(folder))
    assert code == 1
    assert found["precisions"] is None and found["npu_fit"] is None
    assert set(found) == set(row(inspect(DEMO / "draft-s")))


def test_text_names_the_pair(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(DEMO / "target"), str(DEMO / "draft-s")])
    assert result.exit_code == 0
    assert "same tokenizer: yes" in result.stdout
    assert "84 i4, 0 u4, 1 int8; 0 u4 zero points" in result.stdout


@pytest.mark.parametrize("format_", ["csv", "md", "jsonl"])
def test_flat_formats_hold_both_models(format_: str) -> None:
    result = CliRunner().invoke(command, [str(DEMO / "draft-m"), str(DEMO / "draft-s"), "--format", format_])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()[-2:]
    assert "draft-m" in lines[0] and "draft-s" in lines[1]


def test_no_folder_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no such folder") as error:
        CliRunner().invoke(command, [str(tmp_path / "none")], catch_exceptions=False)
    assert error.value.exit_code == 2
