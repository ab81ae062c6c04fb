"""Changes to real models that the library meets in the wild."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sweeps.models.files import MODEL_XML


def asymmetric(folder: Path) -> int:
    """Rewrite each i4 weight w of an IR as the u4 weight w + 8 with a zero point of 8 a group: the same
    model, as an asymmetric export has it. Returns how many weights there were."""
    import openvino as ov
    import openvino.opset13 as ops

    model = ov.Core().read_model(str(folder / MODEL_XML))
    count = 0
    for node in model.get_ordered_ops():
        if node.get_type_name() != "Constant" or node.get_element_type() != ov.Type.i4:
            continue
        (reader,) = node.output(0).get_target_inputs()
        convert = reader.get_node()
        shape = list(node.get_output_shape(0))
        # Two 4-bit values a byte; w + 8 is w in two's complement with its top bit flipped.
        packed = np.asarray(node.data).view(np.uint8).reshape(-1) ^ 0x88
        values = np.stack([packed & 0x0F, packed >> 4], axis=-1).reshape(-1)
        unsigned = ov.op.Constant(ov.Type.u4, ov.Shape(shape), values.tolist())
        zeros = ov.op.Constant(ov.Type.u4, ov.Shape([*shape[:-1], 1]), [8] * int(np.prod(shape[:-1])))
        kind = convert.get_output_element_type(0)
        readers = list(convert.output(0).get_target_inputs())
        value = ops.subtract(ops.convert(unsigned, kind), ops.convert(zeros, kind))
        for target in readers:
            target.replace_source_output(value.output(0))
        count += 1
    _save(model, folder)
    return count


def without_fused_attention(folder: Path) -> None:
    """Write attention out in plain operations: paged attention then finds nothing that it could replace."""
    import openvino as ov
    import openvino.opset13 as ops

    model = ov.Core().read_model(str(folder / MODEL_XML))
    for node in model.get_ordered_ops():
        if node.get_type_name() != "ScaledDotProductAttention":
            continue
        query, key, value, mask, scale = (port.get_source_output() for port in node.inputs())
        scores = ops.add(ops.multiply(ops.matmul(query, key, False, True), scale), mask)
        node.output(0).replace(ops.matmul(ops.softmax(scores, -1), value, False, False).output(0))
    _save(model, folder)


def _save(model: object, folder: Path) -> None:
    import openvino as ov

    fresh = folder / "fresh.xml"
    ov.save_model(model, str(fresh), compress_to_fp16=False)
    fresh.replace(folder / MODEL_XML)
    fresh.with_suffix(".bin").replace((folder / MODEL_XML).with_suffix(".bin"))
