"""Does a device still answer? Asked in a process of its own: a lost NPU can hang or crash whoever asks."""

from __future__ import annotations

import subprocess

from sweeps.supervise.process import apart_from_terminal, child_environment, python_command


def device_answers(device: str, timeout_s: float = 60.0) -> bool:
    """Whether a small model compiles and runs on the device within the time."""
    try:
        done = subprocess.run(
            python_command("sweeps.supervise.probe", device),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
            timeout=timeout_s,
            check=False,
            **apart_from_terminal(),
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _probe(device: str) -> None:
    import numpy as np
    import openvino as ov
    from openvino import opset13 as ops

    value = ops.parameter([1, 8], np.float32, name="x")
    model = ov.Model([ops.add(value, ops.constant(np.ones((1, 8), np.float32)))], [value], "probe")
    ov.Core().compile_model(model, device)([np.zeros((1, 8), np.float32)])


if __name__ == "__main__":
    import sys

    _probe(sys.argv[1])
