"""Which tool wrote a file, and its rows."""

from __future__ import annotations

from pathlib import Path

from sweeps.exchange import dataset, llama_bench, llm_bench, vllm
from sweeps.exchange.reading import objects, read_text
from sweeps.exchange.rows import ExchangeError, Imported

KNOWN = "llm_bench (CSV, JSON), llama-bench (JSON, JSONL), vllm bench serve (JSON), our own data set"


def load(path: Path) -> Imported:
    """The run rows of a result file, or of a data-set folder.

    Raises ExchangeError (one line: the file, the place, what would be right).
    """
    if path.is_dir() or path.suffix == ".parquet":
        return dataset.read(path)
    content = read_text(path)
    if not content.strip():
        raise ExchangeError(f"{path}: the file is empty")
    if llm_bench.recognises_csv(content):
        return llm_bench.load_csv(path, content)
    if path.suffix.lower() == ".csv":
        return dataset.read(path)
    found = objects(path, content)
    if llm_bench.recognises_json(found):
        return llm_bench.load_json(path, found[0])
    if llama_bench.recognises(found):
        return llama_bench.load(path, found)
    if vllm.recognises(found):
        return vllm.load(path, found)
    if dataset.recognises(found):
        return dataset.read(path)
    raise ExchangeError(f"{path}: not a result file that is known here: {KNOWN}")
