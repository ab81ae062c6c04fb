"""One `generate()`: called with everything ready, timed by our own clock, reported raw."""

from __future__ import annotations

import gc
import time
from time import perf_counter_ns
from typing import Any

from sweeps.events.types import PhaseBegan, RepDone, RepStarted
from sweeps.worker.channel import Channel
from sweeps.worker.job import Job
from sweeps.worker.rawlists import Slicer, read_getters, read_raw
from sweeps.worker.stream import make_streamer


class Measurer:
    """Runs reps on one pipeline."""

    def __init__(
        self, genai: Any, pipeline: Any, config: Any, channel: Channel, job: Job, beside: bool = False
    ) -> None:
        """`beside`: the pipeline is the baseline's, measured beside the run that the job names."""
        self._genai, self._pipeline, self._config = genai, pipeline, config
        self._beside = beside
        self._channel, self._job = channel, job
        self._slicer = Slicer()
        self._stops = frozenset() if job.ignore_eos else {config.eos_token_id, *config.stop_token_ids}
        self._calls = 0

    def rep(self, prompt: str, inputs: Any, number: int, warmup: bool) -> None:
        """Measure one call and send its `RepDone`."""
        run, channel = self._job.run, self._channel
        beside, warmup = self._beside and not warmup, self._beside or warmup
        streamer = make_streamer(self._genai, channel, run, prompt, number, warmup)
        channel.send(RepStarted(run=run, prompt=prompt, rep=number, warmup=warmup, beside=beside))
        channel.send(PhaseBegan(run=run, phase="first_token", prompt=prompt, rep=number))
        gc.collect()
        gc.disable()
        try:
            cpu = time.process_time_ns()
            start = streamer.start = perf_counter_ns()
            result = self._pipeline.generate(inputs, self._config, streamer)
            end = perf_counter_ns()
            cpu = time.process_time_ns() - cpu
        finally:
            gc.enable()
        streamer.flush()
        draft, verify = read_raw(result, self._slicer)
        ids = [token for _, burst in streamer.bursts for token in burst]
        reasons = getattr(result, "finish_reasons", None) or []
        channel.send(
            RepDone(
                run=run,
                prompt=prompt,
                rep=number,
                warmup=warmup,
                drift=self._job.drift and not warmup,
                beside=beside,
                attempt=self._job.attempt,
                call=self._calls,
                wall_us=(end - start) // 1000,
                burst_us=[(at - start) // 1000 for at, _ in streamer.bursts],
                burst_sizes=[len(burst) for _, burst in streamer.bursts],
                token_ids=ids,
                result_ids_equal=list(result.tokens[0]) == ids,
                finish=str(getattr(reasons[0], "name", reasons[0])) if reasons else "",
                past_stop=next(
                    (len(ids) - 1 - at for at, token in enumerate(ids) if token in self._stops), 0
                ),
                end_calls=streamer.end_calls,
                draft_us=draft,
                verify_us=verify,
                library=read_getters(result),
                load={"cpu_s": cpu / 1e9},
            )
        )
        self._calls += 1
