"""Views of a frame: filter, sort, frequency, pivot, description, and the way back to the rows."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.analysis import summaries
from explorer.analysis.apply import Shown, apply
from explorer.analysis.conditions import NoConditionError, equal, quoted
from explorer.analysis.export import to_markdown
from explorer.analysis.select import select_rows
from explorer.analysis.view import (
    Aggregate,
    Sort,
    ViewError,
    ViewState,
    from_json,
    load_views,
    save_views,
    to_json,
)
from explorer.widgets.frame_table.model import TableModel
from sweeps.exchange import published
from sweeps.store.query import FilterError, compile_filter
from sweeps.store.schema import RUNS, empty

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def runs() -> pl.DataFrame:
    return published.load()


def drilled(frame: pl.DataFrame, shown: Shown, row: int, column: str) -> pl.DataFrame:
    """The rows behind a cell, by the view that drilling down makes."""
    inner = apply(frame, shown.view.inside(shown.condition(row, column)))
    return inner.frame if inner.rows is None else inner.frame[inner.rows]


def test_table_is_positions_of_the_whole_frame(runs: pl.DataFrame) -> None:
    shown = apply(runs, ViewState(filter="draft_device = 'NPU'", sorts=(Sort("speedup", True),)))
    assert shown.frame is runs
    assert shown.rows is not None
    assert runs[shown.rows]["speedup"].to_list() == [0.74, 0.58, 0.55]
    assert (shown.height, shown.total) == (3, 9)
    assert "tok_s_sd" in shown.hidden
    assert "ttft_ms" in shown.hidden  # nothing was published
    assert shown.order[0] == "target"


def test_sorts_are_stable_and_put_missing_last() -> None:
    frame = pl.DataFrame({"a": [1, None, 3, 1], "b": ["x", "y", "z", "w"]})
    assert _order(select_rows(frame, [], [("a", False)])) == [0, 3, 2, 1]
    assert _order(select_rows(frame, [], [("a", True)])) == [2, 0, 3, 1]
    assert _order(select_rows(frame, [], [("a", False), ("b", False)])) == [3, 0, 2, 1]
    assert _order(select_rows(frame, [pl.col("a") > 0], [("b", True)])) == [2, 0, 3]
    assert select_rows(frame, [], []) is None


def test_noisy_rows_are_never_ranked_first(runs: pl.DataFrame) -> None:
    shaky = runs.with_columns(noisy=pl.col("draft_device") == "CPU")
    shown = apply(shaky, ViewState(within=("draft IS NOT NULL",), sorts=(Sort("speedup", True),)))
    assert shown.rows is not None
    assert shaky[shown.rows]["speedup"].to_list() == [0.74, 0.58, 0.55, 1.35, 1.2]


def test_filter_errors_say_where(runs: pl.DataFrame) -> None:
    with pytest.raises(FilterError) as caught:
        apply(runs, ViewState(filter="speedup > 1 AND nothing = 2"))
    assert caught.value.position == 16


def _order(rows: pl.Series | None) -> list[int]:
    assert rows is not None
    return rows.to_list()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(alphabet="ab'\"%é", max_size=3)), min_size=1, max_size=30))
def test_every_bin_leads_back_to_exactly_its_rows(values: list[str | None]) -> None:
    frame = pl.DataFrame({"prompt": pl.Series(values, dtype=pl.String)})
    shown = apply(frame, ViewState(kind="freq", by="prompt"))
    assert shown.frame["n"].sum() == len(values)
    for row in range(shown.frame.height):
        assert drilled(frame, shown, row, "n").height == shown.frame["n"][row]


TENTHS = [number / 10 for number in range(30)]


def test_values_on_an_edge_belong_to_one_bin() -> None:
    frame = pl.DataFrame({"tok_s": TENTHS})
    shown = apply(frame, ViewState(kind="freq", by="tok_s"))
    assert shown.frame["n"].sum() == 30
    for row in range(shown.frame.height):
        assert drilled(frame, shown, row, "n").height == shown.frame["n"][row]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.floats(-1e6, 1e6), st.just(float("nan")), st.sampled_from(TENTHS)),
        min_size=1,
        max_size=80,
    )
)
def test_bins_of_numbers_lead_back_to_their_rows(values: list[float | None]) -> None:
    frame = pl.DataFrame({"tok_s": pl.Series(values, dtype=pl.Float64)})
    shown = apply(frame, ViewState(kind="freq", by="tok_s"))
    assert shown.frame["n"].sum() == len(values)
    for row in range(shown.frame.height):
        assert drilled(frame, shown, row, "n").height == shown.frame["n"][row]


def test_frequency_has_shares_and_aggregates(runs: pl.DataFrame) -> None:
    view = ViewState(
        kind="freq", by="draft_device", aggregates=(Aggregate("speedup"), Aggregate("tok_s", "max"))
    )
    table = apply(runs, view).frame
    by_device = {row["draft_device"]: row for row in table.to_dicts()}
    assert by_device["NPU"]["n"] == 3
    assert by_device["NPU"]["median speedup"] == 0.58
    assert by_device["CPU"]["max tok_s"] == 16.5
    assert by_device[None]["median speedup n"] == 1  # of four rows without a draft only the baseline has one
    assert table["percent"].sum() == pytest.approx(100)
    assert table["bar"].max() == 1.0


def test_pivot_tells_n_and_leads_back(runs: pl.DataFrame) -> None:
    view = ViewState(
        kind="pivot", keys=("num_assistant_tokens",), across="draft_device", filter="draft IS NOT NULL"
    )
    shown = apply(runs, view)
    rows = {row["num_assistant_tokens"]: row for row in shown.frame.to_dicts()}
    assert rows[3]["draft_device=CPU"] == 1.35
    assert rows[3]["draft_device=CPU n"] == 1
    assert rows[1]["draft_device=CPU"] is None
    assert rows[3]["all n"] == 2
    assert rows[3]["draft_device=CPU shade"] == 1.0
    assert rows[5]["draft_device=NPU shade"] == 0.0
    place = shown.frame["num_assistant_tokens"].to_list().index(3)
    assert drilled(runs, shown, place, "draft_device=NPU")["speedup"].to_list() == [0.58]
    assert drilled(runs, shown, place, "all").height == 2
    assert shown.source_rows == 5


def test_pivot_marks_noisy_cells(runs: pl.DataFrame) -> None:
    shaky = runs.with_columns(noisy=pl.col("num_assistant_tokens") == 3)
    view = ViewState(kind="pivot", keys=("num_assistant_tokens",), across="draft_device")
    table = apply(shaky, view).frame
    assert table.filter(num_assistant_tokens=3)["draft_device=NPU noisy"].to_list() == [True]
    assert table.filter(num_assistant_tokens=5)["draft_device=NPU noisy"].to_list() == [False]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (ViewState(kind="freq", by="nothing"), "no column nothing"),
        (ViewState(kind="pivot", across="draft_device"), "needs a key column"),
        (ViewState(kind="pivot", keys=("draft_device",), across="draft_device"), "cannot be the columns too"),
        (
            ViewState(
                kind="pivot", keys=("path",), across="draft_device", aggregates=(Aggregate("status", "mean"),)
            ),
            "it holds no numbers",
        ),
        (ViewState(within=("nothing = 1",)), "nothing"),
        (ViewState(within=("= = 1",)), "= = 1"),
    ],
)
def test_what_cannot_be_shown_says_why(runs: pl.DataFrame, view: ViewState, message: str) -> None:
    with pytest.raises(ViewError, match=message):
        apply(runs, view)


def test_pivot_refuses_a_thousand_columns() -> None:
    frame = pl.DataFrame({"k": [1] * 1000, "c": range(1000), "speedup": [1.0] * 1000})
    with pytest.raises(ViewError, match="1000 values"):
        apply(frame, ViewState(kind="pivot", keys=("k",), across="c"))


def test_describe(runs: pl.DataFrame) -> None:
    table = {row["column"]: row for row in apply(runs, ViewState(kind="describe")).frame.to_dicts()}
    assert table["tok_s"]["max"] == 150.0
    assert table["tok_s"]["n"] == 9
    assert table["draft_device"]["missing"] == 4
    assert table["draft_device"]["most frequent"] == "NPU (3)"
    assert table["ttft_ms"]["n"] == 0
    assert table["ttft_ms"]["mean"] is None


def test_everything_holds_without_rows() -> None:
    nothing = empty(RUNS)
    for view in (
        ViewState(sorts=(Sort("speedup"),)),
        ViewState(kind="freq", by="speedup"),
        ViewState(kind="pivot", keys=("path",), across="draft_device"),
        ViewState(kind="describe"),
    ):
        shown = apply(nothing, view)
        assert shown.height == (len(RUNS) if view.kind == "describe" else 0)


def every_type() -> pl.DataFrame:
    """Three rows of every type, one of them null, two equal."""
    moment = dt.datetime(2026, 1, 2, 3, 4, 5)
    values: dict[str, tuple[Any, Any]] = {
        "bool": (True, pl.Boolean),
        "uint64": (2**64 - 1, pl.UInt64),
        "float": (float("inf"), pl.Float64),
        "nan": (float("nan"), pl.Float32),
        "decimal": (Decimal("1.25"), pl.Decimal(10, 2)),
        "categorical": ("a", pl.Categorical),
        "enum": ("x", pl.Enum(["x", "y"])),
        "zoned": (moment.replace(tzinfo=dt.UTC), pl.Datetime("ms", "UTC")),
        "time": (moment.time(), pl.Time),
        "duration": (dt.timedelta(minutes=2), pl.Duration),
        "list": ([1, None], pl.List(pl.Int32)),
        "array": ([1, 2], pl.Array(pl.Int32, 2)),
        "struct": ({"a": 1}, pl.Struct({"a": pl.Int64})),
        "binary": (b"\x00", pl.Binary),
        "null": (None, pl.Null),
        "speedup": (1.5, pl.Float64),
    }
    return pl.DataFrame(
        {name: pl.Series([value, value, None], dtype=dtype) for name, (value, dtype) in values.items()}
    )


@pytest.mark.parametrize("column", every_type().columns)
@pytest.mark.parametrize("rows", [3, 1, 0])
def test_every_view_of_every_type_is_shown_or_refused(column: str, rows: int) -> None:
    frame = every_type().head(rows)
    views = [
        ViewState(sorts=(Sort(column, True),)),
        ViewState(kind="freq", by=column, aggregates=(Aggregate("speedup"),)),
        ViewState(kind="pivot", keys=(column,), across="bool"),
        ViewState(kind="pivot", keys=("bool",), across=column),
        ViewState(kind="pivot", keys=("bool",), across="enum", aggregates=(Aggregate(column, "mean"),)),
        ViewState(kind="describe"),
    ]
    for view in views:
        try:
            shown = apply(frame, view)
        except ViewError as error:
            assert "\n" not in str(error)
            continue
        TableModel(shown.frame, shown.rows, shown.specs, shown.hidden)
        to_markdown(shown)
        for row in range(shown.frame.height):
            try:
                condition = shown.condition(row, shown.frame.columns[0])
            except NoConditionError:
                continue
            behind = apply(frame, view.inside(condition))
            assert behind.source_rows >= 1


@pytest.mark.parametrize(
    "series",
    [
        pl.Series("a b", ["it's", None]),
        pl.Series("select", [1, 2]),
        pl.Series("F", [0.1 + 0.2, -1e-300]),
        pl.Series("b", [True, False]),
        pl.Series("c", ["u", None], dtype=pl.Categorical),
        pl.Series("t", [dt.datetime(2026, 1, 2, 3, 4, 5, 6), None]),
        pl.Series("d", [dt.date(2026, 1, 2), None]),
        pl.Series("u", [2**64 - 1, 0], dtype=pl.UInt64),
        pl.Series("m", ["1.25", None]).cast(pl.Decimal(10, 2)),
    ],
    ids=lambda series: series.name,
)
def test_equal_picks_the_row_for_every_type(series: pl.Series) -> None:
    for row in (0, 1):
        found = series.to_frame().filter(pl.sql_expr(equal(series, row)))
        assert found.to_series().eq_missing(series.slice(row, 1)).all()
        assert found.height == 1


def test_equal_refuses_what_equals_nothing() -> None:
    for series in (pl.Series("l", [[1]]), pl.Series("f", [float("nan")]), pl.Series("b", [b"x"])):
        with pytest.raises(NoConditionError):
            equal(series, 0)
    assert quoted('a"b') == '"a""b"'


def test_bin_width_is_round() -> None:
    assert summaries.bin_width(0, 10) == 1.0
    assert summaries.bin_width(0, 0.3) == pytest.approx(0.05)
    assert summaries.bin_width(5, 5) == 1.0


def test_transitions() -> None:
    view = ViewState()
    assert view.sorted_by("a", True).sorted_by("a", True) == view
    assert view.sorted_by("a", True).sorted_by("a", False).sorts == (Sort("a", False),)
    assert view.sorted_by("a", True).sorted_by("b", False, also=True).sorts == (
        Sort("a", True),
        Sort("b", False),
    )
    assert view.toggling_key("a").hiding("a", ["z"]).hidden == ("z", "a")
    assert view.toggling_key("a").hiding("a", []).keys == ()
    inner = view.inside("x = 1").inside("x = 1")
    assert inner.within == ("x = 1",)
    assert (inner.title, inner.trail) == ("runs", "x = 1")


VIEW = ViewState(
    level="reps", kind="pivot", name="n", filter="npu", within=("a = 1",), sorts=(Sort("a", True),),
    hidden=(), order=("b",), keys=("k",), across="c", aggregates=(Aggregate("v", "mean"),),
)  # fmt: skip


def test_views_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "views.json"
    assert load_views(path) == {}
    save_views(path, {"n": VIEW})
    assert load_views(path) == {"n": VIEW}
    assert from_json(json.loads(json.dumps(to_json(ViewState())))) == ViewState()


@pytest.mark.parametrize(
    "value",
    [
        [], {"colour": 1}, {"level": "years"}, {"sorts": [{}]}, {"keys": "ab"}, {"filter": 3},
        {"hidden": [1]}, {"aggregates": [{"column": "a", "how": "guess"}]},
    ],
)  # fmt: skip
def test_a_malformed_view_is_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(ViewError):
        from_json(value)
    path = tmp_path / "views.json"
    path.write_text(json.dumps({"version": 1, "views": {"bad": value}}), encoding="utf-8")
    with pytest.raises(ViewError, match="bad"):
        load_views(path)


def test_another_version_of_views_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "views.json"
    path.write_text('{"version": 99}', encoding="utf-8")
    with pytest.raises(ViewError, match="version 1"):
        load_views(path)


def test_views_are_computed_without_textual() -> None:
    names = sorted(
        path.stem for path in (ROOT / "explorer" / "analysis").glob("*.py") if path.stem != "__init__"
    )
    imports = ", ".join(f"explorer.analysis.{name}" for name in names)
    code = f"import sys, {imports}; print('textual' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize(("text", "left"), [("1 = 1", 6), ("1 = 2", 0), ("max(speedup) > 1", 6)])
def test_a_condition_without_a_column_holds_for_every_row_or_none(text: str, left: int) -> None:
    frame = pl.DataFrame({"speedup": [1.0, 2.0, None, 3.0, 0.5, 1.5]})
    rows = select_rows(frame, [compile_filter(text, frame.schema)], [("speedup", True)])
    assert rows is not None
    assert len(rows) == left


def test_a_pivot_across_many_numbers_has_bins_that_lead_to_their_rows() -> None:
    values = [number / 7 for number in range(30)]
    frame = pl.DataFrame(
        {
            "draft": ["a", "b"] * 16,
            "speedup": [*values, None, float("nan")],
            "tok_s": [float(number) for number in range(32)],
        }
    )
    view = ViewState(
        kind="pivot", keys=("draft",), across="speedup", aggregates=(Aggregate("tok_s", "count"),)
    )
    shown = apply(frame, view)
    heads = [name for name in shown.columns_where if name != "all"]
    assert len(heads) <= 12 and "speedup=0.5 to 1.0" in heads and "speedup missing" in heads
    seen = 0
    for name in heads:
        for row in range(shown.frame.height):
            behind = frame.filter(compile_filter(shown.condition(row, name), frame.schema)).height
            assert behind == (shown.frame[name][row] or 0)
            seen += behind
    assert seen == frame.height
