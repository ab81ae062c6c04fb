"""`python -m sweeps.worker JOB.json`: one run, one process."""

from __future__ import annotations

import os
import sys
import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from sweeps.events.types import (
    Constructed,
    LoopTimes,
    Phase,
    PhaseBegan,
    PromptEncoded,
    VerifyWidths,
    WorkerError,
)
from sweeps.worker.channel import Channel
from sweeps.worker.job import Job, Todo

ORPHANED = 75


def _die_with_parent() -> None:
    """End when the parent closes our standard input, which the system also does when it dies."""
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(ORPHANED)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


class Worker:
    """Walks through a job and announces each phase before it begins."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.channel = Channel(job.events)
        self.phase: Phase = "import"
        self.prompt = ""
        self.rep = 0

    def begin(self, phase: Phase) -> None:
        self.phase = phase
        self.channel.send(PhaseBegan(run=self.job.run, phase=phase, prompt=self.prompt, rep=self.rep))

    def run(self) -> int:
        """Exit code: 0, or 1 after an exception. A process that raised is not used again: after an
        exception the continuous-batching engine goes on with correct text and no drafts."""
        try:
            if self.job.kind == "agreement":
                self._agreement()
            else:
                self._measure()
        except Exception as error:  # everything that the native library raises must become an event
            text = f"{type(error).__name__}: {error}".strip()
            self.channel.send(
                WorkerError(run=self.job.run, phase=self.phase, error=text, prompt=self.prompt, rep=self.rep)
            )
            print(text, file=sys.stderr, flush=True)
            return 1
        return 0

    def _measure(self) -> None:
        from sweeps.worker.measure import Measurer
        from sweeps.worker.pipeline import build, configure, encode_with

        genai, import_s = self._import()
        self.begin("construct")
        start = perf_counter()
        pipeline = build(genai, self.job)
        self._constructed(perf_counter() - start, import_s)
        config = configure(pipeline, self.job)
        sides = [(Measurer(genai, pipeline, config, self.channel, self.job), pipeline.get_tokenizer())]
        beside = self.job.beside
        if beside is not None:
            self.begin("construct")
            other = build(genai, beside)
            config = configure(other, beside)
            measurer = Measurer(genai, other, config, self.channel, beside, beside=True)
            sides.append((measurer, other.get_tokenizer()))
        for todo in self.job.todo:
            self.prompt, self.rep = todo.prompt, 0
            self.begin("read")
            inputs = [encode_with(tokenizer, todo.text) for _, tokenizer in sides]
            tokens = int(inputs[0].input_ids.shape[1])
            self.channel.send(PromptEncoded(run=self.job.run, prompt=todo.prompt, tokens=tokens))
            self._reps(list(zip((side for side, _ in sides), inputs, strict=True)), todo)
        self.begin("idle")

    def _reps(self, sides: list[tuple[Any, Any]], todo: Todo) -> None:
        """Sides in turn; which is first alternates, so that a drift that goes on cancels."""
        self.phase = "first_token"
        for number in range(todo.warmup):
            self.rep = number
            for measurer, inputs in sides:
                measurer.rep(todo.prompt, inputs, number, warmup=True)
        for number in todo.reps:
            self.rep = number
            for measurer, inputs in sides if number % 2 else sides[::-1]:
                measurer.rep(todo.prompt, inputs, number, warmup=False)

    def _agreement(self) -> None:
        """Strings in the first pass, times in every pass of an interleaved sweep."""
        genai, import_s = self._import()
        unscored = [todo for todo in self.job.todo if 0 in todo.reps]
        if unscored:
            self._score(genai, unscored, import_s)
        if self.job.todo and "NPU" not in (self.job.target_device, self.job.draft_device):
            self.begin("construct")
            self._time(genai, self.job.todo[0].prompt, min(self.job.todo[0].reps))
        self.begin("idle")

    def _score(self, genai: Any, todos: list[Todo], import_s: float) -> None:
        from sweeps.worker.agreement import Scorer

        self.begin("construct")
        start = perf_counter()
        scorer = Scorer(genai, self.job)
        self._constructed(perf_counter() - start, import_s)
        for todo in todos:
            self.prompt = todo.prompt
            self.begin("decode")
            self.channel.send(scorer.score(todo))

    def _time(self, genai: Any, prompt: str, rep: int) -> None:
        """What is scored is scored: a model that the probe cannot load costs the probe alone. An empty
        reading says so, and that this pass has been here."""
        from sweeps.worker.loop import LoopTimer, no_times
        from sweeps.worker.widths import WidthTimer, no_widths

        def alive() -> None:
            self.begin("decode")

        alone = self.job.draft_dir in (None, self.job.target_dir)
        event: VerifyWidths | LoopTimes
        try:
            if alone:
                event = WidthTimer(genai, self.job).time(self.job.todo[0], rep, alive)
            else:
                event = LoopTimer(genai, self.job).time(self.job.todo, rep, alive)
        except Exception as error:  # whatever the native library raises
            print(f"no probe times: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            event = (no_widths if alone else no_times)(self.job.run, prompt, rep)
        self.channel.send(event)

    def _import(self) -> tuple[Any, float]:
        self.begin("import")
        start = perf_counter()
        import openvino_genai

        return openvino_genai, perf_counter() - start

    def _constructed(self, construct_s: float, import_s: float) -> None:
        self.channel.send(
            Constructed(
                run=self.job.run,
                construct_s=construct_s,
                import_s=import_s,
                openvino=_version("openvino"),
                genai=_version("openvino-genai"),
                tokenizers=_version("openvino-tokenizers"),
            )
        )


def main() -> int:
    job = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    return Worker(job).run()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Native teardown can crash after all is measured and sent: that is no failure of the run.
    os._exit(code)
