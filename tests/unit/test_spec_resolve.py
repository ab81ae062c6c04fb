"""Folders of models and texts of prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeps import paths
from sweeps.spec.model import PromptFile
from sweeps.spec.resolve import UnresolvedError, model_folder, prompt_text, text_hash


def test_a_model_is_relative_to_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    assert model_folder("m", tmp_path) == tmp_path / "m"
    assert model_folder(str(tmp_path / "m"), Path("/elsewhere")) == tmp_path / "m"


def test_bundled_models_and_prompts_by_name() -> None:
    assert model_folder("demo:target", Path("x")) == paths.bundled("models") / "target"
    text = (paths.bundled("prompts") / "short.txt").read_text(encoding="utf-8")
    assert prompt_text(PromptFile("demo:short"), Path("x")) == text


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("demo:taget", "did you mean demo:target?"),
        ("demo:../../sweeps", "bundled: "),
        ("demo:", "bundled: "),
        ("demo:training", "no bundled model"),
        ("none", "no such folder"),
        ("a\0b", "no such folder"),
        ("x" * 5000, "no such folder"),
        ("~nobody-of-that-name/x", "no such"),
        ("file", "is a file"),
    ],
)
def test_models_that_are_not_there(tmp_path: Path, value: str, part: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UnresolvedError) as caught:
        model_folder(value, tmp_path)
    assert part in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_prompt_has_lf_line_ends_and_no_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes("\ufeffa\r\nb\rc\n".encode())
    assert prompt_text(PromptFile("p.txt"), tmp_path) == "a\nb\nc\n"
    assert prompt_text("a\r\nb", tmp_path) == "a\nb"


@pytest.mark.parametrize(
    ("content", "part"),
    [(b"", "is empty"), (b"\xe4", "UTF-8"), (b"x" * (5 << 20), "4 MiB"), (None, "is a folder")],
)
def test_prompt_files_that_are_no_prompt(tmp_path: Path, content: bytes | None, part: str) -> None:
    if content is None:
        (tmp_path / "p.txt").mkdir()
    else:
        (tmp_path / "p.txt").write_bytes(content)
    with pytest.raises(UnresolvedError, match=part):
        prompt_text(PromptFile("p.txt"), tmp_path)


def test_a_text_s_hash_is_the_same_everywhere() -> None:
    assert text_hash("What is 2 + 2?") == "70d64d9df0"
