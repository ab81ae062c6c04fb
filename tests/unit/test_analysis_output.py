"""What leaves a view: files, comparisons, charts, completions."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from explorer.analysis.apply import apply
from explorer.analysis.charts import chart, to_text
from explorer.analysis.compare import around_text, compare, to_markdown
from explorer.analysis.complete import complete, values_of
from explorer.analysis.export import ExportError, export, visible_columns
from explorer.analysis.export import to_markdown as table_markdown
from explorer.analysis.view import Sort, ViewState
from sweeps.exchange import published
from sweeps.store.schema import REPS, empty


@pytest.fixture
def runs() -> pl.DataFrame:
    return published.load()


def test_every_format_holds_the_rows_as_shown(runs: pl.DataFrame, tmp_path: Path) -> None:
    shown = apply(runs, ViewState(within=("draft_device = 'NPU'",), sorts=(Sort("speedup"),), keys=("path",)))
    for suffix in (".csv", ".jsonl", ".parquet", ".md"):
        assert export(shown, tmp_path / f"x{suffix}") == 3
    csv = pl.read_csv(tmp_path / "x.csv")
    assert csv.columns[0] == "path"
    assert csv["speedup"].to_list() == [0.55, 0.58, 0.74]
    assert "tok_s_sd" in csv.columns  # stands inside a visible cell
    first = json.loads((tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["speedup"] == 0.55
    assert pl.read_parquet(tmp_path / "x.parquet")["speedup"].dtype == pl.Float64
    head, rule, line, *_ = (tmp_path / "x.md").read_text(encoding="utf-8").splitlines()
    assert head.startswith("| path | target | draft | NAT |")
    assert set(rule) <= set("|-: ")
    assert "qwen3-14b@GPU" in line
    assert "6.7 ±0.1" in line


def test_export_refuses_politely(runs: pl.DataFrame, tmp_path: Path) -> None:
    shown = apply(runs, ViewState())
    (tmp_path / "x.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(ExportError, match="there already"):
        export(shown, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == "mine"
    assert export(shown, tmp_path / "x.csv", replace=True) == 9
    with pytest.raises(ExportError, match="must end in"):
        export(shown, tmp_path / "x.xls")


def test_nested_columns_have_a_place_in_csv(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "l": [[1, 2], None],
            "s": [{"a": 1}, {"a": 2}],
            "b": [b"\x01", None],
            "n": [None, None],
            "t": ["a|b", "c"],
        }
    )
    shown = apply(frame, ViewState(hidden=()))
    export(shown, tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()
    assert text[0] == "l,s,b,n,t"
    assert text[1] == '"[1,2]","{""a"":1}",01,,a|b'
    export(shown, tmp_path / "x.jsonl")
    assert json.loads((tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()[0])["l"] == [1, 2]
    assert "a\\|b" in table_markdown(shown)
    assert visible_columns(shown) == frame.columns


def reps_of(runs: pl.DataFrame, texts: list[list[int]]) -> pl.DataFrame:
    rows = runs.select("sweep", "run", "prompt").with_columns(
        rep=pl.lit(0, pl.Int64), token_ids=pl.Series(texts, dtype=pl.List(pl.Int32))
    )
    return pl.concat([empty(REPS), rows], how="diagonal")


def test_compare_shows_what_differs_and_where_texts_part(runs: pl.DataFrame) -> None:
    pair = runs.filter(pl.col("draft_device").is_in(["CPU", "NPU"]) & (pl.col("num_assistant_tokens") == 3))
    found = compare(pair, "runs", reps_of(pair, [[1, 2, 3, 4], [1, 2, 9, 4]]))
    differing = dict(found.differing)
    assert differing["draft_device"] == ["CPU", "NPU"]
    assert differing["path"] == ["cb", "stateful"]
    assert ("num_assistant_tokens", "3") in found.common
    metrics = dict(found.metrics)
    assert metrics["tok/s"] == ["16.5 ±0.5", "7.1 ±0.0"]
    assert found.texts[0] == "B: token 2: 9 here, 3 in A"
    assert found.texts[1] == "   A: 1 2 [3] 4"
    assert found.texts[-1].endswith("A=A B=B")
    assert "| draft_device | CPU | NPU |" in to_markdown(found)


def test_compare_without_texts(runs: pl.DataFrame) -> None:
    found = compare(runs.head(2), "runs", empty(REPS))
    assert found.texts == ["A: no text is kept for this row", "B: no text is kept for this row"]


def test_chart_has_a_line_for_each_device_with_intervals(runs: pl.DataFrame) -> None:
    data = chart(runs, "speedup")
    assert {line.name.split()[0] for line in data.lines} == {"CPU", "NPU"}
    npu = next(line for line in data.lines if line.name.startswith("NPU"))
    assert [(point.x, point.y) for point in npu.points] == [(1, 0.74), (3, 0.58), (5, 0.55)]
    assert data.level == 1.0
    assert data.note.startswith("4 rows")
    speed = chart(runs, "tok_s")
    point = speed.lines[0].points[0]
    assert point.low is not None
    assert point.high is not None
    assert point.low < point.y < point.high


def test_many_lines_are_folded_and_the_note_says_so(runs: pl.DataFrame) -> None:
    prompts = pl.DataFrame(
        {"prompt": [f"p{number}" for number in range(6)], "add": [0.01 * n for n in range(6)]}
    )
    many = runs.drop("prompt").join(prompts, how="cross").with_columns(pl.col("speedup") + pl.col("add"))
    data = chart(many, "speedup")
    assert len(data.lines) == 2
    point = next(line for line in data.lines if "NPU" in line.name).points[0]
    assert [point.y, point.low, point.high] == pytest.approx([0.765, 0.74, 0.79])
    assert "Medians over prompt, bars from the lowest to the highest value." in data.note


def test_doubtful_rows_are_not_drawn(runs: pl.DataFrame) -> None:
    doubtful = runs.with_columns(status=pl.lit("metric_suspect"))
    assert chart(doubtful, "speedup").lines == ()
    assert "No row" in to_text(chart(doubtful, "speedup"), 60)[-1]


def test_acceptance_has_a_binomial_interval() -> None:
    frame = pl.DataFrame(
        {"num_assistant_tokens": [3], "acceptance": [0.5], "accepted": [50], "proposals": [100]}
    )
    point = chart(frame, "acceptance").lines[0].points[0]
    assert point.low == pytest.approx(0.404, abs=1e-3)
    assert point.high == pytest.approx(0.596, abs=1e-3)


def test_round_budget_adds_up() -> None:
    frame = pl.DataFrame(
        {
            "draft": ["d"], "draft_device": ["NPU"], "num_assistant_tokens": [3], "prompt": ["p"],
            "status": ["ok"], "draft_ms": [10.0], "proposals_per_round": [2.5], "verify_ms": [50.0],
            "rest_ms": [5.0],
        }
    )  # fmt: skip
    data = chart(frame, "budget")
    assert data.bars[0].parts == (25.0, 50.0, 5.0)
    text = to_text(data, 60, marks="#=.")
    assert "80.0" in text[-1]
    assert "#=" in text[-1]


def test_text_chart_fits_and_is_ascii_when_asked(runs: pl.DataFrame) -> None:
    lines = to_text(chart(runs, "tok_s"), 60, bar="#", marks="#=.", to="..", level="|")
    assert all(len(line) <= 60 and line.isascii() for line in lines)


COLUMNS = ["target", "draft", "draft_device", "speedup"]


def names(column: str) -> list[str]:
    return {"draft_device": ["NPU", "CPU"], "draft": ["it's"]}.get(column, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ta", "target"),
        ("speedup > 1 AND dra", "speedup > 1 AND draft"),
        ("draft_device = 'N", "draft_device = 'NPU'"),
        ("draft_device IN ('CPU', 'n", "draft_device IN ('CPU', 'nPU'"),
        ("draft != 'it", "draft != 'it''s'"),
        ("speedup > 1 an", "speedup > 1 and"),
        ("draft_device = 'x", None),
        ("", None),
        ("speedup > ", None),
    ],
)
def test_completion(text: str, expected: str | None) -> None:
    assert complete(text, COLUMNS, names) == expected


def test_values_for_completion_are_the_frequent_ones(runs: pl.DataFrame) -> None:
    assert values_of(runs, "draft_device") == ["NPU", "CPU"]
    assert values_of(runs, "speedup") == []
    assert values_of(runs, "nothing") == []


def test_lines_are_named_by_what_tells_them_apart() -> None:
    rows = pl.DataFrame(
        {
            "sweep": ["a-1", "a-1", "b-1"],
            "target": ["t", "t", "q"],
            "draft": ["s", None, "z"],
            "draft_device": ["NPU", None, "CPU"],
            "path": ["stateful", "cb", "cb"],
            "num_assistant_tokens": [1, 1, 1],
            "speedup": [1.0, 1.1, 1.2],
            "status": ["ok"] * 3,
        }
    )
    assert [line.name for line in chart(rows, "speedup").lines] == ["no draft", "s NPU", "z CPU"]
    twice = pl.concat([rows, rows.with_columns(sweep=pl.lit("c-1"))])
    names = [line.name for line in chart(twice, "speedup").lines]
    assert len(set(names)) == 6 and all("-1" in name for name in names), "then the sweep tells them apart"


def test_texts_are_read_around_the_first_divergence() -> None:
    words = {1: b"The", 2: b" sky", 3: b" is", 4: b" blue", 5: b"\n", 6: b" red"}

    def spell(token: int) -> bytes:
        return words[token]

    assert around_text([1, 2, 3, 4, 5], 3, spell) == "The sky is[ blue]\\n"
    assert around_text([1, 2, 3], 3, spell) == "The sky is [end]"
    assert around_text([1, 2, 3, 4], 3, spell, before=1) == "... is[ blue]"
    rows = pl.DataFrame({"sweep": ["s", "s"], "run": ["a", "b"], "prompt": ["p", "p"]})
    reps = rows.with_columns(rep=pl.lit(0), token_ids=pl.Series([[1, 2, 3, 4], [1, 2, 3, 6]]))
    found = compare(rows, "runs", reps, spellings=[spell, None])
    assert "   A: The sky is[ blue]" in found.texts
    assert "   B: 1 2 3 [6]" in found.texts, "ids where the model is not here"
