"""The three lines under a run table."""

from __future__ import annotations

from typing import Any

import polars as pl

from explorer.cli.reading import reading


def row(draft: str, speedup: float, *, noisy: bool = False, path: str = "cb") -> dict[str, Any]:
    return {
        "kind": "speculative",
        "target": "t",
        "target_device": "CPU",
        "draft": draft,
        "draft_device": "CPU" if path == "cb" else "NPU",
        "emulated": False,
        "path": path,
        "num_assistant_tokens": 3,
        "status": "ok",
        "speedup": speedup,
        "speedup_lo": speedup * 0.98,
        "speedup_hi": speedup * 1.02,
        "noisy": noisy,
    }


def test_the_fastest_quiet_configuration_wins() -> None:
    first, sure, paths = reading(pl.DataFrame([row("a", 1.2), row("b", 1.5), row("c", 0.9)]))
    assert first.startswith("Best of 3: b on CPU, NAT 3: 1.50x the target alone")
    assert sure.startswith("How sure: clear of the next, a on CPU, NAT 3 at 1.20x")
    assert "c on CPU" in paths


def test_faster_is_not_said_of_all_where_intervals_say_less() -> None:
    wide = row("b", 1.2) | {"speedup_lo": 0.8, "speedup_hi": 1.8}
    assert reading(pl.DataFrame([row("a", 1.5), wide]))[-1].endswith("of 1 the interval includes less.")
    assert reading(pl.DataFrame([row("a", 1.5), row("b", 1.2)]))[-1].endswith("the target alone.")


def test_noisy_ones_are_counted_apart_and_named_where_they_were_faster() -> None:
    first, sure, _ = reading(pl.DataFrame([row("a", 1.9, noisy=True), row("b", 0.7, path="stateful")]))
    assert first.startswith(
        "No configuration of 1 (1 more too noisy to rank) speeds the target up; the nearest"
    )
    assert "a on CPU, NAT 3 was measured 1.90x" in sure
    assert "noisy" in sure


def test_a_noisy_slow_one_changes_nothing_but_the_count() -> None:
    first, sure, _ = reading(pl.DataFrame([row("a", 1.5), row("b", 1.1), row("c", 0.8, noisy=True)]))
    assert first.startswith("Best of 2 (1 more too noisy to rank): a on CPU")
    assert "clear of the next" in sure


def test_where_all_are_noisy_the_best_says_so() -> None:
    first, sure, _ = reading(pl.DataFrame([row("a", 1.5, noisy=True), row("b", 1.1, noisy=True)]))
    assert first.startswith("Best of 2: a on CPU")
    assert sure.startswith("How sure: not very, its reps vary too much")


def test_a_table_without_speedups_is_said_to_have_none() -> None:
    assert reading(pl.DataFrame([row("a", 1.5) | {"status": "failed"}])) == [
        "No speculative row has a speed-up yet: nothing to read."
    ]
