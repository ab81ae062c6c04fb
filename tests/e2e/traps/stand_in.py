"""Workers that do one thing wrong: `python -m tests.e2e.traps.stand_in MODE JOB`.

Everything else about them is the real worker.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sweeps.worker import stream

if TYPE_CHECKING:
    import pytest


def _replace_write(answer: Callable[[Any, int], Any]) -> None:
    """Let the streamer's `write` note its burst and return `answer(genai, bursts so far)`."""
    make = stream.make_streamer

    def make_strange(genai: Any, *arguments: Any) -> Any:
        streamer = make(genai, *arguments)
        write = streamer.write

        def strange(token: int | list[int]) -> Any:
            write(token)
            return answer(genai, len(streamer.bursts))

        # pybind11 looks the override up on the object itself.
        streamer.write = strange
        return streamer

    stream.make_streamer = make_strange  # type: ignore[assignment]


def returns_bool() -> None:
    """What a streamer written for another release does."""
    _replace_write(lambda genai, bursts: False)


def stops() -> None:
    """STOP after the fifth burst."""
    status = {True: "STOP", False: "RUNNING"}
    _replace_write(lambda genai, bursts: getattr(genai.StreamingStatus, status[bursts >= 5]))


def loses_the_npu() -> None:
    """The NPU is lost in the second counted rep of a run that has one."""
    from sweeps.worker.measure import Measurer

    rep = Measurer.rep

    def lost(self: Measurer, prompt: str, inputs: Any, number: int, warmup: bool) -> None:
        if number == 1 and "NPU" in (self._job.target_device, self._job.draft_device):
            raise RuntimeError("zeFenceHostSynchronize: ZE_RESULT_ERROR_DEVICE_LOST, code 0x70000001")
        rep(self, prompt, inputs, number, warmup)

    Measurer.rep = lost  # type: ignore[method-assign]


MODES = {"bool": returns_bool, "stop": stops, "device-lost": loses_the_npu}


def use(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Let the supervisor start this module in place of the worker."""
    from sweeps.supervise import process

    command = process.python_command

    def instead(module: str, *arguments: str) -> list[str]:
        if module != "sweeps.worker":
            return command(module, *arguments)
        return command("tests.e2e.traps.stand_in", mode, *arguments)

    monkeypatch.setattr(process, "python_command", instead)


if __name__ == "__main__":
    MODES[sys.argv.pop(1)]()
    runpy.run_module("sweeps.worker", run_name="__main__", alter_sys=True)
