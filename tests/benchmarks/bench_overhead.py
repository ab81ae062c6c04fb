"""What measuring costs: tokens per second inside the worker, under a supervisor and with a watcher
attached, against a bare `generate()` loop.

    python -m tests.benchmarks.bench_overhead [--pairs 120] [--watcher app|text|none]

Both loops live side by side and take turns of about a second: while one computes, the other (the worker with
its watcher) is stopped as a whole, so that a machine whose speed wanders within seconds moves both sides of
a pair alike. Only calls that lie whole inside a turn count. POSIX only: it stops processes.

Target: the median ratio is at least 0.98.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil

from sweeps.events.types import RepDone, RunStarted
from sweeps.plan.build import build_plan
from sweeps.plan.model import Plan
from sweeps.spec.load import parse_sweep
from sweeps.supervise import control
from sweeps.supervise.jobs import make_job
from sweeps.supervise.owner import MachineLock
from sweeps.supervise.prepare import prepare
from sweeps.supervise.supervisor import Supervisor
from sweeps.worker.job import Todo

SWEEP = """
name = "overhead"
[protocol]
max_new_tokens = 256
warmup = 2
reps = 5000
[models]
target = "demo:target"
draft-s = "demo:draft-s"
[prompts]
fibonacci = { file = "demo:function" }
[[grid]]
kind = "speculative"
target = "target"
target_device = "CPU"
draft = "draft-s"
draft_device = "CPU"
num_assistant_tokens = 3
"""

SETTLE_S = 4.0
"""A watcher is up and idle after this."""
TURN_S = 1.4

BARE = """
import json, sys, time
from pathlib import Path
import msgspec, openvino_genai
from sweeps.worker.job import Job
from sweeps.worker.pipeline import build, configure, encode_with
job = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job)
pipeline = build(openvino_genai, job)
config = configure(pipeline, job)
todo = job.todo[0]
inputs = encode_with(pipeline.get_tokenizer(), todo.text)
while True:
    begun, start = time.time(), time.perf_counter()
    result = pipeline.generate(inputs, config)
    wall = time.perf_counter() - start
    print(json.dumps([begun, wall, len(result.tokens[0]) / wall]), flush=True)
"""


class Call(NamedTuple):
    """One `generate()`."""

    begun: float
    """Unix seconds."""
    wall_s: float
    rate: float
    """Tokens per second of wall time."""

    def inside(self, since: float, until: float) -> bool:
        """Whether it lies whole in a turn."""
        return since <= self.begun and self.begun + self.wall_s <= until


class Bare:
    """A plain loop in a process of its own, without a streamer."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        run = next(run for run in plan.runs if run.config.kind == "speculative")
        prompt = plan.prompts[0]
        todo = Todo(prompt.name, prompt.text, 0, [0])
        job = folder / "bare.json"
        job.write_bytes(msgspec.json.encode(make_job(plan, run, 1, [todo], folder)))
        self.calls: list[Call] = []
        self._child = subprocess.Popen(
            [sys.executable, "-c", BARE, str(job)], stdout=subprocess.PIPE, text=True
        )
        threading.Thread(target=self._hear, daemon=True).start()
        self.processes = [psutil.Process(self._child.pid)]

    def _hear(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self.calls.append(Call(*json.loads(line)))

    def end(self) -> None:
        """Kill it, stopped or not."""
        self._child.kill()


class Watched:
    """The same loop in a worker under a supervisor (in a thread of ours), with a watcher beside it."""

    def __init__(self, plan: Plan, folder: Path, watcher: str) -> None:
        run = next(run for run in plan.runs if run.config.kind == "speculative")
        self._sweep = prepare(folder, plan, "", fresh=True)
        self.calls: list[Call] = []
        self.processes: list[psutil.Process] = []
        self._begun = 0.0

        def heard(event: object) -> None:
            if isinstance(event, RunStarted):
                self.processes.append(psutil.Process(event.pid))
            elif isinstance(event, RepDone) and not event.warmup:
                wall = event.wall_us / 1e6
                self.calls.append(Call(event.t - wall, wall, len(event.token_ids) / wall))

        def supervise() -> None:
            with MachineLock(self._sweep.path):
                Supervisor(self._sweep, plan, only=frozenset({run.id}), on_event=heard).run()

        self._watcher = attach(watcher, folder, self._sweep.name)
        if self._watcher is not None:
            self.processes.append(psutil.Process(self._watcher.pid))
            time.sleep(SETTLE_S)
        self._thread = threading.Thread(target=supervise)
        self._thread.start()

    def end(self) -> None:
        """Ask the supervisor to stop and wait for it."""
        control.request(self._sweep.control, control.STOP)
        self._thread.join(30)
        if self._watcher is not None:
            self._watcher.kill()


def turn(side: Bare | Watched) -> float | None:
    """Let one side compute for a turn; mean rate of the calls inside it."""
    for process in side.processes:
        process.resume()
    since = time.time()
    time.sleep(TURN_S)
    until = time.time()
    for process in side.processes:
        process.suspend()
    time.sleep(0.02)
    inside = [call.rate for call in side.calls if call.inside(since, until)]
    return statistics.fmean(inside) if inside else None


def attach(kind: str, results: Path, sweep: str) -> subprocess.Popen[bytes] | None:
    """Start a watcher of that kind."""
    if kind == "none":
        return None
    command = [sys.executable, "-m", "explorer", "--no-mouse", "watch", sweep, "--data", str(results)]
    if kind == "text":
        return subprocess.Popen(
            [*command, "--headless"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    child = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        env=os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
    )  # fmt: skip
    os.close(slave)

    def drain() -> None:
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            return

    threading.Thread(target=drain, daemon=True).start()
    return child


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=120)
    parser.add_argument("--watcher", choices=("app", "text", "none"), default="app")
    chosen = parser.parse_args()
    plan = build_plan(parse_sweep(SWEEP), Path.cwd())
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        bare, watched = Bare(plan, Path(folder)), Watched(plan, Path(folder), chosen.watcher)
        try:
            while not bare.calls or not watched.calls:
                time.sleep(0.1)
            for process in (*bare.processes, *watched.processes):
                process.suspend()
            for pair in range(chosen.pairs):
                sides: list[Bare | Watched] = [bare, watched]
                if pair % 2:
                    sides.reverse()
                rates = {type(side): turn(side) for side in sides}
                ours, plain = rates[Watched], rates[Bare]
                if ours is not None and plain is not None:
                    ratios.append(ours / plain)
        finally:
            for process in (*bare.processes, *watched.processes):
                with contextlib.suppress(psutil.Error):
                    process.resume()
            bare.end()
            watched.end()
    low, _, high = statistics.quantiles(ratios, n=4)
    middle = statistics.median(ratios)
    # The standard error of a median, from the quartiles (normal in the middle).
    error = 1.2533 * (high - low) / 1.349 / len(ratios) ** 0.5
    print(
        f"worker / bare, watcher={chosen.watcher}: median {middle:.4f} (standard error {error:.4f}), "
        f"quartiles {low:.4f} to {high:.4f}, all {min(ratios):.4f} to {max(ratios):.4f} "
        f"over {len(ratios)} pairs of turns of {TURN_S} s"
    )


if __name__ == "__main__":
    main()
