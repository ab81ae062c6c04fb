"""Run and round tables of a machine whose terms are known exactly, for tests of What-if."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import polars as pl

from explorer.screens.whatif.workbench import Workbench
from sweeps.costmodel.chance import counted
from sweeps.costmodel.params import Params, total_ms, verify_at
from sweeps.costmodel.rules import replay
from sweeps.store.frames import align
from sweeps.store.schema import ROUNDS, RUNS

BUDGET = 128
SWEEP = "made-20260101T000000Z"
TRUE = Params(
    target_ms=20.0,
    draft_ms=3.0,
    verify_base_ms=19.0,
    verify_slope_ms=1.5,
    rest_ms=0.8,
    budget=BUDGET,
    catch_up=0.0,
)
"""Terms of the pair on cb."""
STATEFUL = replace(TRUE, path="stateful", draft_ms=9.0, rest_mismatch_ms=2.0, catch_up=1.0)
ALONE_MS = 2.5


def agreement(alpha: float = 0.7, seed: int = 1) -> str:
    """A text's agreement string."""
    rng = random.Random(seed)
    return "".join("1" if rng.random() < alpha else "0" for _ in range(BUDGET))


def tables(
    nats: tuple[int, ...] = (1, 3, 5), params: Params = TRUE, prompts: tuple[str, ...] = ("one",)
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs and rounds: the target and the draft alone, and a speculative row for each NAT and prompt."""
    device = "CPU" if params.path == "cb" else "NPU"
    base_path = "cb" if params.path == "cb" else "sdpa"
    runs: list[dict[str, Any]] = []
    rounds: list[dict[str, Any]] = []
    for number, prompt in enumerate(prompts):
        common = {"sweep": SWEEP, "prompt": prompt, "status": "ok", "reps": 3, "max_new_tokens": BUDGET,
                  "tokens": BUDGET, "source": "measured", "started": "2026-01-01T00:00:00Z"}  # fmt: skip
        runs.append(
            common
            | {"run": "base", "kind": "plain", "target": "big", "target_device": "CPU", "path": base_path}
            | {"tok_s": 1000 / params.target_ms, "tok_s_sd": 0.1, "construct_s": 2.0}
        )
        runs.append(
            common
            | {"run": f"alone{device}", "kind": "plain", "target": "small", "target_device": device}
            | {"path": "cb" if device == "CPU" else "npu", "tok_s": 1000 / ALONE_MS, "construct_s": 1.0}
        )
        bits = agreement(seed=number + 1)
        for nat in nats:
            row, some = _pair(params, nat, bits, device)
            runs.append(common | row | {"run": f"nat{nat}{device}"})
            rounds += [{**r, "sweep": SWEEP, "prompt": prompt, "run": f"nat{nat}{device}"} for r in some]
    return align(pl.DataFrame(runs, infer_schema_length=None), RUNS), align(
        pl.DataFrame(rounds, infer_schema_length=None), ROUNDS
    )


def _pair(params: Params, nat: int, bits: str, device: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    played = replay(bits, params.rule, nat, BUDGET)
    counts = counted(played, params.rule, nat, BUDGET)
    speedup = counts.tokens * params.target_ms / float(total_ms(params, counts))
    rows: list[dict[str, Any]] = []
    after_whole = False
    for number, (position, c, m) in enumerate(
        zip(played.positions, played.proposals, played.accepted, strict=True), start=1
    ):
        catch_up = params.catch_up_inferences if after_whole and c else 0.0
        draft = params.draft_ms * (c + catch_up)
        verify = float(verify_at(params, c))  # type: ignore[arg-type]
        rest = params.rest_ms + (params.rest_mismatch_ms if m < c else 0.0)
        after_whole = 0 < c == m
        rows += [
            {"rep": rep, "round": number, "kind": "speculative", "path": params.path, "position": position,
             "proposals": c, "accepted": m, "tokens": m + 1, "full": 0 < c == m, "draft_ms": draft,
             "verify_ms": verify, "rest_ms": rest, "wall_ms": draft + verify + rest}
            for rep in range(3)
        ]  # fmt: skip
    proposals, accepted = sum(played.proposals), sum(played.accepted)
    n = len(played.proposals)
    spent = {name: sum(r[name] for r in rows) / 3 for name in ("draft_ms", "verify_ms", "rest_ms")}
    row = {
        "kind": "speculative", "target": "big", "target_device": "CPU", "draft": "small",
        "draft_device": device, "path": params.path, "num_assistant_tokens": nat, "speedup": speedup,
        "speedup_lo": speedup * 0.98, "speedup_hi": speedup * 1.02,
        "tok_s": 1000 * speedup / params.target_ms, "tok_s_sd": 0.2, "acceptance": accepted / proposals,
        "tokens_per_round": 1 + accepted / n,
        "proposals_per_round": proposals / n, "draft_ms": spent["draft_ms"] / proposals,
        "verify_ms": spent["verify_ms"] / n, "rest_ms": spent["rest_ms"] / n,
        "same_prefix_tokens": BUDGET, "construct_s": 5.0, "baseline": "base", "emulated": device == "NPU",
    }  # fmt: skip
    return row, rows


def bench(**arguments: Any) -> Workbench:
    """A workbench on such tables."""
    runs, rounds = tables(**arguments)
    return Workbench(runs, rounds, {})
