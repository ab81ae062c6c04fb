"""Running, finished, stopped or crashed: from evidence, which is named."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.owner import Owner, beat, myself
from sweeps.supervise.state import REMOTE_DEAD_S, STALE_S, judge, look

NOW = 1_790_000_000.0
OWNER = Owner(pid=4242, process_started=NOW - 100, host="laptop", folder="f", heartbeat=NOW - 1)


@pytest.mark.parametrize(
    ("ended", "word"), [("done", "finished"), ("stopped", "stopped"), ("interrupted", "stopped")]
)
def test_an_ended_journal_needs_no_process(ended: str, word: str) -> None:
    verdict = judge(ended, OWNER, False, NOW)
    assert verdict.word == word
    assert ended in verdict.evidence


def test_nobody_has_taken_it_up() -> None:
    assert judge(None, None, None, NOW).word == "unknown"


def test_a_living_process_runs_even_with_an_old_heartbeat_which_is_told() -> None:
    fresh = judge(None, OWNER, True, NOW)
    assert (fresh.word, fresh.pid) == ("running", 4242)
    stale = judge(None, OWNER, True, NOW + STALE_S + 30)
    assert stale.word == "running"
    assert "no heartbeat for" in stale.evidence


def test_a_dead_process_without_an_end_has_crashed() -> None:
    verdict = judge(None, OWNER, False, NOW)
    assert verdict.word == "crashed"
    assert "4242 is gone" in verdict.evidence


def test_another_machines_process_is_judged_by_its_silence() -> None:
    assert judge(None, OWNER, None, NOW).word == "running"
    silent = judge(None, OWNER, None, NOW + REMOTE_DEAD_S + 60)
    assert silent.word == "crashed"
    assert "laptop" in silent.evidence


def test_the_evidence_of_a_real_folder(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)
    assert look(folder, None, time.time()).word == "unknown"
    beat(folder.supervisor, myself(tmp_path))
    verdict = look(folder, None, time.time())
    assert (verdict.word, verdict.pid) == ("running", os.getpid())


def test_a_pid_given_to_another_process_is_not_the_supervisor(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)
    old = msgspec.structs.replace(myself(tmp_path), process_started=time.time() - 86_400)
    beat(folder.supervisor, old)
    assert look(folder, None, time.time()).word == "crashed"


def test_a_killed_process_is_seen_as_gone(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    import psutil

    owner = Owner(child.pid, psutil.Process(child.pid).create_time(), socket.gethostname(), str(tmp_path))
    beat(folder.supervisor, owner)
    assert look(folder, None, time.time()).word == "running"
    child.kill()
    # Before its exit status is asked for too: the app that started a sweep is its parent and does not ask.
    while look(folder, None, time.time()).word == "running":
        assert time.time() < owner.process_started + 30
    assert look(folder, None, time.time()).word == "crashed"
    child.communicate()
    assert look(folder, None, time.time()).word == "crashed"
