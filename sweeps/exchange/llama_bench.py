"""llama-bench (llama.cpp): `-o json` or `-o jsonl`, one object a test.

Only generation tests (`tg`, n_gen > 0 and n_prompt = 0) have a decode rate. A prompt test (`pp`) generates
nothing, and the rate of a combined test (`pg`) mixes both: these are left out, and the notes say how many.
The tool measures one model alone, so every row is `plain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Final

from sweeps.exchange import rows
from sweeps.exchange.rows import ExchangeError, Imported

TOOL: Final = "llama-bench"
_OPTIONS: Final = (
    "build_commit",
    "backends",
    "model_type",
    "n_gpu_layers",
    "n_batch",
    "n_ubatch",
    "flash_attn",
    "type_k",
    "type_v",
)


def recognises(objects: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are llama-bench's objects."""
    return bool(objects) and all({"n_prompt", "n_gen", "avg_ts"} <= item.keys() for item in objects)


def load(path: Path, objects: Sequence[Mapping[str, object]]) -> Imported:
    """Run rows of the generation tests. Raises ExchangeError when there is none."""
    found = [_row(path, n, item) for n, item in enumerate(objects) if _is_generation(item)]
    if not found:
        raise ExchangeError(f"{path}: no generation test in it (run llama-bench with -p 0 -n 128)")
    left = len(objects) - len(found)
    notes = (f"{left} of {len(objects)} tests left out: they have no decode rate of their own (pp, pg)",)
    return Imported(rows.frame(found), TOOL, notes if left else ())


def _is_generation(item: Mapping[str, object]) -> bool:
    return bool(rows.whole(item["n_gen"])) and rows.whole(item["n_prompt"]) == 0


def _row(path: Path, n: int, item: Mapping[str, object]) -> dict[str, object]:
    tokens, average = rows.whole(item["n_gen"]), rows.number(item["avg_ts"])
    if not average:
        raise ExchangeError(f"{path}: test {n}: avg_ts is {item['avg_ts']!r}, not tokens per second")
    samples = item.get("samples_ts")
    rates = rows.known(rows.number(value) for value in samples) if isinstance(samples, list) else []
    reps = len(rates) or None
    sd = rows.number(item.get("stddev_ts"))
    depth = rows.whole(item.get("n_depth")) or 0
    model = rows.text(item.get("model_filename"))
    # Splits at both kinds of separator, whichever system the file comes from.
    name = PureWindowsPath(model).name if model else rows.text(item.get("model_type"))
    total_ns = rows.number(item.get("avg_ns"))
    columns = rows.rate_columns(rates)
    columns |= {"tok_s": average, "tok_s_sd": sd if reps is None or reps > 1 else None}
    machine = [rows.text(item.get("cpu_info")), rows.text(item.get("gpu_info"))]
    device = _device(item)
    options = {key: item.get(key) for key in _OPTIONS}
    return columns | {
        "run": rows.run_id(TOOL, name, device, tokens, depth, item.get("n_threads"), options, machine),
        "sweep": f"import:{path.name}",
        "kind": "plain",
        "target": name,
        "target_device": device,
        "prompt": f"tg{tokens} @ d{depth}" if depth else f"tg{tokens}",
        "prompt_tokens": depth,
        "max_new_tokens": tokens,
        "tokens": tokens,
        "status": "ok",
        "reps": reps,
        "tpot_ms": total_ns / tokens / 1e6 if total_ns and tokens else None,
        "kv_cache_precision": _cache_type(item),
        "inference_num_threads": rows.whole(item.get("n_threads")),
        "host": " + ".join(part for part in machine if part) or None,
        "started": rows.text(item.get("test_time")),
        "properties": rows.properties(options),
        "source": TOOL,
    }


def _device(item: Mapping[str, object]) -> str | None:
    devices = rows.text(item.get("devices"))
    if rows.whole(item.get("n_gpu_layers")) == 0:
        return "CPU"
    return devices if devices and devices not in ("auto", "none") else rows.text(item.get("backends"))


def _cache_type(item: Mapping[str, object]) -> str | None:
    k, v = rows.text(item.get("type_k")), rows.text(item.get("type_v"))
    return k if k == v else f"{k}/{v}"
