"""`specdec table` on a journal from real pipelines: every format, and one line for every mistake."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sweeps.events.types import RepStarted, RunEnded
from sweeps.store.frames import load_runs, write_parquet
from sweeps.store.schema import REPS, ROUNDS, RUNS
from tests.unit import journal_kit as kit

JOURNALS = Path(__file__).parents[1] / "data" / "journals"
GOLDEN = JOURNALS / "golden"


@pytest.fixture
def v1(results: Path) -> Path:
    folder = results / "v1-20261130T183724Z"
    folder.mkdir()
    shutil.copy(JOURNALS / "v1.jsonl", folder / "journal.jsonl")
    return results


def table(data: Path, *arguments: str, width: int = 120, code: int = 0) -> str:
    """Standard output (for a code other than 0: standard error) of `specdec table`."""
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "explorer", "table", "--data", str(data), *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": str(width)},
    )
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    return run.stderr if code else run.stdout


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("runs.txt", ()),
        ("reps.txt", ("--reps", "--where", "run = 'st3'")),
        ("rounds.txt", ("--rounds", "--where", "run = 'cb3' and rep = 0 and prompt = 'short'")),
        ("sorted.md", ("--where", "speculative", "--sort", "-speedup", "--format", "md")),
        ("pivot.txt", ("--pivot", "rows=draft,draft_device,cols=prompt,values=acceptance,agg=mean")),
        ("pivot.md", ("--pivot", "rows=prompt,cols=path,values=tokens_per_round", "--format", "md")),
        ("columns.txt", ("--columns", "run,prompt,speedup,ttft_ms,noisy,text,divergence", "--limit", "8")),
    ],
)
def test_output_as_it_was(v1: Path, name: str, arguments: tuple[str, ...]) -> None:
    """To accept a change: run with SPECDEC_GOLDEN=write and look at the difference."""
    said = table(v1, *arguments)
    golden = GOLDEN / name
    if os.environ.get("SPECDEC_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said, encoding="utf-8", newline="\n")
    assert said == golden.read_text(encoding="utf-8")


def test_json_has_a_row_a_run_and_prompt_with_all_columns(v1: Path) -> None:
    rows = json.loads(table(v1, "--format", "json"))
    assert len(rows) == 12
    assert all(list(row) == list(RUNS) for row in rows)
    assert rows == load_runs(v1, published=False).to_dicts()
    lines = table(v1, "--format", "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == rows
    reps = json.loads(table(v1, "--reps", "--format", "json"))
    assert list(reps[0]) == list(REPS)
    assert len(reps[0]["token_ids"]) == 48
    assert list(json.loads(table(v1, "--rounds", "--limit", "1", "--format", "json"))[0]) == list(ROUNDS)


def test_csv_reads_back(v1: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(table(v1, "--reps", "--format", "csv"))))
    assert len(rows) == 24
    assert list(rows[0]) == list(REPS)
    assert len(json.loads(rows[0]["token_ids"])) == 48
    assert float(rows[0]["tok_s"]) > 0


def test_it_fits_the_terminal(v1: Path) -> None:
    for width in (80, 100, 120, 200):
        lines = table(v1, width=width).splitlines()
        assert max(map(len, lines)) <= width
        assert any("speed-up" in line for line in lines)
        assert any("tok/s" in line for line in lines)


def test_a_suspect_cell_shows_the_reason_and_a_failure_its_class(results: Path) -> None:
    base, cb = kit.plain("base"), kit.speculative("cb3")
    bad = kit.rep(cb, 0)
    events = [
        kit.started(kit.plan(base, cb)),
        RepStarted(run="base", prompt="story", rep=0),
        RunEnded(run="base", attempt=1, status="failed", failure="timeout", reason="no token in 60 s"),
        kit.rep(cb, 0, burst_us=[-170_000, *bad.burst_us[1:]]),
        kit.rep(cb, 1),
        kit.rep(cb, 2),
    ]
    kit.write(results, events)
    text = table(results, width=200)
    assert "!ttft_not_positive" in text
    assert "failed timeout [1]" in text
    assert "[1] no token in 60 s" in text
    assert "[2] ttft_not_positive: first token after -170.000 ms" in text
    (row,) = json.loads(table(results, "--where", "run = 'cb3'", "--format", "json"))
    assert row["ttft_ms"] is None


def test_published_rows_come_when_asked_for_or_when_there_is_nothing_else(v1: Path, tmp_path: Path) -> None:
    own = json.loads(table(v1, "--format", "json"))
    both = json.loads(table(v1, "--published", "--format", "json"))
    assert len(both) > len(own)
    fresh = tmp_path / "new"
    assert "no such folder" in table(fresh, "--format", "json", code=2)
    fresh.mkdir()
    alone = json.loads(table(fresh, "--format", "json"))
    assert {row["source"] for row in alone} == {"published"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--where", "spedup > 1"), "--where: no column spedup; did you mean speedup"),
        (("--where", "speedup >"), "(at the end, character 10)"),
        (("--sort", "nothing"), "--sort: no column nothing"),
        (("--columns", "tok_s,x"), "--columns: no column x"),
        (("--pivot", "rows=draft"), "--pivot: "),
        (("--pivot", "rows=draft,values=prompt"), "is text"),
        (("--sweep", "none"), "no such sweep"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_mistakes_are_one_clear_line(v1: Path, arguments: tuple[str, ...], line: str) -> None:
    said = table(v1, *arguments, code=2)
    assert line in said
    if "Usage" not in said:
        assert len(said.strip().splitlines()) == 1


def test_no_rows_is_no_failure(v1: Path) -> None:
    assert "no rows" in table(v1, "--where", "speedup > 100")
    assert json.loads(table(v1, "--where", "speedup > 100", "--format", "json")) == []


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("arguments", [("table",), ("table", "--rounds"), ("predict",)])
def test_a_journal_that_cannot_be_read_whole_is_said_to_be(
    v1: Path, arguments: tuple[str, ...], cached: bool
) -> None:
    """The table is made of the rest, as ever; that something is left out must not be silent."""
    (folder,) = v1.iterdir()
    with (folder / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"type":"rep_done","run":\n\x00\xff garbage\n')
    if cached:
        write_parquet(folder)
    said = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "explorer", *arguments, "--data", str(v1), "--format", "csv"],
        capture_output=True,
        encoding="utf-8",
    )
    assert said.returncode == 0, said.stderr
    assert f"{folder.name}: 2 lines of journal.jsonl cannot be read" in said.stderr
    assert "cannot be read" not in said.stdout
