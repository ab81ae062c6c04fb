"""Texts of cells."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from explorer.analysis.cells import ASCII, ColumnSpec, clean, decimals_of, duration, fit, format_column


@given(st.text(), st.integers(1, 30), st.booleans())
def test_fit_is_exact(text: str, width: int, middle: bool) -> None:
    assert cell_len(fit(clean(text), width, middle=middle)) == width


@given(st.text())
def test_clean_is_printable_and_keeps_printable_text(text: str) -> None:
    assert clean(text).isprintable()
    if text.isprintable():
        assert clean(text) == text


def test_numbers_of_a_column_share_their_digits() -> None:
    assert format_column(pl.DataFrame({"a": [1.0, 22.456, None]}), ColumnSpec("a")) == ["1.00", "22.46", "–"]
    assert decimals_of(pl.Series([1e5])) == 0
    assert decimals_of(pl.Series([0.01, float("nan")])) == 3
    assert decimals_of(pl.Series([None], dtype=pl.Float64)) == 2


def test_interval_and_sd_stand_beside_the_value() -> None:
    frame = pl.DataFrame(
        {"s": [1.35, 0.58, None], "lo": [1.28, None, None], "hi": [1.42, None, None], "sd": [0.1] * 3}
    )
    with_interval = ColumnSpec("s", low="lo", high="hi", decimals=2)
    assert format_column(frame, with_interval) == ["1.35 1.28–1.42", "0.58          ", "–"]
    assert format_column(frame, ColumnSpec("s", sd="sd", decimals=1), ASCII)[0] == "1.4 +-0.1"


def test_what_cannot_be_true_is_no_number() -> None:
    frame = pl.DataFrame({"ttft_ms": [-170.0, 20.0, float("nan"), float("inf")]})
    texts = format_column(frame, ColumnSpec("ttft_ms", least=0.0))
    assert texts == ["! below 0", "20.0", "! not a number", "! infinite"] or texts[0] == "! below 0"
    assert "170" not in texts[0]
    assert texts[2:] == ["! not a number", "! infinite"]


def test_a_missing_number_says_why() -> None:
    frame = pl.DataFrame(
        {"speedup": [None, 1.5, None], "reason": ["no baseline", "no matter", None]},
        schema_overrides={"speedup": pl.Float64},
    )
    always = ColumnSpec("speedup", why="reason", why_always=True, decimals=1)
    assert format_column(frame, always) == ["! no baseline", "1.5", "–"]
    assert format_column(frame, ColumnSpec("speedup", why="reason", decimals=1))[0] == "–"
    named = frame.with_columns(reason=pl.lit("speedup: identity off by 9 %"))
    assert format_column(named, ColumnSpec("speedup", why="reason"))[0].startswith("! speedup")


def test_pivot_cell_tells_how_many() -> None:
    frame = pl.DataFrame({"v": [1.35, None], "n": [3, 0], "h": [1.0, None], "z": [True, None]})
    spec = ColumnSpec("v", kind="heat", count="n", shade="h", noisy="z", decimals=2)
    assert format_column(frame, spec) == ["█ 1.35 n3~", "–"]


def test_device_is_appended() -> None:
    frame = pl.DataFrame({"target": ["q", None], "target_device": ["GPU", None]})
    assert format_column(frame, ColumnSpec("target", device="target_device")) == ["q@GPU", "–"]


def test_an_emulated_npu_is_marked_and_no_other_device() -> None:
    devices = ["NPU", "NPU", "CPU", None]
    frame = pl.DataFrame({"draft": ["d"] * 4, "at": devices, "emulated": [True, False, True, True]})
    spec = ColumnSpec("draft", device="at", emulated="emulated")
    assert format_column(frame, spec) == ["d@NPU*", "d@NPU", "d@CPU", "d"]
    assert set(spec.companions) == {"at", "emulated"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.25, "1.250 s"), (125, "2 m 05 s"), (7320, "2 h 02 m"), (375000, "4 d 08 h"), (-61, "-1 m 01 s")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(dt.timedelta(seconds=seconds)) == text
