"""Reading journals that are being written, were cut off, or come from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeps.events import journal
from sweeps.events.journal import JournalReader, read, read_piece
from sweeps.events.types import Log, RepDone, SweepEnded
from tests.unit import journal_kit as kit

BASE = kit.plain("base")
EVENTS = [
    kit.started(kit.plan(BASE)),
    *kit.whole_run(BASE, [kit.rep(BASE, 0), kit.rep(BASE, 1)]),
    Log(message="Kühlung: 冷却 \u2028 done", run="base"),
    SweepEnded(status="done"),
]
DATA = kit.lines(EVENTS)


@given(cut=st.integers(0, len(DATA)), step=st.integers(1, 5000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_cut_gives_every_complete_line_and_the_rest_follows(tmp_path: Path, cut: int, step: int) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(DATA[:cut])
    reader = JournalReader(path)
    seen = []
    for _ in range(2 + len(DATA)):
        before = reader.offset
        seen += reader.poll(max_bytes=step)
        if reader.offset == before:
            break
    assert len(seen) == DATA[:cut].count(b"\n")
    path.write_bytes(DATA)
    seen += reader.drain()
    assert len(seen) == len(EVENTS)
    assert [type(event) for event in seen] == [type(event) for event in EVENTS]
    assert (reader.broken, reader.unknown) == (0, 0)


@given(garbage=st.binary(max_size=200), at=st.integers(0, len(EVENTS)))
def test_whatever_a_line_holds_the_others_are_read(garbage: bytes, at: int) -> None:
    whole = DATA.splitlines(keepends=True)
    noise = garbage.replace(b"\n", b" ") + b"\n"
    events, _, _ = journal.decode(b"".join([*whole[:at], noise, *whole[at:]]))
    assert len(events) >= len(EVENTS)


def test_a_broken_line_in_the_middle_is_passed_over_and_counted(tmp_path: Path) -> None:
    whole = DATA.splitlines(keepends=True)
    cut = whole[3][: len(whole[3]) // 2] + b"\n"
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join([*whole[:3], cut, *whole[3:]]))
    piece = read_piece(path)
    assert (len(piece.events), piece.broken, piece.unknown) == (len(EVENTS), 1, 0)


def test_a_newer_version_may_add_types_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(
        b'{"type":"thermal_throttle","t":1.0,"watts":11}\n{"type":"log","message":"m","colour":"red"}\n'
    )
    piece = read_piece(path)
    assert piece.events == [Log(message="m")]
    assert (piece.broken, piece.unknown) == (0, 1)


def test_one_call_reads_a_bounded_piece(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(DATA)
    longest = max(map(len, DATA.splitlines(keepends=True)))
    offset, calls = 0, 0
    while True:
        _, after = read(path, offset, max_bytes=longest)
        if after == offset:
            break
        assert after - offset <= longest
        offset, calls = after, calls + 1
    assert offset == len(DATA)
    assert calls > 2


def test_a_line_longer_than_the_piece_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(kit.lines([kit.rep(BASE, 0)]))
    (event,), offset = read(path, max_bytes=10)
    assert isinstance(event, RepDone)
    assert offset == path.stat().st_size


def test_a_file_without_lines_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_LINE", 1000)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" * 5000 + b"\n" + DATA)
    reader = JournalReader(path)
    events = [event for _ in range(200) for event in reader.poll(max_bytes=400)]
    assert len(events) == len(EVENTS)
    assert reader.broken >= 1


def test_no_file_yet_is_no_event(tmp_path: Path) -> None:
    assert read(tmp_path / "none.jsonl") == ([], 0)
    assert JournalReader(tmp_path / "none.jsonl").drain() == []


def test_carriage_returns_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(DATA.replace(b"\n", b"\r\n"))
    assert len(JournalReader(path).drain()) == len(EVENTS)
