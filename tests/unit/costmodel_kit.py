"""A made-up world with known terms: it plays the exact rules on strings and writes the frames of a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sweeps.costmodel.rules import Rule, replay
from sweeps.store.schema import ROUNDS, RUNS, Column


@dataclass
class World:
    """One target, drafts with their own strings and times, noise on every round."""

    seed: int = 0
    budget: int = 128
    noise: float = 0.03
    prompts: Sequence[str] = ("class", "docs", "story")
    target_ms: float = 20.0
    drafts: dict[str, tuple[float, float]] = field(
        default_factory=lambda: {"s": (2.0, 0.75), "m": (4.0, 0.88)}
    )
    """Draft -> (milliseconds standing alone, P(1 | 1))."""
    factor: float = 1.4
    """In the loop over standing alone."""
    verify: tuple[float, float] = (19.0, 1.2)
    verify_change: float = 1.6
    """More of it in a round of another width than the one before, on the stateful path only."""
    rest: float = 0.8
    rest_mismatch: float = 2.5
    """On the stateful path only."""
    first_round_ms: float = 15.0

    def string(self, draft: str, prompt: str) -> str:
        """The agreement string: a Markov chain, so that agreement comes in runs."""
        rng = np.random.default_rng([self.seed, len(draft), ord(draft[0]), sum(map(ord, prompt))])
        stay = self.drafts[draft][1]
        bits, last = ["?"], True
        for _ in range(self.budget - 1):
            last = bool(rng.random() < (stay if last else 0.45))
            bits.append("01"[last])
        return "".join(bits)

    def strings(self) -> dict[tuple[str, str, str, str], str]:
        """Teacher-forced over the texts of both engines (here they are one text)."""
        return {
            ("T", d, p, path): self.string(d, p)
            for d in self.drafts
            for p in self.prompts
            for path in ("cb", "sdpa")
        }

    def frames(
        self,
        nats: Sequence[int] = (1, 2, 3, 4, 5, 8),
        paths: Sequence[Rule] = ("cb", "stateful"),
        reps: int = 3,
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """(runs, rounds) as a store would give them."""
        rng = np.random.default_rng(self.seed)
        runs: list[dict[str, Any]] = []
        rounds: list[dict[str, Any]] = []
        for model, device, ms in [
            ("T", "CPU", self.target_ms),
            *((d, dev, ms) for d, (ms, _) in self.drafts.items() for dev in ("CPU", "NPU")),
        ]:
            for prompt in self.prompts:
                for path in ("npu",) if device == "NPU" else ("cb", "sdpa"):
                    rate = 1000 / (ms * (1 + self.noise / 10 * rng.standard_normal()))
                    runs.append(
                        _names("plain", model, device, None, None, path, None, prompt)
                        | {
                            "tok_s": rate,
                            "tok_s_sd": rate * 0.003,
                            "reps": reps,
                            "max_new_tokens": self.budget,
                        }
                    )
        for path in paths:
            for draft in self.drafts:
                for nat in nats:
                    for prompt in self.prompts:
                        names = _names(
                            "speculative",
                            "T",
                            "CPU",
                            draft,
                            "NPU" if path == "stateful" else "CPU",
                            path,
                            nat,
                            prompt,
                        )
                        rows = [row for rep in range(reps) for row in self._call(rng, names, path, nat, rep)]
                        rounds += rows
                        runs.append(names | self._measured(rows, reps))
        return _frame(runs, RUNS), _frame(rounds, ROUNDS)

    def _call(
        self, rng: np.random.Generator, names: dict[str, Any], path: Rule, nat: int, rep: int
    ) -> list[dict[str, Any]]:
        played = replay(self.string(names["draft"], names["prompt"]), path, nat, self.budget)
        d = self.factor * self.drafts[names["draft"]][0]
        out: list[dict[str, Any]] = []
        whole, before = False, None
        for i, (position, c, m) in enumerate(
            zip(played.positions, played.proposals, played.accepted, strict=True)
        ):
            wobble = 1 + self.noise * rng.standard_normal(3)
            draft = d * (c + (whole and c > 0 and path == "stateful")) * wobble[0]
            changed = path == "stateful" and before not in (None, c)
            verify = (self.verify[0] + self.verify[1] * c + self.verify_change * changed) * wobble[1]
            before = c
            rest = (self.rest + (self.rest_mismatch if path == "stateful" and m < c else 0.0)) * wobble[2]
            first = self.first_round_ms if i == 0 else 0.0
            whole = 0 < c == m
            keep = {k: v for k, v in names.items() if k in ROUNDS}
            out.append(
                keep
                | {
                    "rep": rep,
                    "round": i + 1,
                    "position": position,
                    "tokens": m + 1,
                    "proposals": c,
                    "accepted": m,
                    "full": whole,
                    "wall_ms": draft + verify + rest + first,
                    "draft_ms": draft,
                    "verify_ms": verify,
                    "rest_ms": rest + first,
                }
            )
        return out

    def _measured(self, rows: Sequence[dict[str, Any]], reps: int) -> dict[str, Any]:
        times = [sum(r["wall_ms"] for r in rows if r["rep"] == rep) for rep in range(reps)]
        rates = [1000 * (self.budget - 1) / t for t in times]
        rate, sd = float(np.mean(rates)), float(np.std(rates, ddof=1))
        speed, se = rate * self.target_ms / 1000, sd / rate / reps**0.5
        accepted, proposals = (sum(r[name] for r in rows) for name in ("accepted", "proposals"))
        return {
            "tok_s": rate,
            "tok_s_sd": sd,
            "reps": reps,
            "speedup": speed,
            "speedup_lo": speed * (1 - 1.96 * se),
            "speedup_hi": speed * (1 + 1.96 * se),
            "acceptance": accepted / proposals,
            "tokens_per_round": 1 + accepted / len(rows),
            "draft_ms": sum(r["draft_ms"] for r in rows) / proposals,
            "verify_ms": float(np.mean([r["verify_ms"] for r in rows])),
            "max_new_tokens": self.budget,
            "same_prefix_tokens": self.budget,
        }


def _names(
    kind: str,
    target: str,
    device: str,
    draft: str | None,
    draft_device: str | None,
    path: str,
    nat: int | None,
    prompt: str,
) -> dict[str, Any]:
    return {
        "sweep": "world",
        "run": f"{kind}-{target}-{device}-{draft}-{draft_device}-{path}-{nat}",
        "kind": kind,
        "target": target,
        "target_device": device,
        "draft": draft,
        "draft_device": draft_device,
        "path": path,
        "num_assistant_tokens": nat,
        "prompt": prompt,
        "status": "ok",
        "emulated": draft_device == "NPU",
    }


def _frame(rows: Sequence[dict[str, Any]], columns: dict[str, Column]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={name: column.dtype for name, column in columns.items()}, orient="row")
