"""The measurements that others have published, as rows of the run table.

Nothing is computed that was not published: what the tables do not say is null. `path` follows the library's
routing: an NPU on either side of a pair selects the stateful pipeline, any other draft continuous batching, a
model alone on the NPU the NPU pipeline. A model alone on CPU or GPU tries paged attention and silently falls
back, so there it is null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from sweeps import paths
from sweeps.exchange import rows
from sweeps.exchange.reading import objects, read_text
from sweeps.exchange.rows import ExchangeError

SOURCE = "published"


def load(folder: Path | None = None) -> pl.DataFrame:
    """All published data sets under `folder` (default: the bundled ones), in the columns of RUNS.

    Raises ExchangeError when a data set is damaged.
    """
    root = folder or paths.bundled("published")
    sets = sorted(path.parent for path in root.glob("*/setup.json"))
    return pl.concat([rows.frame([]), *(load_set(path) for path in sets)])


def load_set(folder: Path) -> pl.DataFrame:
    """One published data set: `setup.json`, `standalone.jsonl` and `speculative.jsonl`."""
    setup = objects(folder / "setup.json", read_text(folder / "setup.json"))[0]
    try:
        common = _common(setup)
        alone = [common | _alone(item) for item in _table(folder / "standalone.jsonl")]
        pairs = [common | _pair(item) for item in _table(folder / "speculative.jsonl")]
    except KeyError as error:
        raise ExchangeError(f"{folder}: {error.args[0]} is missing") from error
    found = [item | {"run": _id(item)} for item in (*alone, *pairs)]
    baselines = {
        (item["target"], item["target_device"]): item["run"] for item in found if item["kind"] == "plain"
    }
    for item in found:
        if item["kind"] == "speculative":
            item["baseline"] = baselines.get((item["target"], item["target_device"]))
    return rows.frame(found)


def _table(path: Path) -> list[dict[str, object]]:
    return objects(path, read_text(path))


def _common(setup: Mapping[str, object]) -> dict[str, object]:
    protocol, prompt = setup["protocol"], setup["prompt"]
    if not isinstance(protocol, dict) or not isinstance(prompt, dict):
        raise ExchangeError("setup.json: protocol and prompt are not tables")
    return {
        "sweep": f"{SOURCE}:{setup['name']}",
        "host": setup["host"],
        "openvino": setup["openvino"],
        "genai": setup["genai"],
        "prompt": prompt["name"],
        "max_new_tokens": protocol["max_new_tokens"],
        "tokens": protocol["max_new_tokens"],
        "reps": protocol["reps"],
        "status": "ok",
        "emulated": False,
        "added": False,
        "source": SOURCE,
    }


def _alone(item: Mapping[str, object]) -> dict[str, object]:
    return {
        "kind": "plain",
        "target": item["model"],
        "target_device": item["device"],
        "path": "npu" if item["device"] == "NPU" else None,
        **{name: item[name] for name in ("tok_s", "tok_s_sd", "tpot_ms", "construct_s")},
    }


def _pair(item: Mapping[str, object]) -> dict[str, object]:
    names = ("target", "target_device", "draft", "draft_device", "num_assistant_tokens")
    values = ("tok_s", "tok_s_sd", "speedup", "acceptance", "construct_s")
    npu = "NPU" in (item["target_device"], item["draft_device"])
    row = {name: item[name] for name in (*names, *values)}
    if item["draft"] is None:
        return row | {"kind": "plain", "path": "npu" if npu else None, "speedup_default": item["speedup"]}
    # The one published baseline is the library's own choice of engine.
    return row | {
        "kind": "speculative",
        "path": "stateful" if npu else "cb",
        "speedup_default": item["speedup"],
    }


def _id(item: Mapping[str, object]) -> str:
    names = ("sweep", "kind", "target", "target_device", "draft", "draft_device", "num_assistant_tokens")
    return rows.run_id(SOURCE, *(json.dumps(item.get(name)) for name in names))
