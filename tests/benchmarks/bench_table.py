"""What the table costs, in a real pseudo-terminal, against Textual's DataTable and textual-fastdatatable.

    python -m tests.benchmarks.bench_table                      # 1,000,000 rows; DataTable gets 10,000
    python -m tests.benchmarks.bench_table --rows 20000 --repeats 1
    python -m tests.benchmarks.bench_table --fast-python /path/to/python   # an environment that has it

Each app runs in a process of its own; this one is the terminal: it presses keys, takes the time and counts
the bytes until the app falls silent. Budgets for 1,000,000 x 30 at 120x40: first paint 0.15 s after the frame
is loaded, page-down 20 ms and 14 KB, filter and sort 0.5 s. Exit code 1 when ours misses one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE_DOWN: Final = b"\x1b[6~"
BUDGETS: Final = {
    "first paint s": 0.15,
    "page-down ms": 20.0,
    "page-down KB": 14.0,
    "filter s": 0.5,
    "sort s": 0.5,
}


@dataclass
class Samples:
    """All measurements of one app, by name."""

    app: str
    rows: int
    values: dict[str, list[float]] = field(default_factory=dict)
    error: str = ""

    def add(self, name: str, value: float) -> None:
        """Note one measurement."""
        self.values.setdefault(name, []).append(value)


class Terminal:
    """A pseudo-terminal with a program in it."""

    def __init__(self, command: Sequence[str], size: tuple[int, int], env: dict[str, str]) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=ROOT, start_new_session=True
        )
        os.close(slave)
        self.output = bytearray()

    def settle(self, quiet_s: float, limit_s: float, until: bytes = b"") -> tuple[float, int]:
        """Read until nothing came for `quiet_s` (and `until` was seen); time of the last byte, bytes read."""
        import select

        start = time.monotonic()
        last, count, seen = start, 0, not until
        while time.monotonic() - start < limit_s:
            ready, _, _ = select.select([self._fd], [], [], 0.005)
            now = time.monotonic()
            if ready:
                try:
                    data = os.read(self._fd, 1 << 16)
                except OSError:  # the program is gone
                    break
                last, count = now, count + len(data)
                self.output += data
                seen = seen or until in self.output
            elif seen and count and now - last > quiet_s:
                break
        return last, count

    def press(self, keys: bytes) -> float:
        """Send keys; the moment they were sent."""
        now = time.monotonic()
        os.write(self._fd, keys)
        return now

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()
        os.close(self._fd)


def measure(python: str, samples: Samples, size: tuple[int, int], pages: int) -> None:
    """Start the app once and take every measurement from it."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready"
        env = dict(os.environ, BENCH_READY=str(ready), TERM="xterm-256color", COLORTERM="truecolor")
        env.pop("NO_COLOR", None)
        env["PYTHONPATH"] = str(ROOT)
        script = str(Path(__file__).with_name("table_apps.py"))
        terminal = Terminal([python, script, samples.app, str(samples.rows)], size, env)
        try:
            # A row of the first page's lower half: the page is there, not only the frame around it.
            painted, _ = terminal.settle(0.5, 120, until=b"r0000020")
            if b"r0000020" not in terminal.output:
                samples.error = "nothing painted in 120 s" if ready.exists() else "did not start"
                return
            samples.add("first paint s", painted - int(ready.read_text(encoding="utf-8")) / 1e9)

            def timed(keys: bytes, quiet_s: float) -> tuple[float, int]:
                sent = terminal.press(keys)
                last, count = terminal.settle(quiet_s, 60)
                return last - sent, count

            timed(PAGE_DOWN, 0.3)
            for _ in range(pages):
                took, count = timed(PAGE_DOWN, 0.15)
                samples.add("page-down ms", took * 1000)
                samples.add("page-down KB", count / 1000)
            samples.add("filter s", timed(b"f", 1.0)[0])
            samples.add("sort s", timed(b"s", 1.0)[0])
        finally:
            terminal.close()


def table(results: Sequence[Samples]) -> str:
    """Medians and ranges as a Markdown table."""
    names = list(BUDGETS)
    lines = ["| table | rows | " + " | ".join(names) + " |", "|---|---:|" + "---:|" * len(names)]
    for result in results:
        if result.error:
            lines.append(f"| {result.app} | {result.rows:,} | {result.error} |" + " |" * (len(names) - 1))
            continue
        cells = [spread(result.values[name]) for name in names]
        lines.append(f"| {result.app} | {result.rows:,} | " + " | ".join(cells) + " |")
    lines.append("| *budget* | 1,000,000 | " + " | ".join(f"{value:g}" for value in BUDGETS.values()) + " |")
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Median, lowest and highest."""
    shown: Callable[[float], str] = lambda value: f"{value:.3g}"  # noqa: E731
    return f"{shown(statistics.median(values))} ({shown(min(values))}-{shown(max(values))})"


def main() -> int:
    """Run everything, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--datatable-rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--size", default="120x40")
    parser.add_argument(
        "--fast-python", default=sys.executable, help="an interpreter with textual-fastdatatable"
    )
    parser.add_argument("--only", action="append", help="measure this table only (may be repeated)")
    parser.add_argument("--json", type=Path, help="also write every sample there")
    options = parser.parse_args()
    if sys.platform == "win32":
        print("This benchmark needs a POSIX pseudo-terminal.", file=sys.stderr)
        return 2
    width, height = (int(part) for part in options.size.split("x"))
    results = [
        Samples("FrameTable", options.rows),
        Samples("DataTable", min(options.datatable_rows, options.rows)),
        Samples("textual-fastdatatable", options.rows),
    ]
    results = [result for result in results if not options.only or result.app in options.only]
    # Apps take turns, so that a drift of the machine falls on all of them.
    for turn in range(options.repeats):
        for result in results:
            print(f"{result.app}: {turn + 1} of {options.repeats}", file=sys.stderr)
            python = options.fast_python if result.app == "textual-fastdatatable" else sys.executable
            if not result.error:
                measure(python, result, (width, height), options.pages)
    print(f"{options.size}, {platform.machine()}, {os.cpu_count()} cores, median (lowest-highest)\n")
    print(table(results))
    if options.json:
        samples = [{"app": each.app, "rows": each.rows, **each.values} for each in results]
        options.json.write_text(json.dumps(samples, indent=1), encoding="utf-8")
    ours = next((result for result in results if result.app == "FrameTable"), None)
    if ours is None:
        return 0
    if ours.error:
        return 1
    missed = [name for name, most in BUDGETS.items() if statistics.median(ours.values[name]) > most]
    for name in missed:
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
