"""What an agreement run does in each pass: strings once, times every time; failing times cost nothing else.

The engine and the two timers are stand-ins here; the real ones run in tests/e2e.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from sweeps.events.types import Agreement, AnyEvent, LoopTimes, VerifyWidths
from sweeps.worker import agreement, loop, widths
from sweeps.worker.__main__ import Worker
from sweeps.worker.job import Job, Todo


class Scorer:
    def __init__(self, genai: Any, job: Job) -> None:
        self.job = job

    def score(self, todo: Todo) -> Agreement:
        return Agreement(run=self.job.run, prompt=todo.prompt, bits="1", token_ids=todo.token_ids)


class Timer:
    """Either of the two; one `broken` raises as native code does."""

    def __init__(self, genai: Any, job: Job) -> None:
        if job.draft_properties.get("broken"):
            raise RuntimeError("Exception from src/inference: no such device")
        self.job = job

    def time(self, todo: Todo | list[Todo], rep: int, alive: Callable[[], None]) -> VerifyWidths | LoopTimes:
        alive()
        if isinstance(todo, Todo):
            return msgspec.structs.replace(widths.no_widths(self.job.run, todo.prompt, rep), ms={"1": [1.0]})
        return msgspec.structs.replace(loop.no_times(self.job.run, todo[0].prompt, rep), back_ms=[1.0])


def events(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rep: int, draft: str = "/d", **changes: Any
) -> list[AnyEvent]:
    monkeypatch.setattr(Worker, "_import", lambda self: (None, 0.0))
    monkeypatch.setattr(agreement, "Scorer", Scorer)
    monkeypatch.setattr(loop, "LoopTimer", Timer)
    monkeypatch.setattr(widths, "WidthTimer", Timer)
    file = tmp_path / "events.jsonl"
    job = Job(
        run="r",
        attempt=1,
        kind="agreement",
        target_dir="/t",
        target_device="CPU",
        target_properties={},
        todo=[Todo(name, "text", 1, [rep], [7]) for name in ("a", "b")],
        events=str(file),
        draft_dir=draft,
        draft_device="CPU",
    )
    assert Worker(msgspec.structs.replace(job, **changes)).run() == 0
    decoder = msgspec.json.Decoder(AnyEvent)
    found = [decoder.decode(line) for line in file.read_bytes().splitlines()]
    return [event for event in found if isinstance(event, Agreement | VerifyWidths | LoopTimes)]


@pytest.mark.parametrize(("draft", "kind"), [("/d", LoopTimes), ("/t", VerifyWidths)])
def test_the_first_pass_scores_and_times(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, draft: str, kind: type
) -> None:
    *strings, times = events(monkeypatch, tmp_path, 0, draft)
    assert [event.prompt for event in strings if isinstance(event, Agreement)] == ["a", "b"]
    assert isinstance(times, kind)
    assert getattr(times, "rep", None) == 0


@pytest.mark.parametrize(("draft", "kind"), [("/d", LoopTimes), ("/t", VerifyWidths)])
def test_a_later_pass_only_times(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, draft: str, kind: type
) -> None:
    (times,) = events(monkeypatch, tmp_path, 3, draft)
    assert isinstance(times, kind)
    assert getattr(times, "rep", None) == 3


@pytest.mark.parametrize("draft", ["/d", "/t"])
@pytest.mark.parametrize("rep", [0, 3])
def test_a_probe_that_fails_costs_itself_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], draft: str, rep: int
) -> None:
    *strings, times = events(monkeypatch, tmp_path, rep, draft, draft_properties={"broken": True})
    assert len(strings) == (0 if rep else 2)
    if isinstance(times, LoopTimes):
        assert (times.rep, times.back_ms, times.verify_ms) == (rep, [], {})
    else:
        assert isinstance(times, VerifyWidths)
        assert (times.rep, times.ms) == (rep, {})
    assert "no probe times: RuntimeError" in capfd.readouterr().err


Side = Literal["target_device", "draft_device"]


@pytest.mark.parametrize("side", ["target_device", "draft_device"])
def test_nothing_is_timed_for_an_npu_whose_pipeline_is_another_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, side: Side
) -> None:
    found = events(monkeypatch, tmp_path, 0, **{side: "NPU"})
    assert [type(event) for event in found] == [Agreement, Agreement]
