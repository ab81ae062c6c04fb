"""What measuring costs: tokens per second inside the worker, under a supervisor and with a watcher
attached, against a bare `generate()` loop. Pairs in turn, so that a drifting machine cancels out.

    python tests/benchmarks/bench_overhead.py [--pairs 8] [--reps 12] [--watcher app|text|none]

Target: the median ratio is at least 0.98.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from sweeps.events.types import RepDone
from sweeps.plan.build import build_plan
from sweeps.plan.model import Plan
from sweeps.spec.load import parse_sweep
from sweeps.supervise.jobs import make_job
from sweeps.supervise.owner import MachineLock
from sweeps.supervise.prepare import prepare
from sweeps.supervise.supervisor import Supervisor
from sweeps.worker.job import Todo

SWEEP = """
name = "overhead"
[protocol]
max_new_tokens = 128
warmup = 2
reps = {reps}
[models]
target = "demo:target"
draft-s = "demo:draft-s"
[prompts]
fibonacci = {{ file = "demo:function" }}
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
rates = []
for number in range(todo.warmup + len(todo.reps)):
    start = time.perf_counter()
    result = pipeline.generate(inputs, config)
    wall = time.perf_counter() - start
    if number >= todo.warmup:
        rates.append(len(result.tokens[0]) / wall)
print(json.dumps(rates))
"""


def bare(plan: Plan, folder: Path) -> list[float]:
    """Tokens per wall second of each rep of a plain loop in a process of its own, without a streamer."""
    run = next(run for run in plan.runs if run.config.kind == "speculative")
    prompt = plan.prompts[0]
    todo = Todo(prompt.name, prompt.text, plan.protocol.warmup, list(range(plan.protocol.reps)))
    job = folder / "bare.json"
    job.write_bytes(msgspec.json.encode(make_job(plan, run, 1, [todo], folder)))
    done = subprocess.run([sys.executable, "-c", BARE, str(job)], capture_output=True, text=True, check=True)
    return [float(rate) for rate in json.loads(done.stdout.splitlines()[-1])]


def worker(plan: Plan, folder: Path, watcher: str) -> list[float]:
    """The same inside our worker, with the supervisor and a watcher running beside it."""
    run = next(run for run in plan.runs if run.config.kind == "speculative")
    sweep = prepare(folder, plan, "", fresh=True)
    rates: list[float] = []

    def heard(event: object) -> None:
        if isinstance(event, RepDone) and not event.warmup:
            rates.append(len(event.token_ids) / (event.wall_us / 1e6))

    stop = attach(watcher, folder, sweep.name)
    if watcher != "none":
        time.sleep(SETTLE_S)  # attaching costs once, watching is what is measured
    try:
        with MachineLock(sweep.path):
            Supervisor(sweep, plan, only=frozenset({run.id}), on_event=heard).run()
    finally:
        stop()
    return rates


def attach(kind: str, results: Path, sweep: str) -> Callable[[], None]:
    """Start a watcher of that kind; returns what ends it."""
    if kind == "none":
        return lambda: None
    command = [sys.executable, "-m", "explorer", "--no-mouse", "watch", sweep, "--data", str(results)]
    if kind == "text":
        child = subprocess.Popen(
            [*command, "--headless"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return child.kill
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
    return child.kill


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--reps", type=int, default=12)
    parser.add_argument("--watcher", choices=("app", "text", "none"), default="app")
    chosen = parser.parse_args()
    plan = build_plan(parse_sweep(SWEEP.format(reps=chosen.reps)), Path.cwd())
    ratios: dict[str, list[float]] = {"median rep": [], "undisturbed rep": []}
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(chosen.pairs):
            sides: list[tuple[str, Callable[[], list[float]]]] = [
                ("bare", lambda: bare(plan, Path(folder))),
                ("worker", lambda: worker(plan, Path(folder), chosen.watcher)),
            ]
            if pair % 2:
                sides.reverse()
            rates = {name: measure() for name, measure in sides}
            for name, of in (("median rep", statistics.median), ("undisturbed rep", undisturbed)):
                ratios[name].append(of(rates["worker"]) / of(rates["bare"]))
            print(
                f"pair {pair + 1}: bare {statistics.median(rates['bare']):.1f} tok/s, "
                f"worker {statistics.median(rates['worker']):.1f}; ratio {ratios['median rep'][-1]:.4f}, "
                f"undisturbed {ratios['undisturbed rep'][-1]:.4f}",
                flush=True,
            )
    for name, found in ratios.items():
        low, _, high = statistics.quantiles(found, n=4)
        print(
            f"worker / bare, {name}, watcher={chosen.watcher}: median {statistics.median(found):.4f}, "
            f"quartiles {low:.4f} to {high:.4f}, all {min(found):.4f} to {max(found):.4f} "
            f"over {len(found)} pairs of {chosen.reps} reps"
        )


def undisturbed(rates: list[float]) -> float:
    """Mean of the fastest quarter: a neighbour on the machine only ever slows a rep down."""
    return statistics.fmean(sorted(rates)[-max(len(rates) // 4, 1) :])


if __name__ == "__main__":
    main()
