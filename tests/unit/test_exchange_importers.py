"""Importers on small files in the formats that the tools write."""

from __future__ import annotations

import csv
import io
import json
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.exchange import detect
from sweeps.exchange.rows import ExchangeError
from sweeps.store.schema import RUNS

HEADER = [
    "iteration",
    "model",
    "framework",
    "device",
    "pretrain_time(s)",
    "input_size",
    "infer_count",
    "generation_time(s)",
    "output_size",
    "latency(ms)",
    "1st_latency(ms)",
    "2nd_avg_latency(ms)",
    "precision",
    "max_rss_mem(MB)",
    "max_uss_mem(MB)",
    "max_shared_mem(MB)",
    "prompt_idx",
    "1st_infer_latency(ms)",
    "2nd_infer_avg_latency(ms)",
    "num_beams",
    "batch_size",
    "tokenization_time",
    "detokenization_time",
    "result_md5",
    "start",
    "end",
]


def rep(iteration: object, second: object, **other: object) -> dict[str, object]:
    return {
        "iteration": iteration,
        "model": "qwen3-8b",
        "framework": "ov",
        "device": "GPU",
        "input_size": 32,
        "infer_count": 128,
        "generation_time(s)": 4.0,
        "output_size": 128,
        "latency(ms)": 31.25,
        "1st_latency(ms)": 90.0,
        "2nd_avg_latency(ms)": second,
        "precision": "INT4",
        "max_rss_mem(MB)": 5000.5,
        "prompt_idx": 0,
        "num_beams": 1,
        "batch_size": 1,
        "start": f"2026-11-30T10:00:0{iteration}" if isinstance(iteration, int) else "",
        **other,
    }


def csv_text(reps: list[dict[str, object]]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, HEADER)
    writer.writeheader()
    for number, row in enumerate(reps):
        writer.writerow(row | {"pretrain_time(s)": 7.5 if number == 0 else ""})
    for word in ("avg", "mini", "median"):
        writer.writerow(rep(word, 1.0))
    writer.writerow({})
    writer.writerow({"iteration": "input_size: Input token size"})
    writer.writerow({"iteration": "iteration=0: warm-up; iteration=avg: average (exclude warm-up)"})
    return buffer.getvalue()


def saved(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8"))
    return path


def only(runs: pl.DataFrame) -> dict[str, Any]:
    assert list(runs.columns) == list(RUNS)
    assert runs.schema == {name: column.dtype for name, column in RUNS.items()}
    assert runs.height == 1
    return runs.row(0, named=True)


def test_llm_bench_csv(tmp_path: Path) -> None:
    reps = [rep(0, 99.0), rep(1, 20.0), rep(2, 25.0), rep(3, 40.0)]
    found = detect.load(saved(tmp_path, "report.csv", csv_text(reps)))
    row = only(found.runs)
    rates = [50.0, 40.0, 25.0]
    assert found.tool == row["source"] == "llm_bench"
    assert (row["target"], row["target_device"], row["kind"]) == ("qwen3-8b", "GPU", "plain")
    assert row["reps"] == 3, "the warm-up, the averages and the comments are no reps"
    assert row["tok_s"] == pytest.approx(statistics.fmean(rates))
    assert row["tok_s_sd"] == pytest.approx(statistics.stdev(rates))
    assert row["rel_mad"] == pytest.approx(10 / 40) and row["noisy"] is True
    assert row["tpot_ms"] == pytest.approx((20 + 25 + 40) / 3)
    assert row["wall_tok_s"] == pytest.approx(32.0)
    assert (row["ttft_ms"], row["construct_s"], row["peak_rss_mb"]) == (90.0, 7.5, 5000.5)
    assert (row["tokens"], row["max_new_tokens"], row["prompt_tokens"]) == (128, 128, 32)
    assert row["started"] == "2026-11-30T10:00:01"
    assert json.loads(row["properties"])["precision"] == "INT4"
    unknown = ("path", "draft", "acceptance", "speedup", "openvino", "host", "emulated")
    assert all(row[name] is None for name in unknown)


def test_llm_bench_prompts_are_rows_of_one_run(tmp_path: Path) -> None:
    reps = [rep(0, 9.0), rep(0, 9.0, prompt_idx=1), rep(1, 20.0), rep(1, 10.0, prompt_idx=1)]
    runs = detect.load(saved(tmp_path, "report.csv", csv_text(reps))).runs
    assert runs["prompt"].to_list() == ["prompt 0", "prompt 1"]
    assert runs["tok_s"].to_list() == [50.0, 100.0]
    assert runs["run"].n_unique() == 1
    assert runs["tok_s_sd"].to_list() == [None, None], "one rep has no spread"


def test_llm_bench_missing_latency_is_not_a_number(tmp_path: Path) -> None:
    row = only(detect.load(saved(tmp_path, "r.csv", csv_text([rep(0, 9.0), rep(1, "NA")]))).runs)
    assert row["tok_s"] is None and row["tpot_ms"] is None
    assert row["status"] == "metric_suspect" and "1 of 1" in row["reason"]


def test_llm_bench_short_output_is_told(tmp_path: Path) -> None:
    row = only(
        detect.load(saved(tmp_path, "r.csv", csv_text([rep(0, 9.0), rep(1, 9.0, output_size=68)]))).runs
    )
    assert (row["status"], row["reason"], row["tokens"]) == ("budget_not_met", "68 of 128 tokens", 68)


def llm_bench_json(**other: object) -> dict[str, Any]:
    def result(iteration: int, second: float) -> dict[str, object]:
        return {
            "iteration": iteration,
            "input_size": 32,
            "infer_count": 128,
            "output_size": 128,
            "generation_time": 4.0,
            "latency": 31.25,
            "first_latency": 90.0,
            "second_avg_latency": second,
            "first_infer_latency": 89.0,
            "second_infer_avg_latency": 19.0,
            "tokenization_time": 0.5,
            "detokenization_time": 0.2,
            "prompt_idx": 0,
            "result_md5": ["d41d8"],
            "start": f"2026-11-30T10:00:0{iteration}",
            "end": "",
            "max_rss_mem": 5000.5,
        }

    metadata = {"model": "qwen3-8b", "framework": "ov", "device": "GPU", "precision": "INT4"}
    return {
        "metadata": metadata | {"num_beams": 1, "batch_size": 1} | other,
        "perfdata": {
            "compile_time": 7.5,
            "results": [result(0, 99.0), result(1, 20.0), result(2, 25.0), result(3, 40.0)],
            "results_averaged": {"second_avg_latency": 28.3},
        },
    }


def test_llm_bench_json_says_what_its_csv_says(tmp_path: Path) -> None:
    from_json = only(detect.load(saved(tmp_path, "r.json", json.dumps(llm_bench_json(), indent=4))).runs)
    reps = [rep(0, 99.0), rep(1, 20.0), rep(2, 25.0), rep(3, 40.0)]
    from_csv = only(detect.load(saved(tmp_path, "r.csv", csv_text(reps))).runs)
    # The CSV has its options as text, which is part of the run's name.
    differ = {"sweep", "run", "properties"}
    assert {k: v for k, v in from_json.items() if k not in differ} == {
        k: v for k, v in from_csv.items() if k not in differ
    }


def test_llm_bench_batches_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "r.json", json.dumps(llm_bench_json(batch_size=4)))
    with pytest.raises(ExchangeError, match=r"r\.json: batch_size is 4: only rates of one sequence"):
        detect.load(path)


def llama(n_prompt: int, n_gen: int, **other: object) -> dict[str, object]:
    samples = [24.0, 25.0, 26.0]
    return {
        "build_commit": "8cf427ff",
        "cpu_info": "Intel(R) Core(TM) Ultra 7 258V",
        "gpu_info": "Intel(R) Arc(TM) 140V",
        "backends": "SYCL",
        "model_filename": "C:\\models\\qwen3-8b-q4_0.gguf",
        "model_type": "qwen3 8B Q4_0",
        "n_batch": 2048,
        "n_threads": 8,
        "type_k": "f16",
        "type_v": "f16",
        "n_gpu_layers": 99,
        "n_prompt": n_prompt,
        "n_gen": n_gen,
        "n_depth": 0,
        "test_time": "2026-11-30T10:00:00Z",
        "avg_ns": 5_120_000_000,
        "stddev_ns": 1000,
        "avg_ts": statistics.fmean(samples),
        "stddev_ts": statistics.stdev(samples),
        "samples_ns": [5_333_333_333, 5_120_000_000, 4_923_076_923],
        "samples_ts": samples,
        **other,
    }


@pytest.mark.parametrize("lines", [False, True])
def test_llama_bench(tmp_path: Path, lines: bool) -> None:
    tests = [llama(512, 0), llama(0, 128), llama(512, 128)]
    content = "\n".join(json.dumps(one) for one in tests) if lines else json.dumps(tests, indent=2)
    found = detect.load(saved(tmp_path, "bench.json", content))
    row = only(found.runs)
    assert found.notes == ("2 of 3 tests left out: they have no decode rate of their own (pp, pg)",)
    assert (row["target"], row["target_device"], row["kind"]) == ("qwen3-8b-q4_0.gguf", "SYCL", "plain")
    assert (row["tok_s"], row["tok_s_sd"], row["reps"]) == (25.0, 1.0, 3)
    assert row["rel_mad"] == pytest.approx(0.04) and row["noisy"] is False
    assert (row["tokens"], row["prompt"], row["tpot_ms"]) == (128, "tg128", 40.0)
    assert row["host"] == "Intel(R) Core(TM) Ultra 7 258V + Intel(R) Arc(TM) 140V"
    assert (row["kv_cache_precision"], row["inference_num_threads"]) == ("f16", 8)
    assert row["path"] is None and row["openvino"] is None


def test_llama_bench_device_is_what_computed(tmp_path: Path) -> None:
    tests = [llama(0, 128, n_gpu_layers=0), llama(0, 128, devices="SYCL0", n_depth=512)]
    runs = detect.load(saved(tmp_path, "bench.json", json.dumps(tests))).runs
    assert runs["target_device"].to_list() == ["CPU", "SYCL0"]
    assert runs["prompt"].to_list() == ["tg128", "tg128 @ d512"]
    assert runs["run"].n_unique() == 2


def vllm(**other: object) -> dict[str, object]:
    return {
        "date": "20261130-100000",
        "endpoint_type": "openai",
        "backend": "vllm",
        "label": None,
        "model_id": "Qwen/Qwen3-8B",
        "tokenizer_id": "Qwen/Qwen3-8B",
        "num_prompts": 20,
        "request_rate": "inf",
        "max_concurrency": 1,
        "duration": 51.2,
        "completed": 20,
        "failed": 0,
        "total_input_tokens": 2000,
        "total_output_tokens": 2560,
        "request_throughput": 0.39,
        "output_throughput": 50.0,
        "mean_ttft_ms": 42.0,
        "mean_tpot_ms": 20.0,
        "std_tpot_ms": 3.0,
        "mean_itl_ms": 50.0,
        **other,
    }


SPECULATIVE = {
    "spec_decode_acceptance_rate": 50.0,
    "spec_decode_acceptance_length": 2.5,
    "spec_decode_num_drafts": 1000,
    "spec_decode_draft_tokens": 3000,
    "spec_decode_accepted_tokens": 1500,
    "spec_decode_per_position_acceptance_rates": [0.8, 0.5, 0.2],
}


def test_vllm_speculative(tmp_path: Path) -> None:
    row = only(detect.load(saved(tmp_path, "serve.json", json.dumps(vllm(**SPECULATIVE)))).runs)
    assert (row["kind"], row["target"], row["source"]) == ("speculative", "Qwen/Qwen3-8B", "vllm")
    assert (row["num_assistant_tokens"], row["acceptance"], row["tokens_per_round"]) == (3, 0.5, 2.5)
    assert (row["proposals_per_round"], row["rounds"]) == (3.0, 50.0)
    assert (row["proposals"], row["accepted"], row["reps"]) == (3000, 1500, 20)
    assert (row["tok_s"], row["tok_s_sd"], row["wall_tok_s"]) == (50.0, None, 50.0)
    assert row["reason"] is None
    assert row["tokens"] is None, "lengths of the single outputs are in detailed results only"


def test_vllm_plain_and_under_load(tmp_path: Path) -> None:
    row = only(
        detect.load(
            saved(tmp_path, "s.json", json.dumps(vllm(max_concurrency=8, output_lens=[128, 90])))
        ).runs
    )
    assert row["kind"] == "plain" and row["acceptance"] is None
    assert row["tokens"] == 90
    assert row["wall_tok_s"] is None, "the throughput of eight requests is not a rate of one"
    assert "8 requests" in row["reason"]


def test_vllm_appended_results(tmp_path: Path) -> None:
    content = "\n".join(json.dumps(vllm(label=name)) for name in ("a", "b"))
    assert detect.load(saved(tmp_path, "s.json", content)).runs["prompt"].to_list() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.json", "", "the file is empty"),
        ("b.json", '{"metadata": 1,\n "perf', "not JSON: line 2"),
        ("l.json", '{"a": 1}\n{"b": ', "not JSON: line 2"),
        ("n.json", "[1, 2]", "item 0 is a int, not an object"),
        ("o.json", '{"answer": 42}', "not a result file that is known here"),
        ("m.json", '{"metadata": {}, "perfdata": {}}', "not what llm_bench writes"),
        (
            "p.json",
            '{"metadata": {}, "perfdata": {"results": [{"iteration": 1}]}}',
            r"perfdata.results\[0\]: no output",
        ),
        ("w.csv", csv_text([rep(0, 9.0)]), "only the warm-up"),
        ("i.csv", csv_text([rep(1, 9.0, prompt_idx="x")]), "line 2: prompt_idx is 'x'"),
        ("c.csv", "iteration,2nd_avg_latency(ms)\n1,20\n", "line 1: no column model"),
        ("k.csv", "a,b\n1,2\n", "not a run table: no column run"),
        ("t.json", json.dumps([llama(512, 0)]), "no generation test"),
        ("g.json", json.dumps([llama(0, 128, avg_ts="fast")]), "test 0: avg_ts is 'fast'"),
        ("v.json", json.dumps(vllm(completed=0)), "no request was completed"),
        ("x.json", json.dumps(vllm(**SPECULATIVE | {"spec_decode_accepted_tokens": 4000})), "impossible"),
        (
            "y.json",
            json.dumps(vllm(**SPECULATIVE | {"spec_decode_acceptance_rate": 60.0})),
            "its counters say 50.00 %",
        ),
        (
            "z.json",
            json.dumps(vllm(spec_decode_num_drafts=5)),
            "spec_decode_draft_tokens is None, not a count",
        ),
    ],
)
def test_a_bad_file_gives_one_clear_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(ExchangeError, match=message) as caught:
        detect.load(saved(tmp_path, name, content))
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_a_missing_and_a_binary_file(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match="cannot be read"):
        detect.load(tmp_path / "nowhere.json")
    (tmp_path / "model.bin").write_bytes(b"\x93\xff\x00\x80" * 9)
    with pytest.raises(ExchangeError, match="not a text file"):
        detect.load(tmp_path / "model.bin")


def test_a_file_that_powershell_redirected(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_bytes(json.dumps([llama(0, 128)]).encode("utf-16"))
    assert only(detect.load(path).runs)["tok_s"] == 25.0


values: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(width=16) | st.text(max_size=4) | st.just([])
)


@given(st.data())
def test_a_changed_file_is_taken_in_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    documents: list[dict[str, Any]] = [vllm(**SPECULATIVE), llama(0, 128), llm_bench_json()]
    document = data.draw(st.sampled_from(documents))
    places = [document, *(one for one in document.values() if isinstance(one, dict))]
    if "perfdata" in document:
        places += document["perfdata"]["results"]
    place = data.draw(st.sampled_from(places))
    key = data.draw(st.sampled_from(sorted(place)))
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(values)
    path = saved(tmp_path_factory.mktemp("mutant"), "result.json", json.dumps(document))
    try:
        runs = detect.load(path).runs
    except ExchangeError as error:
        assert "\n" not in str(error)
    else:
        assert list(runs.columns) == list(RUNS)
        assert runs["tok_s"].drop_nulls().is_finite().all()
