"""Model folders for tests: tiny IRs built in this process, and damaged copies of the demo models."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sweeps.models.files import MODEL_XML
from sweeps.paths import bundled

Weights = Literal["i4", "u4", "u4-row", "i8", "f16"]
DEMO = bundled("models")


def write_ir(
    folder: Path, weights: Weights, *, width: int = 32, group: int = 64, groups: int = 2, count: int = 3
) -> None:
    """An IR with `count` weight matrices of `width` rows, held as exporters hold them.

    `u4` has a zero point a group, `u4-row` one scale and one zero point a row.
    """
    import openvino as ov
    import openvino.opset13 as ops

    hidden = group * groups
    ids = ops.parameter([-1, -1, hidden], ov.Type.f32, name="input_ids")
    ids.output(0).set_names({"input_ids"})
    state: Any = ids
    for number in range(count):
        last = number == count - 1
        weight = _weight(weights, width if last else hidden, group, groups)
        state = ops.matmul(state, weight, False, True)
    state.output(0).set_names({"logits"})
    folder.mkdir(parents=True, exist_ok=True)
    ov.save_model(ov.Model([state], [ids], "tiny"), str(folder / MODEL_XML), compress_to_fp16=False)


def _weight(weights: Weights, rows: int, group: int, groups: int) -> Any:
    import openvino as ov
    import openvino.opset13 as ops

    if weights == "f16":
        half = ops.constant(np.ones((rows, group * groups), dtype=np.float16))
        return ops.convert(half, "f32")
    by_row = weights in ("i8", "u4-row")
    shape = [rows, group * groups] if by_row else [rows, groups, group]
    scale = [rows, 1] if by_row else [rows, groups, 1]
    kind = weights.removesuffix("-row")
    value: Any = ops.convert(_low_bits(ov, kind, shape, 3), "f16")
    if kind == "u4":
        value = ops.subtract(value, ops.convert(_low_bits(ov, "u4", scale, 7), "f16"))
    value = ops.multiply(value, ops.constant(np.full(scale, 0.5, dtype=np.float16)))
    if not by_row:
        value = ops.reshape(value, ops.constant(np.array([rows, group * groups], dtype=np.int64)), False)
    return ops.convert(value, "f32")


def _low_bits(ov: Any, kind: str, shape: list[int], value: int) -> Any:
    # Distinct constants, or saving would fold equal ones into one.
    elements = int(np.prod(shape))
    return ov.op.Constant(getattr(ov.Type, kind), ov.Shape(shape), [value] * elements)


def copy_demo(name: str, folder: Path) -> Path:
    """A copy of a demo model that a test may damage."""
    shutil.copytree(DEMO / name, folder)
    return folder


def with_ir(folder: Path, weights: Weights, **shape: int) -> Path:
    """The demo tokenizer beside a tiny IR of the same vocabulary: a whole folder that never compiles."""
    copy_demo("draft-s", folder)
    write_ir(folder, weights, **{"width": 8192, **shape})
    return folder


def point_to_lfs(path: Path) -> None:
    """Put a Git LFS pointer in the place of a file, as a clone without LFS does."""
    size = path.stat().st_size
    path.write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {size}\n",
        encoding="utf-8",
        newline="\n",
    )


def cut(path: Path, bytes_off: int = 1) -> None:
    """End a file too early, as a broken download does."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - bytes_off])


def swap_two_tokens(folder: Path) -> tuple[bytes, bytes]:
    """Give two common tokens of equal length each other's ids: same counts, another vocabulary."""
    import openvino_genai

    vocabulary = openvino_genai.Tokenizer(str(folder)).get_vocab()
    words = [token for token, _ in sorted(vocabulary.items(), key=lambda item: item[1])]
    one, other = b" return", b" import"
    for name in ("openvino_tokenizer.bin", "openvino_detokenizer.bin"):
        path = folder / name
        data = bytearray(path.read_bytes())
        packed = data.find(b"".join(words))  # the vocabulary lies packed in the order of its ids
        assert packed >= 0, f"no packed vocabulary in {name}"
        for token, replacement in ((one, other), (other, one)):
            at = packed + sum(map(len, words[: vocabulary[token]]))
            assert data[at : at + len(token)] == token
            data[at : at + len(token)] = replacement
        path.write_bytes(bytes(data))
    return one, other


def widen_logits(folder: Path, extra: int = 16) -> None:
    """Pad the vocabulary that a model scores, as exporters of other families do."""
    import openvino as ov
    import openvino.opset13 as ops

    xml = folder / MODEL_XML
    model = ov.Core().read_model(str(xml))
    result = model.get_results()[0]
    logits = result.input(0).get_source_output()
    logits.set_names({"narrow"})
    wide = ops.pad(logits, [0, 0, 0], [0, 0, extra], "constant", np.float32(-1e4))
    wide.output(0).set_names({"logits"})
    result.input(0).replace_source_output(wide.output(0))
    fresh = folder / "wide.xml"
    ov.save_model(model, str(fresh), compress_to_fp16=False)
    del model, result, logits, wide  # Windows keeps a mapped .bin from being replaced
    fresh.replace(xml)
    fresh.with_suffix(".bin").replace(xml.with_suffix(".bin"))
