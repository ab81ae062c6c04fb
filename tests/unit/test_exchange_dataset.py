"""The published rows, data-set folders, and rows kept after an import."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from explorer.cli.commands.import_ import command as import_command
from explorer.cli.commands.publish import command as publish_command
from explorer.cli.errors import Problem
from sweeps import paths
from sweeps.exchange import dataset, detect, imported, published, rows
from sweeps.exchange.rows import ExchangeError
from sweeps.store.schema import RUNS

LUNAR_LAKE = paths.bundled("published") / "lunar-lake"


def test_published_rows_have_exactly_the_columns_of_runs() -> None:
    runs = published.load()
    assert runs.schema == {name: column.dtype for name, column in RUNS.items()}
    assert runs.height == 9
    assert runs["run"].n_unique() == 9
    assert runs["host"].unique().to_list() == ["Core Ultra 7 258V (published)"]
    assert set(runs["source"]) == {"published"} and set(runs["status"]) == {"ok"}


@pytest.mark.parametrize("name", ["standalone", "speculative"])
def test_published_csv_and_jsonl_are_one_table(name: str) -> None:
    lines = (LUNAR_LAKE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    with (LUNAR_LAKE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(lines) == len(table)
    for line, row in zip(lines, table, strict=True):
        values = json.loads(line)
        assert list(values) == list(row)
        for column, word in row.items():
            value = values[column]
            assert word == "" if value is None else (str(value) == word or value == float(word))


def test_published_numbers_agree_with_each_other() -> None:
    runs = published.load()
    baseline = runs.filter(kind="plain", target="qwen3-14b").row(0, named=True)
    pairs = runs.filter(kind="speculative")
    assert set(pairs["baseline"]) == {baseline["run"]}
    for row in pairs.iter_rows(named=True):
        # Both rates are rounded to 0.05 and the speed-up to 0.005.
        assert row["speedup"] == pytest.approx(row["tok_s"] / baseline["tok_s"], abs=0.011)
    for row in runs.filter(pl.col("tpot_ms").is_not_null()).iter_rows(named=True):
        assert 1000 / row["tok_s"] == pytest.approx(row["tpot_ms"], abs=0.1)


def test_published_path_follows_the_routing() -> None:
    runs = published.load()
    paths_of = set(runs.filter(kind="speculative").select("draft_device", "path").iter_rows())
    assert paths_of == {("CPU", "cb"), ("NPU", "stateful")}
    alone = set(runs.filter(kind="plain").select("target_device", "path").iter_rows())
    assert alone == {("CPU", None), ("GPU", None), ("NPU", "npu")}


def test_published_invents_nothing() -> None:
    runs = published.load()
    unknown = (
        "ttft_ms",
        "rounds",
        "verify_ms",
        "draft_ms",
        "started",
        "speedup_lo",
        "proposals",
        "finish",
        "noisy",
    )
    assert all(runs[name].null_count() == runs.height for name in unknown)
    card = (LUNAR_LAKE / "README.md").read_text(encoding="utf-8")
    for word in (
        "blairducrayoppat",
        "same stateful path",
        "continuous batching",
        "accepted / proposed",
        "Open questions",
    ):
        assert word in card


def test_a_damaged_published_set_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "setup.json").write_text('{"name": "mine"}', encoding="utf-8")
    with pytest.raises(ExchangeError, match="protocol is missing"):
        published.load(tmp_path)


def test_data_set_reads_back_from_each_form(tmp_path: Path) -> None:
    runs = published.load()
    files = dataset.write(tmp_path / "out", runs, title="Lunar Lake")
    assert [path.name for path in files] == list(dataset.FILES)
    for path in files[:3]:
        assert_frame_equal(detect.load(path).runs, runs)
    assert_frame_equal(detect.load(tmp_path / "out").runs, runs)
    assert b"\r" not in files[0].read_bytes()


def test_card_tells_source_machine_and_every_column(tmp_path: Path) -> None:
    files = dataset.write(
        tmp_path, published.load(), title='A "title" | here', about="What I did.", licence="mit"
    )
    card = files[3].read_text(encoding="utf-8")
    assert card.startswith("---\nlicense: mit\n") and "pretty_name: \"A 'title' / here\"" in card
    assert "| published | Core Ultra 7 258V (published) | 2026.1.0 | 2026.1.0.0 | 9 |" in card
    assert "| speculative | cb | ok | 2 |" in card and "What I did." in card
    assert all(f"| `{name}` |" in card for name in RUNS)


def test_data_set_hides_home_and_host_but_not_other_peoples(tmp_path: Path) -> None:
    mine = {
        "run": "1",
        "kind": "plain",
        "host": "my-laptop",
        "source": "measured",
        "reason": f"{Path.home()}/m: not found",
    }
    runs = pl.concat([rows.frame([mine]), published.load()])
    files = dataset.write(tmp_path, runs, title="t", host="a laptop")
    written = detect.load(files[2]).runs
    assert written["host"].to_list() == ["a laptop", *["Core Ultra 7 258V (published)"] * 9]
    assert str(Path.home()) not in files[0].read_text(encoding="utf-8") or len(str(Path.home())) <= 3


def test_data_set_overwrites_itself_and_nothing_else(tmp_path: Path) -> None:
    runs = published.load()
    dataset.write(tmp_path, runs, title="one")
    dataset.write(tmp_path, runs.head(2), title="two")
    assert detect.load(tmp_path).runs.height == 2
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(ExchangeError, match=r"holds other files \(thesis.tex\)"):
        dataset.write(tmp_path, runs, title="three")
    with pytest.raises(ExchangeError, match="no run to write"):
        dataset.write(tmp_path / "new", runs.clear(), title="none")


def test_a_table_of_another_kind_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(ExchangeError, match="not a run table: no column run"):
        detect.load(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ExchangeError, match="not a run table"):
        detect.load(tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text("run,kind,target,tok_s\n1,plain,m,fast\n", encoding="utf-8")
    with pytest.raises(ExchangeError, match="another type"):
        detect.load(tmp_path / "c.csv")
    (tmp_path / "d.jsonl").write_text(
        '{"run":"1","kind":"plain","target":"m","tok_s":1,"x":2}', encoding="utf-8"
    )
    with pytest.raises(ExchangeError, match="no column x"):
        detect.load(tmp_path / "d.jsonl")
    with pytest.raises(ExchangeError, match=r"no runs\.parquet"):
        detect.load(tmp_path.parent)


def test_imported_rows_are_kept_and_replaced(tmp_path: Path) -> None:
    assert imported.load(tmp_path).is_empty()
    runs = published.load()
    imported.save(tmp_path, "a tool: run/1", runs)
    imported.save(tmp_path, "other", runs.head(1))
    path = imported.save(tmp_path, "a tool: run/1", runs.head(3))
    assert path.parent == tmp_path / "imported" and path.name == "a-tool-run-1.parquet"
    assert imported.load(tmp_path).height == 4


def test_settings_say_what_the_file_does_not() -> None:
    runs = imported.change(published.load(), {"num_assistant_tokens": "3", "emulated": "true", "draft": "d"})
    assert set(runs["num_assistant_tokens"]) == {3} and set(runs["emulated"]) == {True}
    assert list(runs.columns) == list(RUNS)
    with pytest.raises(ExchangeError, match="no column nat"):
        imported.change(runs, {"nat": "3"})
    with pytest.raises(ExchangeError, match="another type"):
        imported.change(runs, {"reps": "many"})


def test_import_command(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    dataset.write(folder, published.load(), title="given")
    arguments = [str(folder), "--host", "there", "--set", "path=cb", "--data", str(tmp_path / "results")]
    result = CliRunner().invoke(import_command, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip().endswith(".parquet") and "9 rows of data set" in result.stderr
    kept = imported.load(tmp_path / "results")
    assert set(kept["host"]) == {"there"} and set(kept["path"]) == {"cb"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "cannot be read"),
        (["{good}", "nowhere.json"], "cannot be read"),
        (["{good}", "--set", "x"], "COL"),
    ],
)
def test_import_command_refuses_and_keeps_nothing(tmp_path: Path, arguments: list[str], message: str) -> None:
    dataset.write(tmp_path / "good", published.load(), title="good")
    given = [one.format(good=tmp_path / "good") for one in arguments]
    result = CliRunner().invoke(import_command, [*given, "--data", str(tmp_path / "results")])
    assert isinstance(result.exception, Problem) and message in str(result.exception)
    assert result.exception.exit_code == 2
    assert not (tmp_path / "results").exists()


def test_rows_of_another_machine_are_not_called_measured(tmp_path: Path) -> None:
    theirs = rows.frame([{"run": "1", "kind": "plain", "target": "m", "tok_s": 3.0, "source": "measured"}])
    imported.save(tmp_path, "theirs", theirs)
    assert imported.load(tmp_path)["source"].to_list() == ["imported"]


def test_kept_rows_outlive_a_column_and_name_a_broken_file(tmp_path: Path) -> None:
    path = imported.save(tmp_path, "old", published.load())
    pl.read_parquet(path).with_columns(gone=1).drop("added").write_parquet(path)
    assert imported.load(tmp_path).schema == published.load().schema
    path.write_bytes(b"half")
    with pytest.raises(ExchangeError, match=r"old\.parquet: cannot be read; remove it"):
        imported.load(tmp_path)


def test_publish_command_writes_what_was_imported(tmp_path: Path) -> None:
    results = tmp_path / "results"
    rows_of = {
        "run": "1",
        "kind": "plain",
        "target": "m",
        "status": "ok",
        "source": "llm_bench",
        "host": "there",
    }
    given = [rows_of | {"tok_s": rate, "prompt": f"prompt {rate}"} for rate in (3.0, 5.0)]
    imported.save(results, "theirs", rows.frame(given))
    arguments = [str(tmp_path / "out"), "--where", "tok_s > 4", "--title", "Mine", "--data", str(results)]
    result = CliRunner().invoke(publish_command, arguments)
    assert result.exit_code == 0, result.output
    assert [Path(line).name for line in result.stdout.splitlines()] == list(dataset.FILES)
    assert detect.load(tmp_path / "out").runs["tok_s"].to_list() == [5.0], (
        "published rows are somebody else's"
    )


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        ([], "no run to publish", 1),
        (["--sweep", "nowhere"], "no run of nowhere to publish", 1),
        (["--where", "nat > 3"], "--where: ", 2),
    ],
)
def test_publish_command_refuses(tmp_path: Path, arguments: list[str], message: str, code: int) -> None:
    given = [str(tmp_path / "out"), "--data", str(tmp_path / "results"), *arguments]
    result = CliRunner().invoke(publish_command, given)
    assert isinstance(result.exception, Problem) and str(result.exception).startswith(message)
    assert result.exception.exit_code == code
    assert not (tmp_path / "out").exists()
