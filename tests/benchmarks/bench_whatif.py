"""What one step of a parameter costs in What-if, from the key to the last byte on the terminal.

    python -m tests.benchmarks.bench_whatif                       # the published rows, 120x40
    python -m tests.benchmarks.bench_whatif --data results --steps 5 --size 80x24

The app runs in a process of its own in a real pseudo-terminal, with chart, bars and answers in sight; this
process presses the keys. Part of the time is Textual's wait for its next frame (TEXTUAL_FPS). The same
steps are also taken without a terminal, to tell the model's part. Last, 10,000 configurations are predicted
at once. Exit code 1 when the median of a parameter is above 50 ms, or those take more than a second.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from typing import Final

import numpy as np

from sweeps.costmodel.params import Params
from sweeps.costmodel.predict import predict_many
from tests.benchmarks.bench_table import Terminal

BUDGET_MS: Final = 50.0
MANY_MS: Final = 1000.0
QUIET_S: Final = 0.15
RIGHT, DOWN = b"\x1b[C", b"\x1b[B"
PARAMETERS: Final = ("NAT", "acceptance", "draft", "target alone", "verify base", "verify slope", "rest")
"""In the order in which the cursor meets them."""


def repaints(data: str | None, size: tuple[int, int], steps: int) -> dict[str, list[tuple[float, int]]]:
    """Parameter -> (milliseconds from key to last byte, bytes) of each step."""
    found: dict[str, list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, TERM="xterm-256color", COLORTERM="truecolor")
        env |= {f"SPECDEC_{name}": f"{folder}/{name.lower()}" for name in ("STATE", "CONFIG", "DATA")}
        command = [sys.executable, "-m", "explorer", *(["--data", data] if data else [])]
        terminal = Terminal(command, size, env)
        try:
            terminal.settle(1.0, 20.0)
            terminal.press(b"3")
            terminal.settle(1.0, 10.0)
            terminal.press(b"w")
            terminal.settle(2.0, 60.0, until=b"predicted ")
            for name in PARAMETERS:
                for _ in range(steps + 1):
                    pressed = terminal.press(RIGHT)
                    last, count = terminal.settle(QUIET_S, 3.0)
                    found.setdefault(name, []).append((1000 * (last - pressed), count))
                # The first step of a parameter may meet counts that nobody asked for yet.
                found[name] = found[name][1:]
                terminal.press(DOWN)
                terminal.settle(QUIET_S, 3.0)
        finally:
            terminal.close()
    return found


def model_ms(data: str | None, steps: int) -> dict[str, list[float]]:
    """Field -> milliseconds that evaluating each step takes, without any screen."""
    from explorer.screens.whatif.fields import FIELDS
    from explorer.screens.whatif.outcome import evaluate, grid_ready
    from explorer.screens.whatif.workbench import open_workbench

    bench = open_workbench(data)
    scenario = bench.scenario(bench.first())
    grid_ready(scenario)
    evaluate(scenario)
    found: dict[str, list[float]] = {}
    for field in FIELDS[: len(PARAMETERS)]:
        moved = scenario
        for _ in range(steps):
            start = time.perf_counter()
            moved = moved.edited(field.name, field.stepped(moved.value(field.name), 1))
            evaluate(moved)
            found.setdefault(field.label, []).append(1000 * (time.perf_counter() - start))
    return found


def many_ms(count: int = 10_000) -> list[float]:
    """Milliseconds to predict so many configurations at once: the first time, then again and again."""
    draws = np.random.default_rng(1).random((count, 5))
    params = [
        Params(
            target_ms=20 + 60 * u[0],
            draft_ms=30 * u[1],
            draft_first_ms=5 * u[2],
            verify_base_ms=20 + 60 * u[3],
            path=("cb", "stateful")[i % 2],
            alpha=float(u[4]),
        )
        for i, u in enumerate(draws)
    ]
    nats = (1 + np.arange(count) % 10).tolist()
    found = []
    for _ in range(6):
        start = time.perf_counter()
        predict_many(params, nats)
        found.append(1000 * (time.perf_counter() - start))
    return found


def main() -> int:
    """Measure, print, compare with the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of results; without it the published rows")
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--size", default="120x40")
    options = parser.parse_args()
    width, height = (int(part) for part in options.size.split("x"))
    print(
        f"{platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.size}"
    )
    print(f"{'parameter':16}{'median ms':>10}{'worst ms':>10}{'KB':>7}{'model ms':>10}")
    alone = model_ms(options.data, options.steps)
    missed = False
    for name, values in repaints(options.data, (width, height), options.steps).items():
        times = [ms for ms, count in values if count]
        if not times:
            print(f"{name:16} nothing was repainted")
            missed = True
            continue
        median = statistics.median(times)
        missed |= median > BUDGET_MS
        kilobytes = statistics.median(count for _, count in values) / 1000
        own = statistics.median(alone.get(name, [float("nan")]))
        print(f"{name:16}{median:>10.1f}{max(times):>10.1f}{kilobytes:>7.1f}{own:>10.1f}")
    first, *others = many_ms()
    print(f"10,000 configurations: {first:.0f} ms at first, then {statistics.median(others):.0f} ms")
    missed |= first > MANY_MS
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
