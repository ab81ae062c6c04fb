"""The plan as lines: how much, how long, and each run with what is known before it starts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
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


class _Page:
    """Lines in the making; long ones are wrapped to the pane's width."""

    def __init__(self, width: int) -> None:
        self._width = width
        self.lines: list[Line] = []
        self.owners: list[Run | None] = []

    def add(self, text: Text, run: Run | None = None) -> None:
        """One line; the cursor may stand on it when it is a run's."""
        self.lines.append((text, run is not None))
        self.owners.append(run)

    def say(self, message: str, style: Style | None = None, indent: str = "") -> None:
        """A message in as many lines as it needs, each behind the indent."""
        room = max(self._width - cell_len(indent) - 1, 20)
        for number, part in enumerate(textwrap.wrap(message, room) or [""]):
            lead = indent if number == 0 else " " * cell_len(indent)
            self.add(Text(lead + part, style or Style()))


def lines(planned: Reply, glyphs: Glyphs, width: int) -> tuple[list[Line], list[Run | None]]:
    """What to draw in so many columns, and which run each line belongs to."""
    plan, page = planned.plan, _Page(width)
    if plan is None:
        page.say(f"No plan: {planned.fault}")
        return page.lines, page.owners
    starting, added, refused, dropped = totals(plan)
    processes = f"{starting} runs" if starting != 1 else "1 run"
    prompts = f"{len(plan.prompts)} prompts" if len(plan.prompts) != 1 else "1 prompt"
    page.say(f"{processes}, each: {prompts} x {plan.protocol.reps} reps", Style(bold=True))
    page.say(expected(planned.estimate))
    said = [f"{added} added"] if added else []
    said += [f"{refused} refused"] if refused else []
    said += [f"{dropped} grid points dropped"] if dropped else []
    if said:
        page.say(", ".join(said))
    page.add(Text())
    for run in plan.runs:
        word = "refused" if run.refused else "added" if run.added else "queued"
        text = Text(f"{glyphs.states[word]} {label(run.config, run.emulated)}", Style(dim=run.added))
        text.append(f"  {word}" if word != "queued" else "", Style(bold=run.refused))
        page.add(text, run)
        for finding in run.findings:
            if finding.level != "noted":
                page.say(f"{finding.level}: {finding.message}", Style(dim=not run.refused), "    ")
                if finding.remedy:
                    page.say(finding.remedy, Style(dim=True), f"    {glyphs.arrow} ")
    if plan.dropped:
        page.add(Text())
        page.say("Dropped", Style(bold=True, underline=True))
        for drop in plan.dropped:
            page.say(f"{drop.place}: {drop.reason}", Style(dim=True), "  ")
    return page.lines, page.owners


class PlanView(LineList):
    """The plan; `run` is the one under the cursor."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._runs: Sequence[Run | None] = ()
        self._shown: tuple[Reply, Glyphs] | None = None

    def fill(self, planned: Reply, glyphs: Glyphs) -> None:
        """Show a plan, or the fault that stands in its place."""
        self._shown = (planned, glyphs)
        drawn, self._runs = lines(planned, glyphs, self.size.width)
        self.show(drawn)

    def on_resize(self) -> None:
        """Reasons are wrapped to the pane's width."""
        if self._shown is not None:
            self.fill(*self._shown)

    def say(self, message: str) -> None:
        """A line instead of a plan."""
        self._runs, self._shown = (), None
        self.show([(Text(message), False)])

    @property
    def run(self) -> Run | None:
        """The run under the cursor."""
        return self._runs[self.cursor] if self.cursor < len(self._runs) else None
