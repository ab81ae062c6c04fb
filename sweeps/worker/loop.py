"""The loop without speculating: a draft timed right after a pass of its target, as it works in every round.

A draft alone finds its weights in the caches and steps by one token each time. In the loop the target's pass
has thrown them out, as the draft's steps throw out the target's: both belong to every round and neither shows
in the rate of a model alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np

from sweeps.events.types import LoopTimes
from sweeps.worker.agreement import Reader
from sweeps.worker.job import Job, Todo
from sweeps.worker.pipeline import encode_with

PROPOSALS: Final = (1, 3, 8)
TURNS: Final = 16
"""Rounds of each number of proposals in one reading."""
READINGS: Final = 3
"""At most so many, one a prompt: a second's noise is the largest part of what a small draft is told by."""
ENOUGH_S: Final = 3.0
"""No reading is begun after so long: of large models one says enough."""


def no_times(run: str, prompt: str, rep: int) -> LoopTimes:
    """A reading that has not begun."""
    later: list[list[float]] = [[] for _ in range(max(PROPOSALS) - 1)]
    return LoopTimes(
        run=run, prompt=prompt, verify_ms={}, again_ms={}, first_ms={}, later_ms=later, back_ms=[], rep=rep
    )


class LoopTimer:
    """Target and draft compiled for their own devices, outside of any engine."""

    def __init__(self, genai: Any, job: Job) -> None:
        import openvino as ov

        assert job.draft_dir is not None
        self._run = job.run
        self._tokenizer = genai.Tokenizer(job.target_dir, NUM_STREAMS=2)
        core = ov.Core()
        sides = (
            (job.target_dir, job.target_device, job.target_properties),
            (job.draft_dir, job.draft_device or job.target_device, job.draft_properties),
        )
        self._sides = [
            Reader(
                core.compile_model(
                    str(Path(folder) / "openvino_model.xml"),
                    device,
                    # It chooses an engine of the pipelines; a compiled model does not know it.
                    {name: value for name, value in properties.items() if name != "ATTENTION_BACKEND"},
                )
            )
            for folder, device, properties in sides
        ]

    def time(self, todos: Sequence[Todo], rep: int, alive: Callable[[], None]) -> LoopTimes:
        """Rounds without judging anything: both models simply read on in the texts."""
        times = no_times(self._run, todos[0].prompt, rep)
        start = perf_counter()
        for number, todo in enumerate(todos[:READINGS]):
            if not number or perf_counter() - start < ENOUGH_S:
                self._read(todo, times, alive)
        return times

    def _read(self, todo: Todo, times: LoopTimes, alive: Callable[[], None]) -> None:
        prompt = np.asarray(encode_with(self._tokenizer, todo.text).input_ids.data, dtype=np.int64)[0]
        text = np.asarray(todo.token_ids, dtype=np.int64)
        ends = [prompt.shape[0], prompt.shape[0]]
        need = 2 * (TURNS + 1) * sum(count + 2 for count in PROPOSALS)
        ids = np.concatenate([prompt, np.resize(text, need)])
        for model in self._sides:
            model.request.reset_state()
            model.feed(ids[: prompt.shape[0]], 0)

        def step(side: int, count: int) -> float:
            start = perf_counter()
            self._sides[side].feed(ids[ends[side] : ends[side] + count], ends[side])
            ends[side] += count
            return round((perf_counter() - start) * 1e3, 4)

        for count in PROPOSALS:  # One width of the target at a time: changing it has a price of its own.
            alive()
            before = 1
            for turn in range(TURNS + 1):
                took, anew = step(0, count + 1), step(0, count + 1)
                # Where a round is a single step, two of a kind in turn; else a step of one stands before.
                taken_in = 1 + (turn // 2 if count == 1 else turn) % 2
                begun = step(1, taken_in)
                rest = [step(1, 1) for _ in range(count - 1)]
                if turn:
                    times.verify_ms.setdefault(str(count + 1), []).append(took)
                    times.again_ms.setdefault(str(count + 1), []).append(anew)
                    times.first_ms.setdefault(f"{taken_in} after {before}", []).append(begun)
                    if taken_in == 1:
                        for place, each in enumerate(rest):
                            times.later_ms[place].append(each)
                    else:
                        times.back_ms.extend(rest[:1])
                before = taken_in if count == 1 else 1
