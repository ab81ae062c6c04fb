"""What a journal says is done: enough to resume, without Polars."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import msgspec

from sweeps.events.types import (
    Agreement,
    AnyEvent,
    LoopTimes,
    RepDone,
    RunEnded,
    RunStarted,
    SweepStarted,
    VerifyWidths,
)
from sweeps.plan.model import Plan, Prompt, Run
from sweeps.worker.job import Todo


class _Prompts(msgspec.Struct):
    """The part of a recorded plan that tells whether a prompt's text is still the same."""

    prompts: list[Prompt]


class Progress:
    """Folded from events, live or read back."""

    def __init__(self) -> None:
        self._prompts: dict[str, str] = {}
        self.reps: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self.probed: defaultdict[str, set[int]] = defaultdict(set)
        """Passes in which an agreement run has timed its models."""
        self.texts: dict[tuple[str, str], list[int]] = {}
        """Token ids of the first rep of each run and prompt: what an agreement run scores."""
        self.attempts: Counter[str] = Counter()
        self.failed: dict[tuple[str, str], RunEnded] = {}
        """(run, prompt): the prompt is empty where the whole run failed."""
        self.drifts: set[str] = set()
        """Baselines that were measured once more at the end."""
        self.closed: set[str] = set()
        """Runs that were refused or skipped: not started again unless asked for."""

    def apply(self, event: AnyEvent) -> None:
        """Take one event in."""
        if isinstance(event, SweepStarted):
            self._begin(event)
        elif isinstance(event, RepDone) and event.drift:
            self.drifts.add(event.run)
        elif isinstance(event, RepDone) and not event.warmup:
            key = (event.run, event.prompt)
            self.reps[key].add(event.rep)
            self.texts.setdefault(key, event.token_ids)
            self._succeeded(*key)
        elif isinstance(event, Agreement):
            self.reps[event.run, event.prompt].add(0)
            self._succeeded(event.run, event.prompt)
        elif isinstance(event, VerifyWidths | LoopTimes):
            self.probed[event.run].add(event.rep)
        elif isinstance(event, RunStarted):
            self.attempts[event.run] = max(self.attempts[event.run], event.attempt)
            self.closed.discard(event.run)
        elif isinstance(event, RunEnded):
            if event.status == "failed":
                self.failed[event.run, event.prompt] = event
            elif event.status in ("refused", "skipped"):
                self.closed.add(event.run)

    def _begin(self, event: SweepStarted) -> None:
        """A plan was taken up: what was measured for another text under the same name is void."""
        try:
            plan = msgspec.json.decode(event.plan, type=_Prompts | None)
        except msgspec.DecodeError:
            return
        for prompt in plan.prompts if plan else []:
            if self._prompts.get(prompt.name, prompt.hash) != prompt.hash:
                for key in [key for key in self.reps if key[1] == prompt.name]:
                    del self.reps[key]
                    self.texts.pop(key, None)
            self._prompts[prompt.name] = prompt.hash

    def _succeeded(self, run: str, prompt: str) -> None:
        """A rep after a failure: the run was tried again, and that failure is history."""
        self.failed.pop((run, prompt), None)
        self.failed.pop((run, ""), None)

    def forget_failures(self) -> None:
        """Let failed runs be tried again."""
        self.failed.clear()
        self.closed.clear()

    def missing(self, plan: Plan, run: Run, reps: range | None = None) -> list[Todo]:
        """What is still to be measured of a run, prompts that failed left out."""
        if run.id in self.closed or (run.id, "") in self.failed:
            return []
        wanted = range(passes(plan, run)) if reps is None else reps
        todo = []
        for prompt in plan.prompts:
            if (run.id, prompt.name) in self.failed:
                continue
            done = self.reps[run.id, prompt.name]
            if run.config.kind == "agreement":
                done = done | (self.probed[run.id] - {0})
            rest = [rep for rep in wanted if rep not in done]
            if not rest:
                continue
            text: list[int] = []
            if run.config.kind == "agreement":
                text = self.texts.get((run.baseline or "", prompt.name), [])
                if not text:
                    continue
            todo.append(Todo(prompt.name, prompt.text, plan.protocol.warmup, rest, text))
        return todo


def wanted_reps(plan: Plan, run: Run) -> int:
    """Reps that a run needs: an agreement is exact, one pass is enough."""
    return 1 if run.config.kind == "agreement" else plan.protocol.reps


def passes(plan: Plan, run: Run) -> int:
    """How often a run is started: the times that an agreement run takes are of the machine's mood, so in
    an interleaved sweep they are taken in every pass, as all other times are."""
    config = run.config
    timed = "NPU" not in (config.target_device, config.draft_device)
    if config.kind == "agreement" and plan.protocol.in_passes and timed:
        return plan.protocol.reps
    return wanted_reps(plan, run)


def read_progress(journal: Path) -> Progress:
    """Read a journal back; lines that are no events (a half-written last one) count as absent."""
    progress = Progress()
    decoder = msgspec.json.Decoder(AnyEvent)
    if journal.exists():
        with journal.open("rb") as file:
            for line in file:
                try:
                    progress.apply(decoder.decode(line))
                except msgspec.DecodeError:
                    continue
    return progress
