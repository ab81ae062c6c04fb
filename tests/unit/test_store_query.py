"""The filter language, sorting and cross tables."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.store.pivot import parse_pivot, pivot
from sweeps.store.query import FilterError, compile_filter, filter_rows, known_columns, parse_sort, sort_rows
from sweeps.store.schema import RUNS

FRAME = pl.DataFrame(
    {
        "draft": ["small", "small", "medium", None, "small"],
        "draft_device": ["CPU", "NPU", "CPU", None, "NPU"],
        "num_assistant_tokens": [3, 3, 5, None, 1],
        "speedup": [1.5, 0.6, 1.2, None, 0.8],
        "tok_s": [30.0, 12.0, 24.0, 20.0, None],
        "noisy": [True, False, False, None, False],
        "prompt": ["story", "story", "code", "code", "story"],
    },
    schema_overrides={"num_assistant_tokens": pl.Int64},
)
SCHEMA = {name: column.dtype for name, column in RUNS.items()}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("  ", [0, 1, 2, 3, 4]),
        ("draft_device = 'NPU' and speedup < 1", [1, 4]),
        ("speedup > 1 or draft is null", [0, 2, 3]),
        ("num_assistant_tokens in (1, 5)", [2, 4]),
        ("draft like 'sm%' AND NOT noisy", [1, 4]),
        ("speedup between 0.7 and 1.3", [2, 4]),
        ("tok_s / speedup > 15", [0, 1, 2]),
        ("noisy", [0]),
        ("npu", [1, 4]),
        ("small story", [0, 1, 4]),
        ('"small" CPU', [0]),
        ("nothing-of-that-kind", []),
    ],
)
def test_conditions_and_words(text: str, kept: list[int]) -> None:
    found = filter_rows(FRAME.with_row_index("at"), text)
    assert found["at"].to_list() == kept


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("spedup > 1", "no column spedup; did you mean speedup", 0),
        ("NAT = 3", "no column NAT; did you mean num_assistant_tokens", 0),
        ('draft_device = "NPU"', "texts stand in single quotes: 'NPU'", 16),
        ("speedup >", "Expected: an expression, found the end", 9),
        ("speedup > 1 andd noisy", "found: andd", 12),
        ("speedup > 1 andd", "found: andd", 12),
        ("speedup > 1; drop table x", "", None),
        ("draft = 'NP", "Unterminated string literal", 8),
        ("(speedup > 1))", "found: )", 13),
        ("speedup > 1\nand and", "", None),
        ("draft < 3", "cannot compare string", 0),
        ("speedup > 1 and draft < 3", "cannot compare string", 16),
        ("speedup between 1 and 2 or  draft < 3", "cannot compare string", 28),
        ("draft = 'a and b' and (noisy or speedup > 1) and draft < 3", "cannot compare string", 49),
        ("speedup + 1", "not a condition: it gives Float64", None),
        ("draft ~ '['", "regex", None),
        ("frobnicate(speedup) > 1", "unsupported function", None),
        ("speedup > 1, draft", "found: ,", 11),
    ],
)
def test_what_is_wrong_and_where(text: str, message: str, position: int | None) -> None:
    with pytest.raises(FilterError) as caught:
        compile_filter(text, FRAME.schema)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    if position is not None:
        assert caught.value.position == position


WORDS = st.sampled_from(
    [
        *list(SCHEMA)[:12],
        "and",
        "or",
        "not",
        "=",
        "<",
        ">",
        "(",
        ")",
        "'x'",
        "1",
        "1.5",
        "in",
        "like",
        "is null",
        ",",
        "*",
    ]
)


@given(st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=8).map(" ".join)))
@settings(deadline=None, max_examples=200)
def test_any_text_filters_or_says_what_is_wrong(text: str) -> None:
    frame = pl.DataFrame({name: [None] for name in SCHEMA}, schema=SCHEMA)
    try:
        assert filter_rows(frame, text).height <= 1
    except FilterError as error:
        assert str(error)
        assert error.position is None or 0 <= error.position <= len(text)


def test_a_ranking_puts_noisy_rows_after_all_others() -> None:
    ranked = sort_rows(FRAME, parse_sort("-speedup"))
    assert ranked["speedup"].to_list() == [1.2, 0.8, 0.6, None, 1.5]
    by_name = sort_rows(FRAME, parse_sort("prompt,-num_assistant_tokens"))
    assert by_name["num_assistant_tokens"].to_list() == [5, None, 3, 3, 1]
    assert by_name["speedup"].to_list()[2:4] == [1.5, 0.6]
    assert sort_rows(FRAME, []) is FRAME
    with pytest.raises(FilterError, match="did you mean speedup"):
        sort_rows(FRAME, parse_sort("speed_up"))


def test_sort_words() -> None:
    assert parse_sort("a, -b,+c,") == [("a", False), ("b", True), ("c", False)]


def test_columns_are_checked() -> None:
    assert known_columns(["tok_s", "draft", "tok_s"], FRAME) == ["tok_s", "draft"]
    with pytest.raises(FilterError, match="no column toks"):
        known_columns(["toks"], FRAME)


def test_a_cross_table_counts_what_is_behind_each_cell() -> None:
    found = pivot(FRAME, ["draft"], ["draft_device"], "speedup")
    assert found.labels == ("CPU", "NPU", "none")
    assert found.values["draft"].to_list() == ["small", "medium", None]
    assert found.values["CPU"].to_list() == [1.5, 1.2, None]
    assert found.values["NPU"].to_list() == [pytest.approx(0.7), None, None]
    assert found.counts["NPU"].to_list() == [2, None, None]
    # The rows are there, the values are not.
    assert found.counts["none"].to_list() == [None, None, 0]
    assert found.flat().columns == ["draft", "CPU", "CPU n", "NPU", "NPU n", "none", "none n"]


def test_cross_tables_in_order_of_numbers_and_with_several_axes() -> None:
    found = pivot(FRAME, ["prompt"], ["num_assistant_tokens"], "speedup", "max")
    assert found.labels == ("1", "3", "5", "none")
    both = pivot(FRAME, ["prompt"], ["draft", "draft_device"], "speedup", "gmean")
    assert both.labels == ("small / CPU", "small / NPU", "medium / CPU", "none / none")
    assert both.values["small / NPU"][0] == pytest.approx((0.6 * 0.8) ** 0.5)
    alone = pivot(FRAME, ["draft_device"], [], "tok_s", "count")
    assert alone.labels == ("count tok_s",)
    assert alone.values["count tok_s"].to_list() == [2, 1, 1]


def test_a_column_may_be_axis_and_value_and_labels_may_collide() -> None:
    found = pivot(FRAME, ["draft"], ["draft"], "draft", "count")
    assert found.values.rows() == [("small", 3), ("medium", 1), (None, 0)]
    odd = FRAME.with_columns(draft=pl.lit("prompt"))
    assert pivot(odd, ["prompt"], ["draft"], "speedup").labels == ("= prompt",)


@pytest.mark.parametrize("agg", ["mean", "gmean", "median", "min", "max", "sum", "sd", "count", "first"])
def test_every_aggregate_leaves_out_missing_values(agg: str) -> None:
    found = pivot(FRAME, ["prompt"], [], "speedup", agg)
    assert found.counts.rows() == [("story", 3), ("code", 1)]
    assert found.values.height == 2


def test_pivot_words() -> None:
    assert parse_pivot("rows=a,b, cols = c ,values=d,agg=mean") == {
        "rows": ["a", "b"],
        "cols": ["c"],
        "values": ["d"],
        "agg": ["mean"],
    }
    for text, message in (
        ("rows=a", "values=COLUMN is missing"),
        ("", "rows=COLUMN is missing"),
        ("rows=a,values=b,value=c", "value is none of"),
        ("rows=a,rows=b,values=c", "given twice"),
    ):
        with pytest.raises(FilterError, match=message):
            parse_pivot(text)


def test_pivots_that_make_no_sense() -> None:
    for row, value, agg, message in (
        ("draf", "speedup", "mean", "did you mean draft"),
        ("draft", "speedup", "average", "none of mean"),
        ("draft", "prompt", "mean", "is text"),
    ):
        with pytest.raises(FilterError, match=message):
            pivot(FRAME, [row], [], value, agg)
