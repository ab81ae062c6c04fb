"""Does the cost model's number come true? On the bundled models, beside the published formulas.

    python -m tests.benchmarks.bench_forecast --data DIR --run      # measure first, about an hour
    python -m tests.benchmarks.bench_forecast --data DIR            # judge what was measured
    ... --precision f32 --reps 8    # with dynamic quantization, as client CPUs compute by default

By default in exact arithmetic (float32 caches and passes, no dynamic quantization): rounding decides no near
tie there, so every text is its baseline's and each row has a claim to the forecast. Rows are measured in
pairs: each rep has its baseline beside it, in the same process, half a second apart, since a machine with
neighbours changes its pace within seconds. All reps count. The noise floor printed first is the baseline
against itself, measured as every row is. The first prompt only warms each process up and is not judged.

1. Forecast: no speculative row is seen (baselines, drafts alone, agreement strings, prompt-lookup probes).
2. Fitted on NAT 3, predicting the other NATs; prompts and drafts held out in turn.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sweeps.compare.student import t_quantile
from sweeps.costmodel.evidence import strings_of
from sweeps.costmodel.forecast import forecast
from sweeps.costmodel.probes import probes_of
from sweeps.costmodel.validate import summary, validate
from sweeps.store.frames import load_folder, sweep_folders
from sweeps.store.tables import Tables

SWEEP = """
name = "forecast-check"
[protocol]
max_new_tokens = 128
warmup = 0
reps = {reps}
order = "paired"
[models]
target = "demo:target"
draft-s = "demo:draft-s"
draft-m = "demo:draft-m"
[devices.CPU]
{precision}
[devices.NPU]
NPU_USE_NPUW = "YES"
NPUW_DEVICES = "CPU"
NPUW_ONLINE_PIPELINE = "NONE"
[prompts]
warm-up = {{ file = "demo:short" }}
function = {{ file = "demo:function" }}
class = {{ file = "demo:class" }}
dataclass = {{ file = "demo:dataclass" }}
docstring = {{ file = "demo:docstring" }}
parser = {{ file = "demo:parser" }}
repetitive = {{ file = "demo:repetitive" }}
[[grid]]
kind = "speculative"
target = "target"
target_device = "CPU"
draft = ["draft-s", "draft-m"]
draft_device = "CPU"
num_assistant_tokens = [1, 2, 3, 4, 5, 8]
[[grid]]
kind = "speculative"
target = "target"
target_device = "CPU"
draft = "draft-s"
draft_device = "NPU"
num_assistant_tokens = [1, 2, 3, 4, 5, 8]
[[grid]]
kind = "prompt-lookup"
target = "target"
target_device = "CPU"
num_assistant_tokens = [1, 2, 3, 4, 5, 8]
max_ngram_size = 3
"""

PRECISIONS = {
    "f32": 'INFERENCE_PRECISION_HINT = "f32"',
    "bf16": 'INFERENCE_PRECISION_HINT = "bf16"',
    "exact": 'INFERENCE_PRECISION_HINT = "f32"\nKV_CACHE_PRECISION = "f32"\n'
    'DYNAMIC_QUANTIZATION_GROUP_SIZE = "0"',
}
KEY = ["run", "prompt"]
WARM_UP = "warm-up"


def errors(frame: pl.DataFrame) -> list[float]:
    """|predicted / measured - 1| of each row, in percent."""
    return [100 * abs(p / m - 1) for p, m in frame.select("predicted_speedup", "speedup").iter_rows()]


def said(name: str, values: Sequence[float], limit: str) -> None:
    """One line: median, 90th percentile, worst."""
    if not values:
        print(f"{name}: no rows")
        return
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    print(
        f"{name}: median {statistics.median(ordered):.1f} %, 90 % within {high:.1f} %, "
        f"worst {ordered[-1]:.1f} % of {len(ordered)} rows ({limit})"
    )


def beyond_noise(frame: pl.DataFrame, reps: int) -> None:
    """One line: how far off predictions are beyond the standard errors of what they are compared with.

    The measured speed-ups scatter by themselves, so squared errors are theirs plus the model's.
    """
    error = (frame["predicted_speedup"] / frame["speedup"]).log()
    noise = (frame["speedup_hi"] / frame["speedup"]).log() / t_quantile(reps - 1, 0.95)
    square, own = float((error**2).mean() or 0.0), float((noise**2).mean() or 0.0)  # type: ignore[arg-type]
    print(
        f"  root mean square {100 * square**0.5:.1f} %, of which measurement {100 * own**0.5:.1f} %, "
        f"so the model {100 * max(square - own, 0.0) ** 0.5:.1f} %; "
        f"signed median {100 * float(error.median() or 0.0):+.1f} %"  # type: ignore[arg-type]
    )


def floor(runs: pl.DataFrame) -> list[float]:
    """What a speed-up of 1 is measured as: the baseline against itself, in percent off."""
    plain = runs.filter(
        (pl.col("kind") == "plain") & (pl.col("target") == "target") & (pl.col("path") == "cb")
    )
    own = plain.filter(pl.col("pace").is_null()).select("prompt", own="tok_s")
    beside = plain.drop_nulls("pace").join(own, on="prompt")
    return [
        100 * abs(x - 1) for x in beside.select(pl.col("tok_s") / pl.col("own") / pl.col("pace")).to_series()
    ]


def judge_forecast(joined: pl.DataFrame, reps: int) -> None:
    """Against the rows measured afterwards."""
    cb = joined.filter(pl.col("path") == "cb")
    same = cb.filter(pl.col("first_divergence").is_null())
    off = [
        100 * abs(p / m - 1)
        for p, m in same.select("predicted_tokens_per_round", "tokens_per_round").iter_rows()
    ]
    within = sum(error <= 2 for error in off)
    print(f"cb, same text: tokens per round within 2 % in {within} of {len(off)} rows (target 95 %)")
    said("cb, same text, speed-up", errors(same), "targets: median 4, worst 12")
    said("cb, all rows, speed-up", errors(cb), "target: median 6")
    beyond_noise(cb, reps)
    stateful = joined.filter(pl.col("path") == "stateful")
    said("stateful (emulated), speed-up", errors(stateful), "target: median 8")
    beyond_noise(stateful, reps)
    inside = joined.filter(
        pl.col("speedup").is_between(pl.col("predicted_lo"), pl.col("predicted_hi"))
    ).height
    print(f"90 % intervals hold {inside} of {joined.height}")
    for (prompt,), group in cb.group_by("prompt", maintain_order=True):
        best = group.sort("speedup", descending=True).row(0, named=True)
        chosen = group.sort("predicted_speedup", descending=True).row(0, named=True)
        loss = 100 * (1 - chosen["speedup"] / best["speedup"])
        print(
            f"  {prompt}: chose {chosen['draft']} NAT {chosen['num_assistant_tokens']} "
            f"({chosen['speedup']:.2f}x measured), best {best['draft']} NAT {best['num_assistant_tokens']} "
            f"({best['speedup']:.2f}x): {loss:.1f} % lost (target 3)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--reps", type=int, default=14)
    parser.add_argument("--precision", default="exact", choices=("f32", "bf16", "exact"))
    chosen = parser.parse_args()
    if chosen.run:
        sweep = Path(chosen.data) / "forecast-check.toml"
        sweep.parent.mkdir(parents=True, exist_ok=True)
        sweep.write_text(
            SWEEP.format(reps=chosen.reps, precision=PRECISIONS[chosen.precision]), encoding="utf-8"
        )
        command = [sys.executable, "-m", "explorer", "run", str(sweep), "--headless", "--data", chosen.data]
        subprocess.run([*command, "--format", "csv"], check=True, stdout=subprocess.DEVNULL)
    folder = sweep_folders(chosen.data, "forecast-check")[-1]
    tables = Tables(folder)
    tables.refresh()
    assert tables.state.plan is not None
    frames = load_folder(folder)
    runs, rounds = frames.runs, frames.rounds
    judged = pl.col("prompt") != WARM_UP
    said("noise floor (target under PA against the default, which is PA too)", floor(runs.filter(judged)), "")
    rows = runs.filter(judged & pl.col("speedup").is_not_null())
    widths = (rows["speedup_hi"] / rows["speedup"]).log() / t_quantile(chosen.reps - 1, 0.95)
    said("standard error of a measured speed-up", (100 * widths).to_list(), "from its pairs")

    print("\n1. forecast, no speculative row seen")
    unseen = runs.filter(judged & (pl.col("kind") != "speculative"))
    quiet_rounds = rounds.filter(judged & (pl.col("kind") != "speculative"))
    told = forecast(tables.state.plan, tables.state, unseen, quiet_rounds)
    measured = runs.filter((pl.col("kind") == "speculative") & pl.col("speedup").is_not_null()).select(
        *KEY, "speedup", "speedup_hi", "tokens_per_round", "first_divergence"
    )
    judge_forecast(told.join(measured, on=KEY).filter(judged), chosen.reps)

    runs, rounds = runs.filter(judged), rounds.filter(judged)

    strings, probes = strings_of(tables.state), probes_of(tables.state)
    for title, frame in (
        ("2. fitted on NAT 3 (target: median 5)", validate(
            runs, rounds, fitted=lambda case: case.nat == 3, strings=strings, probes=probes, nats=False)),
        ("3. prompts held out (target: median 8)", validate(
            runs, rounds, hold_out="prompt", strings=strings, probes=probes, nats=False)),
        ("4. drafts held out (target: median 8)", validate(
            runs, rounds, hold_out="draft", strings=strings, probes=probes, nats=False)),
    ):  # fmt: skip
        print(f"\n{title}")
        drafted = frame.filter(pl.col("kind") == "speculative")
        said("ours", errors(drafted), "see above")
        beyond_noise(drafted.join(runs.select(*KEY, "speedup_hi"), on=KEY), chosen.reps)
        held = drafted["covered"].sum()
        print(f"90 % intervals hold {held} of {drafted.height} (target 80 to 97 %)")
        said("prompt lookup", errors(frame.filter(pl.col("kind") != "speculative")), "beside it")
        with pl.Config(tbl_hide_dataframe_shape=True, tbl_width_chars=120, float_precision=3):
            print(summary(drafted))


if __name__ == "__main__":
    main()
