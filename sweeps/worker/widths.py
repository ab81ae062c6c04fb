"""The target's pass by the number of its new tokens, timed outside of any engine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sweeps.events.types import VerifyWidths
from sweeps.worker.agreement import Reader
from sweeps.worker.job import Job, Todo
from sweeps.worker.pipeline import encode_with

WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17)
"""Verify widths that are timed: NAT + 1 on continuous batching, up to 2 NAT + 1 on the stateful path."""
WIDTH_REPS = 9


def no_widths(run: str, prompt: str, rep: int) -> VerifyWidths:
    """What is told where nothing could be timed."""
    return VerifyWidths(run=run, prompt=prompt, ms={}, rep=rep)


class WidthTimer:
    """The target alone, compiled with the precision that the pipelines use."""

    def __init__(self, genai: Any, job: Job) -> None:
        import openvino as ov

        self._run = job.run
        self._tokenizer = genai.Tokenizer(job.target_dir, NUM_STREAMS=2)
        self._tensor = ov.Tensor
        model = Path(job.target_dir) / "openvino_model.xml"
        device = job.draft_device or job.target_device
        self._model = Reader(ov.Core().compile_model(str(model), device, job.draft_properties))

    def time(self, todo: Todo, rep: int, alive: Callable[[], None]) -> VerifyWidths:
        """Time the verify of every width, widths in turn so that drift spreads over all of them.

        Each behind another width, behind itself, and behind a cut of the cache, which is timed too: the
        stateful engine cuts after a mismatched round and counts that nowhere.
        """
        prompt = np.asarray(encode_with(self._tokenizer, todo.text).input_ids.data, dtype=np.int64)
        ids = np.concatenate([prompt[0], np.asarray(todo.token_ids, dtype=np.int64)])
        ids = np.concatenate([ids, np.resize(ids, 2 * max(WIDTHS))])
        past = ids.shape[0] - 2 * max(WIDTHS) - len(todo.token_ids) // 2
        self._model.request.reset_state()
        self._model.feed(ids[:past], 0)
        changed, plain, trimmed = ({str(width): list[float]() for width in WIDTHS} for _ in range(3))
        trims = []
        for number in range(WIDTH_REPS + 1):
            alive()
            for width in WIDTHS:
                clock = [perf_counter()]
                self._model.feed(ids[past : past + width], past)
                clock.append(perf_counter())
                self._model.feed(ids[past + width : past + 2 * width], past + width)
                clock.append(perf_counter())
                self._trim(width)
                clock.append(perf_counter())
                self._model.feed(ids[past + width : past + 2 * width], past + width)
                clock.append(perf_counter())
                self._trim(2 * width)
                if number:
                    other, same, trim, cut = (round((b - a) * 1e3, 4) for a, b in pairwise(clock))
                    changed[str(width)].append(other)
                    plain[str(width)].append(same)
                    trims.append(trim)
                    trimmed[str(width)].append(cut)
        return VerifyWidths(
            run=self._run,
            prompt=todo.prompt,
            ms=plain,
            changed_ms=changed,
            after_trim_ms=trimmed,
            trim_ms=trims,
            rep=rep,
        )

    def _trim(self, count: int) -> None:
        """Cut the last `count` tokens off the cache: states are [batch, heads, tokens, size]."""
        for state in self._model.request.query_state():
            kept = state.state.data
            state.state = self._tensor(np.ascontiguousarray(kept[:, :, : kept.shape[2] - count]))
