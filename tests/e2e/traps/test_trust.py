"""No guard fires on a clean sweep, each fires where its identity is broken, and texts are compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sweeps.events.types import RepDone
from sweeps.measure.guards import SPOILS, fired
from sweeps.measure.proposals import entries, replay
from sweeps.plan.model import Run
from sweeps.store.frames import load_folder
from sweeps.supervise.prepare import read_plan
from tests.e2e.engine import specdec
from tests.e2e.traps import kit

pytestmark = pytest.mark.models


def runs_of(measured: kit.Measured) -> list[Run]:
    """The runs that generate: an agreement pass has neither bursts nor a text of its own."""
    return [run for run in read_plan(measured.folder).runs if run.config.kind != "agreement"]


def pair_on(measured: kit.Measured, draft_device: str) -> Run:
    return next(run for run in runs_of(measured) if run.config.draft_device == draft_device)


def test_no_guard_fires_on_a_clean_sweep(clean: kit.Measured) -> None:
    tables = load_folder(clean.folder.path)
    measured = [row for row in tables.runs.to_dicts() if row["kind"] != "agreement"]
    for row in measured:
        assert (row["status"], fired(row["reason"])) == ("ok", []), (row["kind"], row["path"], row["reason"])
        assert (row["reps"], row["tokens"]) == (3, 48)
    for row in tables.reps.to_dicts():
        assert (row["status"], row["reason"]) == ("ok", None)
    assert {row["path"] for row in measured} == {"cb", "sdpa", "stateful", "npu"}


def test_identities_hold_on_a_clean_sweep(clean: kit.Measured) -> None:
    """Each from the raw events, by another way than the guards take."""
    rows = load_folder(clean.folder.path).runs.to_dicts()
    speculating = [row for row in rows if row["kind"] == "speculative"]
    assert len(speculating) == 4
    for row in speculating:
        done = [e for e in clean.events if isinstance(e, RepDone) and not e.warmup]
        done = [e for e in done if (e.run, e.prompt) == (row["run"], row["prompt"])]
        accepted = sum(size - 1 for e in done for size in e.burst_sizes[1:])
        rounds = sum(len(e.burst_sizes) - 1 for e in done)
        assert row["accepted"] == accepted <= row["proposals"]
        assert row["tokens_per_round"] == pytest.approx(1 + accepted / rounds)
        assert row["speedup"] > 0
        assert row["identity_speedup"] == pytest.approx(row["speedup"], rel=0.05)
        assert row["draft_ms"] > 0 and row["verify_ms"] > 0 and row["rest_ms"] >= 0


def test_the_engine_that_ran_is_known_by_its_end_calls(clean: kit.Measured) -> None:
    for run in runs_of(clean):
        ends = {rep.end_calls for rep in clean.reps(run, "short")}
        path = clean.row(run, "short")["path"]
        assert ends == ({2} if path == "cb" else {1})
        assert run.path in (path, "default")


def one_token_rounds(rep: RepDone) -> RepDone:
    """A draft that ran as told and of which nothing was accepted."""
    tokens = len(rep.token_ids)
    first, last = rep.burst_us[0], rep.burst_us[-1]
    times = [first + (last - first) * i // (tokens - 1) for i in range(tokens)]
    drafted = sum(entries("fixed", replay("fixed", 3, tokens, [1] * tokens)))
    return msgspec.structs.replace(
        rep,
        burst_sizes=[1] * tokens,
        burst_us=times,
        draft_us=[1.0] * (1 + drafted),
        verify_us=[1.0] * tokens,
    )


def slower_by(share: float) -> Callable[[RepDone], RepDone]:
    """Verify times that exceed the rounds by a share; the call is long enough to hold them."""

    def change(rep: RepDone) -> RepDone:
        rounds_us = rep.burst_us[-1] - rep.burst_us[0]
        # Slow enough for the hand-over between threads to explain nothing, however quick the machine is.
        scale = max(1.0, 400_000 / rounds_us)
        times = [1_000_000 + round((at - rep.burst_us[0]) * scale) for at in rep.burst_us]
        rounds_us = times[-1] - times[0]
        rounds = len(rep.verify_us) - 1
        each = (rounds_us * (1 + share) - sum(rep.draft_us)) / rounds
        wall = times[-1] + 1000
        return msgspec.structs.replace(rep, burst_us=times, verify_us=[0.0] + [each] * rounds, wall_us=wall)

    return change


def changed(**values: Callable[[RepDone], Any]) -> Callable[[RepDone], RepDone]:
    return lambda rep: msgspec.structs.replace(rep, **{name: make(rep) for name, make in values.items()})


BREAK: dict[str, Callable[[RepDone], RepDone]] = {
    "lists_differ": changed(burst_sizes=lambda rep: rep.burst_sizes[:-1]),
    "ids_differ": changed(result_ids_equal=lambda rep: False),
    "tokens_over_budget": changed(
        burst_sizes=lambda rep: [*rep.burst_sizes[:-1], rep.burst_sizes[-1] + 1],
        token_ids=lambda rep: [*rep.token_ids, 7],
    ),
    "clock_backwards": changed(burst_us=lambda rep: [*rep.burst_us[:-2], rep.burst_us[-1], rep.burst_us[-2]]),
    "ttft_not_positive": changed(burst_us=lambda rep: [-170_000, *rep.burst_us[1:]]),
    "first_burst": changed(
        burst_sizes=lambda rep: [sum(rep.burst_sizes[:2]), *rep.burst_sizes[2:]],
        burst_us=lambda rep: rep.burst_us[1:],
        verify_us=lambda rep: rep.verify_us[1:],
    ),
    "accepted_over_proposals": changed(
        draft_us=lambda rep: [1.0] * 4,
        burst_sizes=lambda rep: [1, len(rep.token_ids) - 1],
        burst_us=lambda rep: [rep.burst_us[0], rep.burst_us[-1]],
        verify_us=lambda rep: [rep.verify_us[0], sum(rep.verify_us[1:])],
    ),
    "first_burst_late": slower_by(0.6),
    "timers_over_wall": changed(verify_us=lambda rep: [rep.wall_us * 1.0 for _ in rep.verify_us]),
    "identity_off": slower_by(0.15),
    "zero_acceptance": one_token_rounds,
}
"""Guard -> what a library, a clock or a list would have to do to a rep for it to fire."""


def test_every_guard_is_broken_here() -> None:
    assert set(BREAK) == set(SPOILS)


def rewritten(clean: kit.Measured, tmp_path: Path, run: Run, change: Callable[[RepDone], RepDone]) -> Path:
    """The recorded sweep with every rep of a run's prompt `short` changed; returns its folder."""
    folder = tmp_path / "results" / clean.folder.name
    folder.mkdir(parents=True)
    with (folder / "journal.jsonl").open("wb") as journal:
        for event in clean.events:
            hit = isinstance(event, RepDone) and (event.run, event.prompt) == (run.id, "short")
            written = change(event) if isinstance(event, RepDone) and hit else event
            journal.write(msgspec.json.encode(written) + b"\n")
    return folder


def broken(clean: kit.Measured, tmp_path: Path, guard: str) -> Path:
    """The recorded sweep with one row broken as `BREAK` says; returns its folder."""
    return rewritten(clean, tmp_path, pair_on(clean, "CPU"), BREAK[guard])


@pytest.mark.parametrize("guard", BREAK)
def test_each_guard_withholds_its_numbers(clean: kit.Measured, tmp_path: Path, guard: str) -> None:
    run, folder = pair_on(clean, "CPU"), broken(clean, tmp_path, guard)
    rows = load_folder(folder).runs.to_dicts()
    (row,) = [row for row in rows if (row["run"], row["prompt"]) == (run.id, "short")]
    assert row["status"] == "metric_suspect"
    assert guard in fired(row["reason"]), row["reason"]
    for column in SPOILS[guard]:
        if column in row:
            assert row[column] is None, column
    others = [other for other in rows if other is not row]
    assert {other["status"] for other in others} == {"ok"}
    assert row["speedup"] is None


def test_the_cell_of_a_withheld_number_names_the_guard(
    clean: kit.Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    folder = broken(clean, tmp_path, "ids_differ")
    shown = specdec("table", "--data", str(folder.parent), "--where", "status = 'metric_suspect'")
    assert shown.returncode == 0, shown.stderr
    (line,) = [
        line for line in shown.stdout.splitlines() if "metric_suspect" in line and "speculative" in line
    ]
    # Rate, acceptance and tau; the speed-up went with the rate.
    assert line.count("!ids_differ") >= 3
    assert "the streamed token ids are not the returned ones" in shown.stdout + shown.stderr


def equal_to(text: list[int], other: list[int]) -> tuple[int, int | None]:
    """Leading tokens that are equal, and the index of the first that is not."""
    same = next(
        (i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other))
    )
    return same, None if text == other else same


@pytest.mark.parametrize("prompt", ["short", "script"])
def test_both_drafts_texts_are_compared_with_each_other_and_the_baseline(
    clean: kit.Measured, prompt: str
) -> None:
    data = str(clean.folder.path.parent)
    asked = specdec("table", "--data", data, "--where", f"prompt = '{prompt}'", "--format", "json")
    assert asked.returncode == 0, asked.stderr
    rows = {row["run"]: row for row in json.loads(asked.stdout)}
    texts = {run.id: clean.reps(run, prompt)[0].token_ids for run in runs_of(clean)}
    pairs = [run for run in runs_of(clean) if run.config.kind == "speculative"]
    assert {run.config.draft_device for run in pairs} == {"CPU", "NPU"}
    for run, other in (pairs, pairs[::-1]):
        row = rows[run.id]
        assert run.baseline is not None
        same, at = equal_to(texts[run.id], texts[run.baseline])
        assert (row["same_prefix_tokens"], row["first_divergence"]) == (same, at)
        baseline, drafts = row["divergence"].split("; ")
        if at is None:
            assert baseline == "equal to the baseline"
        else:
            ours, theirs = texts[run.id][at], texts[run.baseline][at]
            # Whether it was close there follows, where the target was asked.
            assert baseline.startswith(f"token {at}: {ours} here, {theirs} in the baseline")
        same, at = equal_to(texts[run.id], texts[other.id])
        if at is None:
            assert drafts == "equal to the other draft row"
        else:
            assert f"token {at}: {texts[run.id][at]} here, {texts[other.id][at]} in" in drafts
            assert f"{other.config.draft} on {other.config.draft_device}" in drafts
        assert row["status"] == "ok", "a text of its own is no failure"
    of_target = [run for run in runs_of(clean) if run.config.target == "target"]
    for one in of_target:
        for two in of_target:
            letters = rows[one.id]["text"], rows[two.id]["text"]
            assert (letters[0] == letters[1]) == (texts[one.id] == texts[two.id])


def test_the_table_shows_which_texts_are_equal(
    clean: kit.Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of letters, two at least: one row's text is made to end in a token of its own."""
    monkeypatch.setenv("COLUMNS", "400")
    pairs = pair_on(clean, "CPU"), pair_on(clean, "NPU")
    others = {run.id: clean.reps(run, "short")[0].token_ids[-1] for run in runs_of(clean)}
    odd = next(token for token in range(10, 100) if token not in others.values())
    folder = rewritten(clean, tmp_path, pairs[1], changed(token_ids=lambda rep: [*rep.token_ids[:-1], odd]))
    shown = specdec("table", "--data", str(folder.parent), "--where", "kind = 'speculative'")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    rows = {row["run"]: row for row in load_folder(folder).runs.to_dicts() if row["prompt"] == "short"}
    assert rows[pairs[0].id]["text"] != rows[pairs[1].id]["text"]
    start = next(line for line in lines if "prompt" in line and "text" in line).index("text")
    for run in pairs:
        line = next(line for line in lines if f"@{run.config.draft_device}" in line and " short " in line)
        assert line[start:].split()[0] == rows[run.id]["text"]
