"""Workers that die: what is kept, what the row says, and that the rest goes on in a fresh process."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from sweeps.events.types import AnyEvent, PhaseBegan, RepDone, RunStarted
from sweeps.plan.model import Run
from sweeps.supervise.failures import classify
from sweeps.supervise.probe import device_answers
from sweeps.supervise.supervisor import devices_of
from tests.e2e.traps import kit, stand_in

pytestmark = pytest.mark.models

TWO = {"fib": kit.PROMPT["fib"], "stack": "class Stack:\n    def __init__(self):\n"}


class Killer:
    """Sends a signal to the worker in the middle of the decode of a prompt's second counted rep, once."""

    def __init__(self, number: int) -> None:
        self._signal = number
        self._pid = 0
        self.sent = False

    def __call__(self, event: AnyEvent) -> None:
        if isinstance(event, RunStarted):
            self._pid = event.pid
        elif isinstance(event, PhaseBegan) and (event.phase, event.rep) == ("decode", 1) and not self.sent:
            os.kill(self._pid, self._signal)
            self.sent = True


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("name", "failure"), [("SIGSEGV", "native_crash"), ("SIGABRT", "native_crash"), ("SIGKILL", "killed")]
)
def test_a_worker_killed_in_mid_decode(tmp_path: Path, name: str, failure: str) -> None:
    run = kit.plain("PA")
    killer = Killer(getattr(signal, name))
    measured = kit.measure(tmp_path, run, prompts=TWO, reps=2, budget=800, on_event=killer)
    assert killer.sent
    first, second = measured.ended(run)
    assert (first.status, first.failure, first.exit_name) == ("failed", failure, name)
    assert (first.phase, first.prompt, first.done) == ("decode", "fib", 1)
    assert second.status == "ok"
    row = measured.row(run, "fib")
    assert (row["status"], row["failure"], row["reps"]) == ("failed", failure, 1)
    assert row["reason"].endswith("(1 of 2 reps kept)")
    # What was kept is measured well, and one rep has no spread.
    assert row["tok_s"] > 0 and row["tokens"] == 800
    assert row["tok_s_sd"] is None
    other = measured.row(run, "stack")
    assert (other["status"], other["reps"]) == ("ok", 2)
    assert {rep.attempt for rep in measured.reps(run, "stack")} == {2}


@pytest.mark.skipif(sys.platform == "win32", reason="a status of its own there")
def test_a_streamer_that_returns_a_bool_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.use(monkeypatch, "bool")
    run = kit.cb()
    (ended,) = kit.measure(tmp_path, run).ended(run)
    assert (ended.failure, ended.exit_name) == ("native_crash", "SIGABRT")
    assert ended.phase in ("first_token", "decode")
    assert "terminate called" in "\n".join(ended.tail)


@pytest.mark.parametrize(
    ("run", "phase", "sign"),
    [
        (kit.plain("PA", properties={"cache_size": 100_000}), "construct", "larger than available memory"),
        (kit.plain("PA", properties={"num_kv_blocks": 1}), "first_token", "available cache budget"),
        (kit.cb(properties={"num_kv_blocks": 2}), "first_token", "available cache budget"),
    ],
    ids=["cache_size", "num_kv_blocks", "num_kv_blocks of a pair"],
)
def test_out_of_memory(tmp_path: Path, run: Run, phase: str, sign: str) -> None:
    measured = kit.measure(tmp_path, run, budget=128)
    (ended,) = measured.ended(run)
    assert (ended.status, ended.failure, ended.phase) == ("failed", "out_of_memory", phase)
    assert sign in measured.row(run)["reason"]


@pytest.mark.parametrize(
    ("run", "failure"),
    [
        (kit.stateful(), "prompt_too_long"),
        # Room for the short prompts alone; the exception comes out of a speculative generate().
        (kit.cb(properties={"num_kv_blocks": 16}), "out_of_memory"),
    ],
    ids=["prompt too long for the NPU side", "prompt too long for the cache"],
)
def test_a_pipeline_that_raised_is_not_used_again(tmp_path: Path, run: Run, failure: str) -> None:
    prompts = {"fib": kit.PROMPT["fib"], "long": kit.TOO_LONG, "stack": TWO["stack"]}
    measured = kit.measure(tmp_path, run, prompts=prompts)
    first, second = measured.ended(run)
    assert (first.status, first.failure, first.prompt) == ("failed", failure, "long")
    assert second.status == "ok"
    rows = [measured.row(run, prompt) for prompt in prompts]
    assert [row["status"] for row in rows] == ["ok", "failed", "ok"]
    assert rows[1]["failure"] == failure and rows[1]["tok_s"] is None
    # After an exception the same pipeline may go on without drafts: this one is new, and does draft.
    (rep,) = measured.reps(run, "stack")
    assert (rep.attempt, rep.call) == (2, 0)
    assert rows[2]["proposals"] > 0


@pytest.mark.parametrize("alive", [True, False])
def test_a_lost_device_is_asked_before_its_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    stand_in.use(monkeypatch, "device-lost")
    asked: list[str] = []

    def answers(device: str) -> bool:
        asked.append(device)
        return alive or device != "NPU"

    lost, other = kit.stateful(3), kit.stateful(2)
    on_cpu = kit.plain("SDPA", target=kit.SMALL)
    measured = kit.measure(tmp_path, lost, other, on_cpu, reps=2, budget=8, answers=answers)
    (ended,) = measured.ended(lost)
    assert (ended.status, ended.failure, ended.done) == ("failed", "device_lost", 1)
    assert "NPU" in asked
    row = measured.row(lost)
    assert (row["failure"], row["reps"]) == ("device_lost", 1)
    assert row["reason"].endswith("(1 of 2 reps kept)")
    if alive:
        assert [event.failure for event in measured.ended(other)] == ["device_lost"]
    else:
        assert measured.of(RunStarted, other) == []
        assert measured.row(other)["status"] == "skipped"
        assert "NPU does not answer" in measured.row(other)["reason"]
    assert [event.status for event in measured.ended(on_cpu)] == ["ok"]
    assert len(measured.of(RepDone, on_cpu)) == 2


def test_a_virtual_device_depends_on_its_members() -> None:
    assert devices_of(kit.make_run("speculative", "HETERO:GPU.0,NPU", "CPU")) == {
        "HETERO:GPU.0,NPU",
        "GPU.0",
        "NPU",
        "CPU",
    }
    assert devices_of(kit.plain()) == {"CPU"}


def test_the_probe_asks_the_device_itself() -> None:
    assert device_answers("CPU")
    assert not device_answers("GPU.9")


def test_a_crash_is_not_explained_by_what_was_printed_before() -> None:
    warned = "warning: openvino_model.xml does not exist in the cache, compiling"
    assert classify(1, "construct", warned).name == "missing_file"
    assert classify(-11, "construct", warned).name == "native_crash"
    assert classify(-6, "decode", "std::bad_alloc").name == "out_of_memory"
    assert classify(-11, "decode", "ZE_RESULT_ERROR_DEVICE_LOST").name == "device_lost"
    uncaught = f"{warned}\nterminate called after throwing an 'ov::Exception'\n  what():  Failed to compile"
    assert classify(-6, "construct", uncaught).name == "compile_failed"
    error = "RuntimeError: Unsupported property X by CPU plugin"
    for code in (1, -11):
        assert classify(code, "construct", f"{warned}\n{error}", error=error).name == "bad_property"
