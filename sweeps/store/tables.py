"""The three tables of one sweep, kept up to date from its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import polars as pl

from sweeps.events.journal import JournalReader
from sweeps.events.types import Agreement, RepDone
from sweeps.measure.rep import RepMetrics, measure
from sweeps.plan.beside import beside
from sweeps.plan.model import Run
from sweeps.store.compared import Measured, complete
from sweeps.store.rows import Row, identity_columns, path_of, rep_row, round_rows, run_row
from sweeps.store.schema import REPS, ROUNDS, RUNS, Column
from sweeps.store.state import Rep, SweepState, fold

JOURNAL: Final = "journal.jsonl"


class Tables:
    """Follows the journal of one results folder. `refresh` reads what is new; the frames are built when
    asked for, and only reps that are new are measured again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reader = JournalReader(folder / JOURNAL)
        self.state = SweepState()
        self._measured: dict[tuple[str, str, int], tuple[Rep, RepMetrics]] = {}
        self._beside: dict[tuple[str, str, int], tuple[RepDone, float | None]] = {}

    def refresh(self) -> bool:
        """Read on; True when there was anything new."""
        events = self.reader.drain()
        fold(events, self.state)
        return bool(events)

    def runs(self) -> pl.DataFrame:
        """One row a run and prompt, in the order of the plan."""
        self._measure()
        items = [self._item(run, prompt) for run in self.state.runs for prompt in self._prompts(run)]
        complete(items, self._asked(), self._at_the_end())
        return frame([item.row for item in items], RUNS)

    def _at_the_end(self) -> dict[tuple[str, str], float]:
        """Decode rates of baselines measured once more."""
        found = {}
        for key, done in self.state.drifts.items():
            run = self.state.runs[key[0]]
            rate = measure(done, run.run, run.protocol.max_new_tokens, run.genai).tok_s
            if rate is not None:
                found[key] = rate
        return found

    def _asked(self) -> dict[tuple[str, str], Agreement]:
        """What targets say of their own texts."""
        found = {}
        for (run_id, prompt), event in self.state.agreements.items():
            run = self.state.runs[run_id].run
            if run.target_hash == run.draft_hash and run.baseline and event.margins:
                found[run.baseline, prompt] = event
        return found

    def reps(self) -> pl.DataFrame:
        """One row a counted rep."""
        self._measure()
        return frame([self._rep_row(key) for key in sorted(self._measured, key=self._order)], REPS)

    def rounds(self) -> pl.DataFrame:
        """One row a round of a counted rep."""
        self._measure()
        rows: list[Row] = []
        paces = self._paces()
        for key in sorted(self._measured, key=self._order):
            rep, metrics = self._measured[key]
            rows += round_rows(self._names(key, rep), rep.done.rep, metrics, paces.get(key))
        return frame(rows, ROUNDS)

    def _paces(self) -> dict[tuple[str, str, int], float]:
        """(run, prompt, rep) -> rate of the baseline beside it over the mean beside the row's reps."""
        by_row: dict[tuple[str, str], list[int]] = {}
        for run, prompt, rep in self.state.beside.keys() & self._measured.keys():
            by_row.setdefault((run, prompt), []).append(rep)
        found: dict[tuple[str, str, int], float] = {}
        for (run, prompt), numbers in by_row.items():
            rates = self._rates_beside(run, prompt, numbers, self._yardstick(self.state.runs[run].run))
            found |= {(run, prompt, rep): rate / fmean(rates.values()) for rep, rate in rates.items()}
        return found

    def _measure(self) -> None:
        for gone in self._measured.keys() - self.state.reps.keys():
            del self._measured[gone]
        for key, rep in self.state.reps.items():
            known = self._measured.get(key)
            if known is None or known[0] is not rep:
                run = self.state.runs[key[0]]
                budget = run.protocol.max_new_tokens
                self._measured[key] = rep, measure(rep.done, run.run, budget, run.genai)

    def _item(self, run: str, prompt: str) -> Measured:
        state = self.state.runs[run]
        numbers = sorted(key[2] for key in self._measured if key[:2] == (run, prompt))
        reps = [self._measured[run, prompt, number] for number in numbers]
        row = run_row(self.folder.name, self.state, run, prompt, reps)
        yardstick = self._yardstick(state.run)
        rates = self._rates_beside(run, prompt, numbers, yardstick)
        return Measured(row, state.run, reps, state.protocol.in_passes, rates, yardstick)

    def _yardstick(self, run: Run) -> str | None:
        return beside((known.run for known in self.state.runs.values()), run) if self.state.beside else None

    def _rates_beside(
        self, run: str, prompt: str, reps: Sequence[int], yardstick: str | None
    ) -> dict[int, float]:
        """Rep number -> decode rate of the baseline beside it."""
        base = self.state.runs.get(yardstick or "")
        found: dict[int, float] = {}
        for rep in reps if base is not None else ():
            key = run, prompt, rep
            done = self.state.beside.get(key)
            if done is None or base is None:
                continue
            if key not in self._beside or self._beside[key][0] is not done:
                budget = base.protocol.max_new_tokens
                self._beside[key] = done, measure(done, base.run, budget, base.genai).tok_s
            rate = self._beside[key][1]
            if rate is not None:
                found[rep] = rate
        return found

    def _prompts(self, run: str) -> list[str]:
        """The plan's prompts; then what an earlier plan of the journal measured for this run."""
        measured = dict.fromkeys(key[1] for key in self.state.reps if key[0] == run)
        plan = self.state.plan
        if plan is not None and all(planned.id != run for planned in plan.runs):
            scored = dict.fromkeys(prompt for id_, prompt in self.state.agreements if id_ == run)
            return list(measured | scored)
        return list(dict.fromkeys([*self.state.prompts, *measured]))

    def _order(self, key: tuple[str, str, int]) -> tuple[int, int, int]:
        runs, prompts = list(self.state.runs), self.state.prompts
        prompt = prompts.index(key[1]) if key[1] in prompts else len(prompts)
        return runs.index(key[0]), prompt, key[2]

    def _names(self, key: tuple[str, str, int], rep: Rep) -> Row:
        state = self.state.runs[key[0]]
        return identity_columns(self.folder.name, state, path_of(state, [rep]), key[1])

    def _rep_row(self, key: tuple[str, str, int]) -> Row:
        rep, metrics = self._measured[key]
        return rep_row(self._names(key, rep), self.state.runs[key[0]], rep, metrics)


def frame(rows: Sequence[Mapping[str, object]], columns: Mapping[str, Column]) -> pl.DataFrame:
    """Rows as a frame of exactly the given columns; what a row does not say is null."""
    data = {name: [row.get(name) for row in rows] for name in columns}
    return pl.DataFrame(data, schema={name: column.dtype for name, column in columns.items()})
