"""The export recipe: what is asked of the exporter, what is refused, and one real export."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from explorer.cli.commands.export import command
from explorer.cli.errors import Problem
from sweeps.models import export as exporting
from sweeps.models.export import ExportError, arguments, export, missing, recipe_for
from sweeps.models.tokenizer import CORPUS
from tests.unit.tiny_models import copy_demo


def after(line: Sequence[str], option: str) -> str:
    return line[line.index(option) + 1]


def test_the_npu_recipe() -> None:
    line = arguments(recipe_for(npu=True), "Qwen/Qwen3-0.6B", Path("out"))
    assert line[:5] == [sys.executable, "-m", "optimum.commands.optimum_cli", "export", "openvino"]
    assert after(line, "--model") == "Qwen/Qwen3-0.6B"
    assert after(line, "--weight-format") == "int4"
    assert "--sym" in line
    assert after(line, "--group-size") == "128"
    assert after(line, "--ratio") == "1.0"
    assert after(line, "--group-size-fallback") == "error", "a smaller group could not be unpacked on an NPU"
    assert line[-1] == "out"


def test_the_recipe_for_other_devices() -> None:
    line = arguments(recipe_for(), "m", Path("out"))
    assert "--sym" not in line and after(line, "--group-size-fallback") == "adjust"
    assert "--sym" in arguments(recipe_for(symmetric=True), "m", Path("out"))
    assert "--group-size" not in arguments(recipe_for(weight_format="int8"), "m", Path("out"))


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"npu": True, "weight_format": "int8"}, "needs int4"),
        ({"npu": True, "symmetric": False}, "needs symmetric"),
        ({"npu": True, "group_size": 32}, "multiples of 64"),
        ({"group_size": 0}, "positive"),
        ({"weight_format": "fp16", "group_size": 64}, "belongs to int4"),
    ],
)
def test_recipes_that_are_refused(asked: dict[str, Any], why: str) -> None:
    with pytest.raises(ExportError, match=why):
        recipe_for(**asked)


@pytest.mark.parametrize("size", [64, 128, 192, -1])
def test_group_sizes_that_an_npu_takes(size: int) -> None:
    assert recipe_for(npu=True, group_size=size).group_size == size


def never(command: Sequence[str]) -> int:
    raise AssertionError(f"must not be started: {command}")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra was installed."""
    monkeypatch.setattr(exporting, "missing", list)


@pytest.mark.usefixtures("complete")
def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ExportError, match="nothing is overwritten"):
        export("m", tmp_path / "out", recipe_for(), never)
    assert (tmp_path / "out" / "mine.txt").read_text(encoding="utf-8") == "mine"
    with pytest.raises(ExportError, match="nothing is overwritten"):
        export("m", tmp_path / "out" / "mine.txt", recipe_for(), never)


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("empty_there", [False, True])
def test_a_folder_is_there_only_after_success(tmp_path: Path, status: int, empty_there: bool) -> None:
    out = tmp_path / "deep" / "out"
    if empty_there:
        out.mkdir(parents=True)

    def run(line: Sequence[str]) -> int:
        Path(line[-1]).mkdir()
        (Path(line[-1]) / "openvino_model.xml").write_text("half", encoding="utf-8")
        return status

    if status == 0:
        export("m", out, recipe_for(), run)
        assert (out / "openvino_model.xml").is_file()
    else:
        with pytest.raises(ExportError, match="status 1"):
            export("m", out, recipe_for(), run)
        assert not out.exists() or not any(out.iterdir())
    assert [path.name for path in out.parent.iterdir() if path != out] == []


def test_a_missing_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "NEEDED", ("optimum_that_is_not_there.intel", "sys"))
    assert missing() == ["optimum_that_is_not_there.intel"]
    with pytest.raises(Problem) as error:
        CliRunner().invoke(command, ["m", str(tmp_path / "out"), "--npu"], catch_exceptions=False)
    assert error.value.exit_code == 1
    assert 'pip install "specdec-explorer[export]"' in str(error.value)
    assert "https://download.pytorch.org/whl/cpu" in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("complete")
def test_the_result_is_inspected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(line: Sequence[str]) -> int:
        copy_demo("draft-s", Path(line[-1]))
        return 0

    monkeypatch.setattr(exporting, "run_visibly", run)
    result = CliRunner().invoke(command, ["m", str(tmp_path / "out"), "--npu"])
    assert result.exit_code == 0
    assert "14 i4, 0 u4" in result.stdout and "NPU: fit" in result.stdout
    assert "int4, symmetric, groups of 128" in result.stderr


def test_a_wrong_recipe_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="multiples of 64") as error:
        CliRunner().invoke(
            command, ["m", str(tmp_path / "out"), "--npu", "--group-size", "32"], catch_exceptions=False
        )
    assert error.value.exit_code == 2


@pytest.mark.export
@pytest.mark.skipif(bool(missing()), reason="the export extra is not installed")
@pytest.mark.parametrize("npu", [True, False])
def test_a_real_export_of_a_tiny_random_model(tmp_path: Path, npu: bool) -> None:
    from sweeps.models.inspect import inspect, row

    checkpoint = tmp_path / "checkpoint"
    _random_checkpoint(checkpoint)
    export(str(checkpoint), tmp_path / "out", recipe_for(npu=npu, group_size=64))
    found = row(inspect(tmp_path / "out"))
    matrices = 2 * 7
    assert (found["i4_weights"], found["u4_zero_points"]) == ((matrices, 0) if npu else (0, matrices))
    assert found["npu_fit"] is npu
    assert found["group_sizes"] == {"64": matrices}
    assert found["tokenizer_hash"] is not None


def _random_checkpoint(folder: Path) -> None:
    """Two layers of the demo models' architecture with random weights, and a byte-level BPE of its own."""
    # By name: type checkers run without the extra.
    transformers: Any = importlib.import_module("transformers")
    tokenizers: Any = importlib.import_module("tokenizers")
    bpe = tokenizers.ByteLevelBPETokenizer()
    bpe.train_from_iterator(CORPUS, vocab_size=512, special_tokens=["<|endoftext|>"])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )
    fast.save_pretrained(folder)
    settings = transformers.Qwen3Config(
        vocab_size=512,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        max_position_embeddings=256,
        tie_word_embeddings=True,
    )
    transformers.Qwen3ForCausalLM(settings).save_pretrained(folder)
