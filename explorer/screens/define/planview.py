"""The plan as lines: how much, how long, and each run with what is known before it starts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text

from explorer.glyphs import Glyphs
from explorer.live.labels import label
from explorer.screens.define.listview import Line, LineList
from explorer.screens.define.wire import Reply
from sweeps.plan.estimate import Estimate
from sweeps.plan.model import Plan, Run
from sweeps.plan.show import duration


def expected(estimate: Estimate | None) -> str:
    """The expected time, `--` when nothing is known; never a guess."""
    if estimate is None or estimate.unknown == len(estimate.runs):
        return "time: -- (nothing like it was recorded here)"
    if estimate.total is not None:
        return f"time: about {duration(estimate.total)}"
    return f"time: more than {duration(estimate.at_least)} ({estimate.unknown} runs of unknown length)"


def totals(plan: Plan) -> tuple[int, int, int, int]:
    """(runs to start, added ones, refused, grid points dropped)."""
    refused = sum(run.refused for run in plan.runs)
    added = sum(run.added for run in plan.runs)
    return len(plan.runs) - refused, added, refused, len(plan.dropped)


def lines(planned: Reply, glyphs: Glyphs) -> tuple[list[Line], list[Run | None]]:
    """What to draw, and which run each line belongs to."""
    plan = planned.plan
    drawn: list[Line] = []
    owners: list[Run | None] = []

    def add(text: Text, run: Run | None = None, stop: bool = False) -> None:
        drawn.append((text, stop))
        owners.append(run)

    if plan is None:
        add(Text(f"No plan: {planned.fault}"))
        return drawn, owners
    starting, added, refused, dropped = totals(plan)
    processes = f"{starting} runs" if starting != 1 else "1 run"
    prompts = f"{len(plan.prompts)} prompts" if len(plan.prompts) != 1 else "1 prompt"
    add(Text(f"{processes}, each: {prompts} x {plan.protocol.reps} reps", Style(bold=True)))
    add(Text(expected(planned.estimate)))
    said = [f"{added} added as baselines"] if added else []
    said += [f"{refused} refused"] if refused else []
    said += [f"{dropped} grid points dropped"] if dropped else []
    if said:
        add(Text(", ".join(said)))
    add(Text())
    for run in plan.runs:
        word = "refused" if run.refused else "added" if run.added else "queued"
        text = Text(f"{glyphs.states[word]} ", Style(dim=run.added))
        text.append(label(run.config, run.emulated))
        text.append(f"  {word}" if word != "queued" else "", Style(bold=run.refused))
        add(text, run, True)
        for finding in run.findings:
            if finding.level != "noted":
                add(
                    Text(f"    {finding.level}: {finding.message}", Style(dim=finding.level != "refused")),
                    run,
                )
                if finding.remedy:
                    add(Text(f"      {glyphs.arrow} {finding.remedy}", Style(dim=True)), run)
    if plan.dropped:
        add(Text())
        add(Text("Dropped", Style(bold=True, underline=True)))
        for drop in plan.dropped:
            add(Text(f"  {drop.place}: {drop.reason}", Style(dim=True)))
    return drawn, owners


class PlanView(LineList):
    """The plan; `run` is the one under the cursor."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._runs: Sequence[Run | None] = ()

    def fill(self, planned: Reply, glyphs: Glyphs) -> None:
        drawn, self._runs = lines(planned, glyphs)
        self.show(drawn)

    def say(self, message: str) -> None:
        """A line instead of a plan."""
        self._runs = ()
        self.show([(Text(message), False)])

    @property
    def run(self) -> Run | None:
        """The run under the cursor."""
        return self._runs[self.cursor] if self.cursor < len(self._runs) else None
