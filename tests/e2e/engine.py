"""Real sweeps on the demo models, and their journals read back: what the end-to-end tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sweeps.events.journal import read
from sweeps.events.types import AnyEvent, RepDone
from sweeps.supervise.folder import SweepFolder, find_folders

E = TypeVar("E")

SMALL = """
name = "small"

[protocol]
max_new_tokens = {budget}
warmup = 0
reps = {reps}

[models]
target = "demo:target"
draft-s = "demo:draft-s"

[devices.NPU]
NPU_USE_NPUW = "YES"
NPUW_DEVICES = "CPU"
NPUW_ONLINE_PIPELINE = "NONE"

[prompts]
{prompts}

{grid}
"""

SPECULATIVE = """
[[grid]]
kind = "speculative"
target = "target"
target_device = "CPU"
draft = "draft-s"
draft_device = "{device}"
num_assistant_tokens = 3
"""

PLAIN = """
[[grid]]
kind = "plain"
model = "{model}"
device = "CPU"
attention_backend = "{backend}"
"""


def sweep_text(
    grid: str, *, budget: int = 24, reps: int = 2, prompts: str = 'fib = "def fibonacci(n):\\n    "'
) -> str:
    """A small sweep file on the bundled models."""
    return SMALL.format(budget=budget, reps=reps, prompts=prompts, grid=grid)


def specdec(*arguments: str, timeout: float = 240.0) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "explorer", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
        env=os.environ | {"PYTHONUTF8": "1"},
    )


def start_specdec(*arguments: str) -> subprocess.Popen[bytes]:
    """As `specdec`, left running."""
    return subprocess.Popen(
        [sys.executable, "-m", "explorer", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def only_folder(results: Path) -> SweepFolder:
    """The one sweep in a results folder."""
    (folder,) = find_folders(results)
    return folder


def events_of(folder: SweepFolder, kind: type[E]) -> list[E]:
    """All events of a type in a sweep's journal."""
    return [event for event in all_events(folder) if isinstance(event, kind)]


def all_events(folder: SweepFolder) -> list[AnyEvent]:
    """The whole journal."""
    return read(folder.journal, max_bytes=1 << 30)[0]


def counted(folder: SweepFolder) -> list[tuple[str, str, int]]:
    """(run, prompt, rep) of every counted rep, in order: a duplicate is a rep measured twice."""
    return [(e.run, e.prompt, e.rep) for e in events_of(folder, RepDone) if not e.warmup]


def wait_for(what: Callable[[], E | None], timeout: float = 180.0) -> E:
    """Poll until `what` gives something."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"nothing within {timeout} s")
