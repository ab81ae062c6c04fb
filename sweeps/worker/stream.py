"""Bursts as they arrive: `StreamerBase.write` is called once a round with all of its tokens."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from sweeps.events.types import PhaseBegan, Tokens
from sweeps.worker.channel import Channel

FLUSH_NS = 40_000_000
"""Bursts are sent on in batches: a live view needs no more than 25 a second."""


def make_streamer(genai: Any, channel: Channel, run: str, prompt: str, rep: int, warmup: bool) -> Any:
    """A streamer whose `bursts` are (nanoseconds, token ids) and whose `end_calls` tell the engine.

    `write` must return a StreamingStatus: a bool aborts the whole process.
    """
    running = genai.StreamingStatus.RUNNING

    class Bursts(genai.StreamerBase):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.start = 0
            self.bursts: list[tuple[int, list[int]]] = []
            self.end_calls = 0
            self._sent = 0
            self._last = 0

        def write(self, token: int | list[int]) -> Any:
            now = perf_counter_ns()
            self.bursts.append((now, [token] if isinstance(token, int) else list(token)))
            if len(self.bursts) == 1:
                channel.send(PhaseBegan(run=run, phase="decode", prompt=prompt, rep=rep))
            if now - self._last > FLUSH_NS:
                self.flush()
                self._last = now
            return running

        def end(self) -> None:
            self.end_calls += 1

        def flush(self) -> None:
            fresh = self.bursts[self._sent :]
            if not fresh:
                return
            self._sent += len(fresh)
            channel.send(
                Tokens(
                    run=run,
                    prompt=prompt,
                    rep=rep,
                    warmup=warmup,
                    us=[(at - self.start) // 1000 for at, _ in fresh],
                    ids=[ids for _, ids in fresh],
                )
            )

    return Bursts()
