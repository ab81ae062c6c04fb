"""What watching costs: bytes to the terminal, processor time, delay, and what a bad terminal can do.

    python -m tests.benchmarks.bench_watch [--seconds 20] [--only rate,idle,delay,stall,close,demo]

The app runs in a real pseudo-terminal of 120x40. A second process appends events to a journal as a
supervisor does, at the rate asked for, with bursts of one to four tokens, a rep of 128 tokens after the
other, a sample of resources every second: the load is made up, everything else is real.
Prints one JSON object a line; exits 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil

from sweeps import paths
from sweeps.events import types as ev
from sweeps.events.journal import JournalReader
from sweeps.events.writer import JournalWriter
from sweeps.plan.model import Config, Plan, Prompt, Run
from sweeps.spec.model import Protocol
from sweeps.supervise import control
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.owner import HEARTBEAT_S, beat, myself

COLUMNS, LINES = 120, 40
ROOT = Path(__file__).resolve().parents[2]
LIMITS = {
    "bytes_s_30": 10_000,
    "cpu_30": 0.05,
    "bytes_s_300": 15_000,
    "cpu_300": 0.08,
    "idle_bytes": 0,
    "delay_s": 0.35,
    "stall_gap_s": 0.5,
    "demo_bytes_s": 15_000,
    "demo_cpu": 0.08,
}
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78])")


# -- the made-up sweep --------------------------------------------------------------------------------


def made_up_plan(runs: int = 24) -> Plan:
    """Baseline and pairs on the bundled models, of which nothing is really started."""
    target, draft = str(paths.bundled("models") / "target"), str(paths.bundled("models") / "draft-s")
    made = []
    for number in range(runs):
        config = (
            Config("plain", "target", "CPU", attention_backend="PA")
            if number == 0
            else Config("speculative", "target", "CPU", "draft-s", "CPU", num_assistant_tokens=number)
        )
        made.append(
            Run(f"{number:010x}", config, "cb", False, target, {}, draft_dir=draft, baseline=f"{0:010x}")
        )
    prompts = tuple(Prompt(name, name, name) for name in ("short", "docstring"))
    return Plan("load", Protocol(reps=3, warmup=1), prompts, tuple(made))


def generate(folder: SweepFolder, rate: float, seconds: float) -> None:
    """Append events at `rate` tokens a second; every second a rep's text holds `#<number>` on a line."""
    plan, chance = made_up_plan(), random.Random(7)
    spelled = _single_characters()
    # The text's tokens: plain words of the vocabulary, so that lines wrap as they do in life.
    words = [token for token in range(300, 4000) if token not in spelled.values()]
    journal = JournalWriter(folder.journal)
    owner, until, next_beat, marker = myself(folder.path), time.time() + seconds, 0.0, 0
    next_sample = next_marker = time.time() + 1
    beat(folder.supervisor, owner)
    journal.event(ev.SweepStarted(sweep="load", pid=os.getpid(), plan=msgspec.Raw(msgspec.json.encode(plan))))
    for run in plan.runs:
        journal.event(ev.RunStarted(run=run.id, attempt=1, pid=os.getpid(), todo=6))
        journal.event(ev.Constructed(run=run.id, construct_s=0.1))
        for prompt in plan.prompts:
            for rep in range(4):
                warmup = rep == 0
                call: dict[str, Any] = {"run": run.id, "prompt": prompt.name, "rep": max(0, rep - 1)}
                journal.event(ev.RepStarted(**call, warmup=warmup))
                start = time.time()
                sizes: list[int] = []
                times: list[int] = []
                ids: list[int] = []
                flushed: list[list[int]] = []
                while len(ids) < 128:
                    now = time.time()
                    if now > until:
                        return
                    if now > next_beat:
                        beat(folder.supervisor, owner)
                        next_beat = now + HEARTBEAT_S
                    if now > next_sample:
                        journal.event(ev.Sample(run=run.id, rss_mb=800 + chance.random(), cpu=1.9))
                        next_sample = now + 1
                    burst = [
                        chance.choice(words) for _ in range(min(chance.choice((1, 2, 3, 4)), 128 - len(ids)))
                    ]
                    if now > next_marker and len(ids) < 110:
                        marker += 1
                        next_marker = now + 1
                        burst = [spelled["\n"], spelled["#"], *(spelled[digit] for digit in f"{marker:04d}")]
                    ids += burst
                    flushed.append(burst)
                    sizes.append(len(burst))
                    times.append(int((time.time() - start) * 1e6))
                    if len(flushed) >= max(1, rate * 0.04 / 2.5) or len(ids) >= 128:
                        journal.event(
                            ev.Tokens(**call, warmup=warmup, us=times[-len(flushed) :], ids=flushed)
                        )
                        flushed = []
                    time.sleep(max(0.0, start + len(ids) / rate - time.time()))
                journal.event(
                    ev.RepDone(
                        **call, warmup=warmup, wall_us=int((time.time() - start) * 1e6),
                        burst_us=times, burst_sizes=sizes, token_ids=ids, finish="LENGTH",
                    )
                )  # fmt: skip
        journal.event(ev.RunEnded(run=run.id, attempt=1, status="ok", exit_code=0, done=6, todo=6))
    journal.event(ev.SweepEnded(status="done"))


def _single_characters() -> dict[str, int]:
    from explorer.live.vocabulary import load

    spell = load(paths.bundled("models") / "target")
    return {
        spell(token).decode(): token
        for token in range(300)
        if spell(token) in b"\n#0123456789" and spell(token)
    }


# -- the terminal -------------------------------------------------------------------------------------


class Terminal:
    """The app in a pseudo-terminal, with every read noted with its time."""

    def __init__(self, data: Path, *arguments: str) -> None:
        import fcntl
        import pty
        import struct
        import termios

        environment = {
            **os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT),
            "SPECDEC_STATE": str(data / "state"), "SPECDEC_CONFIG": str(data / "config"),
        }  # fmt: skip
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "explorer", "watch", "--data", str(data), *arguments],
            stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=ROOT, start_new_session=True,
            # A hang-up signal comes from the controlling terminal only.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self.reads: list[tuple[float, bytes]] = []

    def read(self, seconds: float) -> int:
        """Read for so long; returns the bytes that came."""
        until, count = time.time() + seconds, 0
        while (left := until - time.time()) > 0:
            if select.select([self.master], [], [], left)[0]:
                try:
                    data = os.read(self.master, 1 << 16)
                except OSError:
                    break
                self.reads.append((time.time(), data))
                count += len(data)
        return count

    def text(self) -> str:
        """All that came, without escape sequences."""
        return _ESCAPES.sub("", b"".join(data for _, data in self.reads).decode("utf-8", "replace"))

    def cpu(self) -> float:
        """Processor seconds of the app so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def close(self) -> None:
        """Hang up, and see the app go."""
        with contextlib.suppress(OSError):
            os.close(self.master)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def load(data: Path, rate: float, seconds: float) -> Iterator[SweepFolder]:
    """The generator as a process of its own."""
    folder = SweepFolder(data / "load-20260101T000000Z")
    folder.path.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.benchmarks.bench_watch", "--generate", str(folder.path)]
    child = subprocess.Popen(
        [*command, "--rate", str(rate), "--seconds", str(seconds)],
        cwd=ROOT, start_new_session=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not folder.journal.exists():
            time.sleep(0.05)
        yield folder
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


# -- what is measured ---------------------------------------------------------------------------------


def bench_rate(data: Path, rate: float, seconds: float) -> dict[str, float]:
    """Bytes and processor time a second while tokens come at `rate`."""
    with load(data, rate, seconds + 30):
        terminal = Terminal(data)
        terminal.read(5)
        before, began = terminal.cpu(), time.time()
        count = terminal.read(seconds)
        spent, took = terminal.cpu() - before, time.time() - began
        terminal.close()
    return {f"bytes_s_{rate:.0f}": round(count / took), f"cpu_{rate:.0f}": round(spent / took, 4)}


def bench_idle(data: Path, seconds: float = 30.0) -> dict[str, float]:
    """Bytes while a finished sweep is looked at."""
    with load(data, 300, 3) as folder:
        time.sleep(4)
    JournalWriter(folder.journal).event(ev.SweepEnded(status="done"))
    terminal = Terminal(data)
    terminal.read(6)
    before = terminal.cpu()
    count = terminal.read(seconds)
    spent = terminal.cpu() - before
    terminal.close()
    return {"idle_bytes": count, "idle_cpu": round(spent / seconds, 4)}


def bench_delay(data: Path, rate: float, seconds: float) -> dict[str, float]:
    """From the moment an event stands in the journal to the moment its text has reached the terminal."""
    with load(data, rate, seconds + 30) as folder:
        terminal = Terminal(data)
        terminal.read(5)
        began = time.time()
        terminal.read(seconds)
        written = dict(_markers(folder))
        terminal.close()
    shown: dict[str, float] = {}
    seen = ""
    for at, piece in terminal.reads:
        seen = (seen + _ESCAPES.sub("", piece.decode("utf-8", "replace")))[-20_000:]
        for marker in written:
            if marker not in shown and marker in seen:
                shown[marker] = at
    replaced = _replaced(folder, written)
    due = [m for m, at in written.items() if began < at < began + seconds - 1 and m not in replaced]
    delays = sorted(shown[marker] - written[marker] for marker in due if marker in shown)
    return {
        "markers": len(due),
        "markers_replaced": len(replaced),
        "markers_missed": len(due) - len(delays),
        "delay_median_s": round(delays[len(delays) // 2], 3) if delays else -1,
        "delay_s": round(delays[-1], 3) if delays else -1,
    }


def _markers(folder: SweepFolder) -> Iterator[tuple[str, float]]:
    from explorer.live.vocabulary import load as vocabulary

    spell = vocabulary(paths.bundled("models") / "target")
    for event in JournalReader(folder.journal).drain():
        if isinstance(event, ev.Tokens):
            for ids in event.ids:
                text = b"".join(map(spell, ids)).decode("utf-8", "replace")
                if text.startswith("\n#"):
                    yield text[1:], event.t


def _replaced(folder: SweepFolder, written: dict[str, float]) -> set[str]:
    """Markers whose text another call had replaced before it was due on the screen."""
    starts = [event.t for event in JournalReader(folder.journal).drain() if isinstance(event, ev.RepStarted)]
    limit = LIMITS["delay_s"]
    return {marker for marker, at in written.items() if any(at < start < at + limit for start in starts)}


def bench_stall(data: Path, seconds: float = 15.0) -> dict[str, float]:
    """A terminal that takes no bytes for a while: gaps in the journal, and how soon the view is back."""
    with load(data, 30, seconds + 60) as folder:
        terminal = Terminal(data)
        terminal.read(5)
        began = time.time()
        time.sleep(seconds)
        ended = time.time()
        back = -1.0
        while time.time() < ended + 10 and back < 0:
            terminal.read(0.1)
            newest = [marker for marker, at in _markers(folder) if at > ended - 1]
            text = terminal.text()
            if any(marker in text for marker in newest):
                back = time.time() - ended
        stamps = [event.t for event in JournalReader(folder.journal).drain() if began < event.t < ended]
        terminal.close()
    gaps = [after - before for before, after in itertools.pairwise(stamps)]
    return {"stall_gap_s": round(max(gaps), 3), "stall_back_s": round(back, 2)}


def bench_close(data: Path) -> dict[str, float]:
    """The terminal goes away: the app ends, the sweep goes on, a new app shows it."""
    with load(data, 30, 60) as folder:
        terminal = Terminal(data)
        terminal.read(4)
        closed = time.time()
        terminal.close()
        gone = time.time() - closed
        time.sleep(2)
        after = [event.t for event in JournalReader(folder.journal).drain() if event.t > closed + 1]
        again = Terminal(data)
        again.read(4)
        text = again.text()
        shows = "running" in text and any(marker in text for marker, at in _markers(folder) if at > closed)
        again.close()
    return {
        "close_gone_s": round(gone, 2),
        "close_events_after": len(after),
        "close_shown_again": float(shows),
    }


def bench_demo(data: Path, seconds: float) -> dict[str, float]:
    """The bundled sweep on the bundled models, for real, while it is watched."""
    environment = {**os.environ, "SPECDEC_STATE": str(data / "state"), "SPECDEC_CONFIG": str(data / "config")}
    command = [sys.executable, "-m", "explorer", "run", "sweeps/presets/demo.toml", "--detach"]
    subprocess.run(
        [*command, "--data", str(data)], cwd=ROOT, env=environment, check=True, capture_output=True
    )
    folder = SweepFolder(next(path.parent for path in data.glob("*/journal.jsonl")))
    terminal = Terminal(data)
    try:
        terminal.read(5)
        before, began, tokens = terminal.cpu(), time.time(), _tokens(folder)
        count = terminal.read(seconds)
        spent, took, tokens = terminal.cpu() - before, time.time() - began, _tokens(folder) - tokens
    finally:
        control.request(folder.control, control.STOP)
        terminal.close()
        until = time.time() + 20
        while time.time() < until and "sweep_ended" not in folder.journal.read_text(encoding="utf-8")[-400:]:
            time.sleep(0.2)
    return {
        "demo_tokens_s": round(tokens / took, 1),
        "demo_bytes_s": round(count / took),
        "demo_cpu": round(spent / took, 4),
    }


def _tokens(folder: SweepFolder) -> int:
    events = JournalReader(folder.journal).drain()
    return sum(len(ids) for event in events if isinstance(event, ev.Tokens) for ids in event.ids)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--generate", type=Path)
    parser.add_argument("--rate", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--only", default="rate,idle,delay,stall,close,demo")
    chosen = parser.parse_args()
    if chosen.generate:
        generate(SweepFolder(chosen.generate), chosen.rate, chosen.seconds)
        return 0
    todo: dict[str, list[Callable[[Path], dict[str, float]]]] = {
        "rate": [
            lambda data: bench_rate(data, 30, chosen.seconds),
            lambda data: bench_rate(data, 300, chosen.seconds),
        ],
        "idle": [bench_idle],
        "delay": [
            lambda data: bench_delay(data, 30, chosen.seconds),
            lambda data: bench_delay(data, 300, chosen.seconds),
        ],
        "stall": [bench_stall],
        "close": [bench_close],
        "demo": [lambda data: bench_demo(data, max(30.0, chosen.seconds))],
    }
    missed = 0
    for name in chosen.only.split(","):
        for bench in todo[name]:
            with tempfile.TemporaryDirectory() as scratch:
                found = bench(Path(scratch))
            over = [key for key, limit in LIMITS.items() if not 0 <= found.get(key, 0) <= limit]
            over += [key for key in ("markers_missed",) if found.get(key, 0) > 0]
            over += [key for key in ("close_shown_again",) if found.get(key, 1) != 1]
            missed += len(over)
            print(json.dumps({"bench": name, **found, "missed": over}), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
