"""First paint of `specdec` in a cold process, against a bare Textual app, paired.

    python -m tests.benchmarks.bench_first_paint                       # 15 pairs; some 40 s
    python -m tests.benchmarks.bench_first_paint --pairs 3 --data DIR  # DIR: a folder of results to open on

Each start is a new interpreter in a real pseudo-terminal of 120x40, first one app, then the other, the order
turned at every pair: what the machine does meanwhile falls on both. Two moments are taken, in seconds from
the start of the process:

- `paint`: the first frame with the places and the keys of Textual's app or ours (the screen is read, so an
  empty frame does not count);
- `ready` (ours only): the first place has drawn its content.

Prints one JSON object a line: each pair, then medians with the spread (quartiles, range) and the paired
difference with its 95 % interval. Exits 1 when the median of `paint` is over 0.7 s or that of the difference
over 0.25 s. `python -X importtime -m explorer` says where time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

from sweeps.compare.student import t_quantile
from tests.e2e.terminal import Terminal, why_not

NAMES: Final = ("paint_s", "bare_s", "difference_s", "ready_s")
LIMITS: Final = {"paint_s": 0.7, "difference_s": 0.25}
BARE: Final = """
from textual.app import App, ComposeResult
from textual.widgets import Static

class Bare(App[None]):
    BINDINGS = [("q", "quit", "leave")]

    def compose(self) -> ComposeResult:
        yield Static("bare app painted")

Bare().run()
"""
"""As little as a Textual app can be: one line of text."""


def moments(terminal: Callable[[], Terminal], *wanted: str) -> list[float]:
    """Seconds from the start of a process until its screen holds each text, one after the other."""
    start = time.perf_counter()
    found = []
    with terminal() as app:
        for text in wanted:
            app.wait(text, 60)
            found.append(app.heard - start)  # Not when our terminal had drawn it.
        app.press("q")
        app.exit_code()
    return found


def ours(data: Path | None) -> list[float]:
    """[paint, ready] of the app, on a first start (published rows) or on `data`."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update({f"SPECDEC_{name}": f"{scratch}/{name}" for name in ("STATE", "CONFIG", "DATA")})
        if data is not None:
            os.environ["SPECDEC_DATA"] = str(data)
        # The first frame ends with the keys; Explore then counts rows, Watch runs.
        return moments(Terminal, "q leave", "rows: runs" if data is None else " runs  ")


def bare() -> float:
    """Paint of the bare app."""
    return moments(lambda: Terminal(command=(sys.executable, "-c", BARE)), "bare app painted")[0]


def spread(values: list[float]) -> dict[str, float]:
    """Median, quartiles and range."""
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    found = {
        "median": statistics.median(values),
        "q1": low,
        "q3": high,
        "min": min(values),
        "max": max(values),
    }
    return {name: round(value, 3) for name, value in found.items()}


def interval(values: list[float]) -> list[float] | None:
    """95 % t interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5
    return [round(statistics.fmean(values) + side * half, 3) for side in (-1, 1)]


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--data", type=Path, help="Open on these results instead of none.")
    chosen = parser.parse_args()
    if why_not():
        print(why_not(), file=sys.stderr)
        return 1
    load = round(psutil.getloadavg()[0], 2)
    print(json.dumps({"cores": psutil.cpu_count(), "load": load, "python": sys.version.split()[0]}))
    pairs: list[tuple[float, float, float, float]] = []
    with tempfile.TemporaryDirectory() as bytecode:
        # As after an installation: compiled once (by the first start below), wherever the checkout lies.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        ours(chosen.data), bare()  # Brings the files into the system's cache too: cold is the process.
        for number in range(chosen.pairs):
            plain = bare() if number % 2 else None
            paint, ready = ours(chosen.data)
            plain = bare() if plain is None else plain
            pairs.append((paint, plain, paint - plain, ready))
            line = {name: round(value, 3) for name, value in zip(NAMES, pairs[-1], strict=True)}
            print(json.dumps(line), flush=True)
    columns = {name: list(values) for name, values in zip(NAMES, zip(*pairs, strict=True), strict=True)}
    found: dict[str, object] = {name: spread(values) for name, values in columns.items()}
    missed = [name for name, limit in LIMITS.items() if statistics.median(columns[name]) > limit]
    found |= {"difference_mean_95": interval(columns["difference_s"]), "limits": LIMITS, "missed": missed}
    print(json.dumps({"pairs": len(pairs), **found}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
