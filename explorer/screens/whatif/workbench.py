"""From measured rows to a `Base`: picks the rows that teach, trains the cost model, finds its sources.

Everything here may take a second: the screen calls it from a thread. No Textual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, Final

import numpy as np
import polars as pl

from explorer.screens.whatif.origins import alone_of, budget_of, measured_round, origins_of
from explorer.screens.whatif.scenario import NATS, Base, Choice, MeasuredPoint, Origin, Scenario
from sweeps.costmodel import placement
from sweeps.costmodel.answers import why
from sweeps.costmodel.calibrate import Calibration, Probes
from sweeps.costmodel.cases import Case, draft_alone, target_alone
from sweeps.costmodel.evidence import Strings, longest, strings_of
from sweeps.costmodel.model import NO_PROBES, Model, Tables, tables, train
from sweeps.costmodel.probes import probes_of
from sweeps.costmodel.terms import Key

Row = Mapping[str, Any]
Place = tuple[str, str, str]
"""(sweep, run, prompt)."""

PROMPT_LOOKUP: Final = "prompt lookup"
OWN_BASELINE: Final = "measured: the baseline that the row is compared with"


class NothingMeasured(ValueError):
    """There is no row that a what-if could start from; says why."""


class Workbench:
    """All rows, and the models made of them so far.

    Args:
        runs, rounds: the whole tables.
        strings: agreement strings of the target's texts.
        probes: what was timed outside of the engines.
    """

    def __init__(
        self, runs: pl.DataFrame, rounds: pl.DataFrame, strings: Strings, probes: Probes = NO_PROBES
    ) -> None:
        self.runs, self.rounds, self.strings, self.probes = runs, rounds, strings, probes
        self.lock = Lock()
        """Held while a model is made: threads would make the same one twice."""
        self.known: Tables = tables(runs, rounds)
        self.alone = draft_alone(runs)
        self._models: dict[tuple[object, ...], Model] = {}

    @property
    def cases(self) -> Sequence[Case]:
        """Every row with a speed-up."""
        return self.known.cases

    # -- which row ------------------------------------------------------------------------------------

    def case_of(self, row: Row) -> tuple[Case, str]:
        """The case that a run row stands for, and a remark where it is not that very row.

        Raises:
            NothingMeasured: there is no baseline, or no speculative row, to build on.
        """
        found = self.find(place_of(row))
        if found is not None:
            return found, ""
        if row.get("kind") in ("speculative", "prompt-lookup"):
            return self._unmeasured(row), f"this row has no speed-up ({row.get('status') or 'not measured'})"
        model, device, prompt = row.get("target"), row.get("target_device"), row.get("prompt")
        near = [c for c in self.cases if c.sweep == row.get("sweep") and c.prompt == (prompt or "")]
        as_target = [c for c in near if (c.key.target, c.key.target_device) == (model, device)]
        as_draft = [c for c in near if (c.key.draft, c.key.draft_device) == (model, device)]
        if not as_target and not as_draft:
            raise NothingMeasured(
                f"no speculative row with {model} on {device} has a speed-up: nothing to start from"
            )
        role = "target" if as_target else "draft"
        return (as_target or as_draft)[0], f"{model} alone was selected: this is a row with it as {role}"

    def find(self, place: Place) -> Case | None:
        """The case at a place."""
        return next((c for c in self.cases if (c.sweep, c.run, c.prompt) == place), None)

    def first(self) -> Case:
        """Where a what-if without rows starts: the newest sweep's first speculative row.

        Raises:
            NothingMeasured: no row has a speed-up.
        """
        if not self.cases:
            raise NothingMeasured("no speculative row has a speed-up yet")
        started = dict(self.runs.group_by("sweep").agg(pl.col("started").max()).iter_rows())
        newest = max(started.get(c.sweep) or "" for c in self.cases)
        return next(c for c in self.cases if (started.get(c.sweep) or "") == newest)

    def _unmeasured(self, row: Row) -> Case:
        """A case without a measurement: its baseline on the path that the library would take."""
        lookup = row["kind"] == "prompt-lookup"
        draft = PROMPT_LOOKUP if lookup else str(row["draft"])
        device = str(row["target_device"] if lookup else row["draft_device"])
        path = row.get("path") or ("stateful" if "NPU" in (row["target_device"], device) else "cb")
        key = Key(str(row["target"]), str(row["target_device"]), draft, device, path)
        target = self._target_ms(key, str(row.get("prompt") or ""))
        if target is None:
            raise NothingMeasured(
                f"{key.target} on {key.target_device} has no baseline yet: run it alone first"
            )
        return Case(
            sweep=str(row.get("sweep") or ""),
            run="",
            kind=str(row["kind"]),
            key=key,
            nat=int(row.get("num_assistant_tokens") or 3),
            prompt=str(row.get("prompt") or ""),
            budget=int(row.get("max_new_tokens") or 128),
            speedup=math.nan,
            target_ms=target[0],
            noise_rel=0.0,
            draft_alone_ms=self.alone.get((draft, device)),
            acceptance=None,
            tokens_per_round=None,
            draft_ms=None,
            verify_ms=None,
            same_prefix=None,
            emulated=bool(row.get("emulated")),
            max_ngram=row.get("max_ngram_size"),
        )

    def _target_ms(self, key: Key, prompt: str) -> tuple[float, str] | None:
        """(T, where from) of the baseline of a path, else of any plain row of the target there."""
        own = target_alone(self.runs, key.target, key.target_device, key.path)
        if prompt in own:
            return own[prompt][0], OWN_BASELINE
        if own:
            return float(np.median([ms for ms, _ in own.values()])), "measured: baselines of other prompts"
        ms = self.alone.get((key.target, key.target_device))
        return None if ms is None else (ms, "measured on another path")

    # -- other drafts ---------------------------------------------------------------------------------

    def choices(self, case: Case) -> list[Choice]:
        """The case's own draft first, then every other draft, device and path that rows know about."""
        own = Choice(case.key.draft, case.key.draft_device, case.key.path, case.draft_alone_ms)
        target = (case.key.target, case.key.target_device)
        found = {own.name + own.path: own}

        def add(draft: str, device: str, path: str) -> None:
            choice = Choice(draft, device, path, self.alone.get((draft, device)))
            found.setdefault(choice.name + choice.path, choice)

        for other in self.cases:
            if (other.key.target, other.key.target_device) == target:
                add(other.key.draft, other.key.draft_device, other.key.path)
        if case.kind == "prompt-lookup":
            return list(found.values())
        drafts = {choice.draft for choice in found.values()} - {PROMPT_LOOKUP}
        for draft, device in self.alone:
            if draft in drafts:
                natural = "stateful" if "NPU" in (device, target[1]) else "cb"
                add(draft, device, natural)
        # The other path for each of them: what would this draft do on that engine?
        for choice in list(found.values()):
            if choice.draft != PROMPT_LOOKUP:
                add(choice.draft, choice.draft_device, "cb" if choice.path != "cb" else "stateful")
        return list(found.values())

    # -- the base -------------------------------------------------------------------------------------

    def scenario(self, case: Case, choice: Choice | None = None, without_own: bool = True) -> Scenario:
        """A scenario on a case, with another draft or path where `choice` says so.

        Args:
            without_own: leave the row itself out of what the terms are learned from, so that its prediction
                is one.
        """
        own = Choice(case.key.draft, case.key.draft_device, case.key.path, case.draft_alone_ms)
        choice = choice or own
        notes: list[str] = []
        target_words = OWN_BASELINE
        asked = case
        if (choice.draft, choice.draft_device, choice.path) != (own.draft, own.draft_device, own.path):
            asked, target_words, note = self._moved(case, choice)
            notes += [note] if note else []
        model = self._model(asked, without_own)
        sources = {nat: model.evidence.source(asked, nat) for nat in NATS}
        params, fit = model.params(asked, sources[asked.nat])
        if asked.kind == "prompt-lookup":
            # The model keeps a vanishing draft time for its regression.
            params = replace(params, draft_ms=0.0, draft_first_ms=0.0)
        # What would be assumed of the pair had none of its own rows been seen.
        others = Calibration(
            tuple(d for d in model.calibration.donors if d.key != asked.key), self.probes.loops
        )
        prior = others.prior(asked.key, asked.target_ms, alone_of(asked))
        origins = origins_of(fit, prior, sources[asked.nat], target_words)
        points = self._points(asked)
        measured = next((p for c, p in points if c.run == asked.run and not math.isnan(asked.speedup)), None)
        rounds = self.known.rounds.get((asked.sweep, asked.run, asked.prompt)) if measured else None
        found = measured_round(asked, rounds) if rounds is not None else None
        causes = why(params, sources[asked.nat].counts, found) if found is not None else []
        extra = self._extra_construct(asked)
        if extra is not None:
            origins["extra_construct_s"] = Origin("measured", "this row's construction less its baseline's")
        if measured is not None and rounds is None:
            notes.append("rounds were not recorded: what a miss is due to is not known")
        base = Base(
            title=title_of(asked),
            case=asked,
            choice=choice,
            params=params,
            fit=fit,
            sources=sources,
            noise=asked.noise_rel or model.noise_rel,
            origins=origins,
            points=tuple(point for _, point in points),
            measured=measured,
            measured_round=None if found is None else budget_of(found),
            causes=tuple(causes),
            extra_construct_s=extra,
            notes=tuple(notes),
            placement=self._placement(asked),
        )
        return Scenario(base, asked.nat)

    def _moved(self, case: Case, choice: Choice) -> tuple[Case, str, str]:
        """The case with another draft, device or path; where T is from, and a remark."""
        lookup = choice.draft == PROMPT_LOOKUP
        key = Key(case.key.target, case.key.target_device, choice.draft, choice.draft_device, choice.path)
        twin = next(
            (
                c
                for c in self.cases
                if (c.sweep, c.key, c.prompt, c.nat) == (case.sweep, key, case.prompt, case.nat)
            ),
            None,
        )
        if twin is not None:
            return twin, OWN_BASELINE, ""
        target = self._target_ms(key, case.prompt)
        note = ""
        if target is None or target[1] == "measured on another path":
            note = (
                f"the target was not measured alone on the path {choice.path}: T is the one it has elsewhere"
            )
        moved = replace(
            case,
            run="",
            kind="prompt-lookup" if lookup else "speculative",
            key=key,
            speedup=math.nan,
            target_ms=target[0] if target and not note else case.target_ms,
            draft_alone_ms=choice.alone_ms,
            # The acceptance that a table reports goes with the draft, not with its device.
            acceptance=case.acceptance
            if choice.draft == case.key.draft and choice.path == case.key.path
            else None,
            same_prefix=None,
            tokens_per_round=None,
            draft_ms=None,
            verify_ms=None,
        )
        if moved.acceptance is None and choice.draft == case.key.draft:
            moved = replace(moved, acceptance=self._acceptance(key, case))
        return moved, target[1] if target and not note else "measured on another path", note

    def _acceptance(self, key: Key, case: Case) -> float | None:
        """What rows of this pair and NAT report, where a table has no rounds."""
        found = [c.acceptance for c in self.cases if (c.key, c.prompt, c.nat) == (key, case.prompt, case.nat)]
        return next((r for r in found if r is not None), None)

    def _model(self, case: Case, without_own: bool) -> Model:
        """Trained on rows of the same target, or of the same device and path."""
        key = case.key
        chosen = [
            c
            for c in self.cases
            if c.key.target == key.target
            or (c.key.target_device, c.key.path) == (key.target_device, key.path)
        ]
        if without_own and case.run:
            chosen = [c for c in chosen if (c.sweep, c.run) != (case.sweep, case.run)]
        name = (key.target, key.target_device, key.path, case.run if without_own else None)
        if name not in self._models:
            self._models[name] = train(self.known, chosen, self.strings, self.probes)
        return self._models[name]

    def _placement(self, case: Case) -> tuple[str, ...]:
        """Which draft on which device wins for this target and prompt, from all rows."""
        found = placement.places(self._model(case, without_own=False), self.cases, case)
        return tuple(placement.words(found)) if len(found) > 1 else ()

    def _points(self, case: Case) -> list[tuple[Case, MeasuredPoint]]:
        """The measured rows of the same pair, path and prompt (a moved draft: of the same sweep)."""
        rows = [c for c in self.cases if (c.sweep, c.key, c.prompt) == (case.sweep, case.key, case.prompt)]
        intervals = {
            (sweep or "", run or "", prompt or ""): (lo, hi)
            for sweep, run, prompt, lo, hi in self.runs.select(
                "sweep", "run", "prompt", "speedup_lo", "speedup_hi"
            ).iter_rows()
        }
        out = []
        for c in sorted(rows, key=lambda c: c.nat):
            lo, hi = intervals.get((c.sweep, c.run, c.prompt), (None, None))
            out.append((c, MeasuredPoint(c.nat, c.speedup, lo, hi)))
        return out

    def _extra_construct(self, case: Case) -> float | None:
        own = self.runs.filter(
            (pl.col("sweep") == case.sweep)
            & (pl.col("run") == case.run)
            & pl.col("construct_s").is_not_null()
        )
        if own.is_empty():
            return None
        baseline = own["baseline"][0]
        base = self.runs.filter(
            (pl.col("sweep") == case.sweep)
            & (pl.col("run") == baseline)
            & pl.col("construct_s").is_not_null()
        )
        if base.is_empty():
            return None
        return float(own["construct_s"][0] - base["construct_s"][0])


def open_workbench(data: str | None, sweep: str | None = None) -> Workbench:
    """The rows that a what-if on a sweep stands on: all that were measured here, or one foreign table.

    Rows of other machines (published, imported) teach nothing about this one, and have no rounds.

    Args:
        sweep: as in the run table; None: measured rows, without any the published ones. The agreement
            strings of this sweep, else of the newest one, are read from its journal.

    Raises:
        OSError, ValueError: a folder or file cannot be read.
    """
    from sweeps.store import frames
    from sweeps.store.tables import Tables as Journal

    folders = frames.sweep_folders(data)
    runs, rounds = frames.load_runs(data), frames.load_rounds(data)
    here = runs.filter(pl.col("sweep").is_in([folder.name for folder in folders]))
    foreign = runs.filter(pl.col("sweep") == sweep) if sweep else runs
    if here.is_empty() or (sweep is not None and sweep not in here["sweep"]):
        return Workbench(foreign, rounds.head(0), {})
    strings: dict[tuple[str, str, str, str], str] = {}
    probes = NO_PROBES
    for folder in [f for f in folders if f.name == sweep] or folders[-1:]:
        journal = Journal(folder)
        journal.refresh()
        strings = longest(strings, strings_of(journal.state))
        probes += probes_of(journal.state)
    return Workbench(here, rounds, strings, probes)


def place_of(row: Row) -> Place:
    """Where a run row stands."""
    return str(row.get("sweep") or ""), str(row.get("run") or ""), str(row.get("prompt") or "")


def title_of(case: Case) -> str:
    """`draft-s on CPU for target on CPU, cb, prompt short`."""
    key = case.key
    emulated = " (emulated)" if case.emulated else ""
    draft = key.draft if case.kind == "prompt-lookup" else f"{key.draft} on {key.draft_device}{emulated}"
    return f"{draft} for {key.target} on {key.target_device}, {key.path}, prompt {case.prompt or '-'}"
