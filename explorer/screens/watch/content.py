"""What the panes say, as lines: pure functions of the live state, the width and the glyphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from explorer.glyphs import Glyphs
from explorer.live import eta
from explorer.live.state import LiveState, Progress, Result, RunView
from explorer.live.tailer import Update
from explorer.screens.watch.format import UNKNOWN, clock, duration, fit, memory, number, percent, ratio
from explorer.widgets.line_pane import Line, line

STYLES: dict[str, str] = {
    "running": "strong",
    "ok": "good",
    "finished": "good",
    "failed": "bad",
    "crashed": "bad",
    "cut off": "bad",
    "refused": "warn",
    "budget_not_met": "warn",
    "not_speculative": "warn",
    "metric_suspect": "warn",
}
"""Status -> style; the word and the glyph say it too."""

PHASES = {
    "import": "importing the library",
    "read": "reading",
    "construct": "building the pipeline",
    "first_token": "prefill",
    "decode": "decoding",
    "idle": "closing",
}


def word(status: str, glyphs: Glyphs) -> str:
    """`● running`. Words that the glyph table does not hold borrow a near one's glyph."""
    near = {"waiting": "queued", "cut off": "failed", "unknown": "noted"}.get(status, status)
    return f"{glyphs.states.get(near, glyphs.bullet)} {status.replace('_', ' ')}"


def progress_text(progress: Progress, unit: str, glyphs: Glyphs, width: int = 10, live: bool = True) -> str:
    """`17 of 36 reps ████░░░░ 47 %, 3 min 20 s left`; nothing is said to be left when nobody works on it."""
    bar = glyphs.bar(progress.fraction, width)
    over = not live or progress.done >= progress.total > 0
    left = "" if over else f", {'~' if progress.rough else ''}{duration(progress.eta_s)} left"
    return f"{progress.done} of {progress.total} {unit} {bar} {100 * progress.fraction:.0f} %{left}"


# -- status line --------------------------------------------------------------------------------------


def status_lines(update: Update, glyphs: Glyphs, width: int, paused: bool, note: str = "") -> list[Line]:
    """Two lines: how the sweep stands; what there is to know about the view."""
    state = update.state
    head = f" {word(state.verdict.word, glyphs)}  "
    took = duration(state.now - state.began - state.idle_s) if state.began else UNKNOWN
    ended = f"   {took} after its start" if update.replay else f"   took {took}"
    tail = f"   {took} so far" if state.verdict.live else ended
    runs = f"{state.runs_over} of {len(state.runs)} runs   "
    bar = max(6, min(30, width - 90))
    progress = progress_text(state.sweep_progress, "reps", glyphs, bar, state.verdict.live)
    choices = (runs + progress + tail, runs + progress, progress)
    middle = next((text for text in choices if len(head + text) <= width), progress)
    first = line((head, STYLES.get(state.verdict.word, "strong")), middle)
    if update.reading is not None:
        second = line((f" reading the journal, {100 * update.reading:.0f} %", "warn"))
    elif update.replay:
        second = line((replay_text(update, glyphs, width), "warn"))
    elif paused:
        second = line((" view paused: the sweep goes on and is still read. space shows it again", "warn"))
    elif update.fault:
        second = line((f" the results cannot be derived: {update.fault}", "warn"))
    elif note:
        second = line((f" {note}", "warn"))
    else:
        second = line((f" {evidence(state, glyphs)}", "dim"))
    return [first, second]


def evidence(state: LiveState, glyphs: Glyphs) -> str:
    """What says that the sweep runs or not, and what else is worth a word."""
    parts = [state.verdict.evidence]
    failed = sum(view.word in ("failed", "cut off") for view in state.runs)
    refused = sum(view.word == "refused" for view in state.runs)
    if failed:
        parts.append(f"{failed} failed (E)")
    if refused:
        parts.append(f"{refused} refused (E)")
    if state.broken:
        parts.append(f"{state.broken} unreadable journal lines")
    if state.notes:
        parts.append(state.notes[-1].message)
    return f" {glyphs.bullet} ".join(parts)


def replay_text(update: Update, glyphs: Glyphs, width: int) -> str:
    """The scrubber: a bar, the time of day and the place in the journal."""
    about = f" {clock(update.state.last)}  event {update.moment} of {update.events}  end: now"
    room = max(8, min(60, width - len(about) - 12))
    part = update.moment / update.events if update.events else 0.0
    return f" replay {glyphs.bar(part, room)}{about}"


# -- runs ---------------------------------------------------------------------------------------------


def run_line(view: RunView, results: Sequence[Result], selected: bool, width: int, glyphs: Glyphs) -> Line:
    """One row of the run list: cursor, state, what it is, how far it is. `results` are the run's own."""
    mark = glyphs.cursor if selected else " "
    said = fit(word(view.word, glyphs), 11, glyphs.ellipsis)
    if view.word in ("running", "waiting", "cut off"):
        tail = f" {view.done}/{view.todo}"
    else:
        tail = f" {speedup(view, results, glyphs)}"
    name = fit(view.short, width - len(mark) - len(said) - len(tail) - 2, glyphs.ellipsis)
    return line((mark, ""), (said, STYLES.get(view.word, "dim")), (f" {name}{tail}", ""))


def speedup(view: RunView, results: Sequence[Result], glyphs: Glyphs) -> str:
    """The run's speed-up, or a plain run's rate: the mean over its prompts, which are told in the table."""
    ratios = [result.speedup for result in results if result.speedup is not None]
    if ratios and view.run.config.kind != "plain":
        return f"{sum(ratios) / len(ratios):.2f}{glyphs.times}"
    rates = [result.tok_s for result in results if result.tok_s is not None]
    return f"{sum(rates) / len(rates):.1f} tok/s" if rates else ""


def by_run(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Results of each run."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.run, []).append(result)
    return found


# -- the selected run ---------------------------------------------------------------------------------

_COLUMNS = (
    ("tok/s", 7),
    ("accepted", 9),
    ("tok/round", 10),
    ("TTFT", 8),
    ("TPOT", 9),
    ("memory", 7),
    ("cores", 6),
    ("others", 6),
)


def run_head(view: RunView | None, state: LiveState, glyphs: Glyphs, width: int) -> list[Line]:
    """Five lines: name, rep, run, captions, values. The values alone change often."""
    if view is None:
        waiting = "no run has started yet" if state.runs else "waiting for the first event"
        return [line((f" {waiting}", "dim"))] + [()] * 4
    bar = max(5, min(20, width - 70))
    kind = f"{view.run.path}{', emulated NPU' if view.run.emulated else ''}"
    attempt = f", attempt {view.attempt}" if view.attempt > 1 else ""
    title = line((f" {word(view.word, glyphs)}  ", STYLES.get(view.word, "")), (view.label, "strong"))
    title += line((f"  {kind}{attempt}", "dim"))
    return [
        title,
        line(f" {_rep_text(view, state, glyphs, bar)}"),
        line(f" {_run_text(view, state, glyphs, bar)}"),
        line(("".join(f" {name:<{size}}" for name, size in _COLUMNS), "dim")),
        line(
            ("".join(f" {text:<{size}}" for text, (_, size) in zip(_values(view), _COLUMNS, strict=True)), "")
        ),
    ]


def _rep_text(view: RunView, state: LiveState, glyphs: Glyphs, bar: int) -> str:
    rep = view.rep
    if view.word == "running":
        scoring = view.run.config.kind == "agreement" and view.phase == "decode"
        doing = "scoring the baseline's text" if scoring else PHASES.get(view.phase, view.phase)
        phase = f"{doing} {duration(state.now - view.phase_began)}"
        if rep is None or view.phase in ("import", "construct", "read"):
            return phase
    elif rep is None:
        return view.reason or view.word
    else:
        phase = view.reason or "last text"
    what = f"{rep.prompt} {rep.kind} {rep.rep + 1}"
    progress = eta.rep_progress(rep.metrics, state.budget)
    if rep.done:
        return f"{phase} {glyphs.bullet} {what}: {rep.metrics.tokens} of {state.budget} tokens"
    return f"{phase} {glyphs.bullet} {what}: {progress_text(progress, 'tokens', glyphs, bar)}"


def _run_text(view: RunView, state: LiveState, glyphs: Glyphs, bar: int) -> str:
    unit = "passes" if view.run.config.kind == "agreement" else "reps"
    progress = eta.run_progress(view, eta.Paces(state.runs, state.now), state.now)
    text = f"run: {progress_text(progress, unit, glyphs, bar, state.verdict.live)}"
    if view.construct_s is not None:
        text += f" {glyphs.bullet} built in {number(view.construct_s, 1, 's')}"
    return text


def _values(view: RunView) -> tuple[str, ...]:
    metrics = view.rep.metrics if view.rep else None
    if metrics is None:
        rates: tuple[str, ...] = (UNKNOWN,) * 5
    else:
        plain = view.run.config.kind in ("plain", "agreement")
        rates = (
            number(metrics.tok_s),
            UNKNOWN if plain else percent(metrics.acceptance),
            UNKNOWN if plain else number(metrics.tokens_per_round, 2),
            number(metrics.ttft_ms, 0, "ms"),
            number(metrics.tpot_ms, 1, "ms"),
        )
    over = view.word != "running"
    return (
        *rates,
        memory(view.peak_rss_mb if over else view.rss_mb),
        UNKNOWN if over else number(view.cpu),
        UNKNOWN if over else number(view.other_cpu),
    )


def legend(brackets: bool) -> Line:
    """What the marks in the text mean."""
    if brackets:
        return line((" text: the target's own, [accepted from the draft]", "dim"))
    return line((" text: the target's own, ", "dim"), ("accepted from the draft", "accepted"))


# -- results, errors, details -------------------------------------------------------------------------


def result_lines(results: Sequence[Result], state: LiveState, width: int, glyphs: Glyphs) -> list[Line]:
    """A table of finished runs and prompts in the plan's order; a row without numbers says why."""
    if not results:
        return [line((" finished runs appear here, with their speed-ups", "dim"))]
    roomy = width >= 90
    columns = [("tok/s", 13), ("speed-up", 17), ("accepted", 9)] + [("tok/round", 10)] * roomy
    flags = 8 if roomy else 2
    prompt = 12 if roomy else 9
    name = max(12, min(44, width - 2 - prompt - flags - sum(size for _, size in columns)))
    head = f" {fit('run', name)} {fit('prompt', prompt)}" + "".join(
        f"{text:>{size}}" for text, size in columns
    )
    lines = [line((head, "dim"))]
    shorts = {view.id: view.short for view in state.runs}
    order = {view.id: place for place, view in enumerate(state.runs)}
    agreements = {view.id for view in state.runs if view.run.config.kind == "agreement"}
    for row in sorted(results, key=lambda row: order.get(row.run, len(order))):
        if row.run in agreements and row.status == "ok":
            continue  # It measures nothing that stands in a table.
        start = f" {fit(shorts.get(row.run, row.label), name, glyphs.ellipsis)}"
        start += f" {fit(row.prompt, prompt, glyphs.ellipsis)}"
        status = word(row.status, glyphs)
        style = STYLES.get(row.status, "")
        if row.tok_s is None:
            lines.append(line(start, (f"  {status}: {row.reason}" if row.reason else f"  {status}", style)))
            continue
        digits = 1 if row.tok_s < 1000 else 0
        spread = f" {glyphs.plus_minus}{row.tok_s_sd:.{digits}f}" if row.tok_s_sd is not None else ""
        cells = [f"{row.tok_s:.{digits}f}{spread}", interval(row, glyphs), percent(row.acceptance)]
        cells += [number(row.tokens_per_round, 2)] * roomy
        body = "".join(f" {text:>{size - 1}}" for text, (_, size) in zip(cells, columns, strict=True))
        noisy = f" {glyphs.states['warned']}{' noisy' if roomy else ''}" if row.noisy else ""
        lines.append(line(start + body, (noisy, "warn")))
    if not roomy and any(row.noisy for row in results):
        lines.append(line((f" {glyphs.states['warned']} noisy: the reps differ too much to rank by", "dim")))
    return lines


def interval(row: Result, glyphs: Glyphs) -> str:
    """`1.35× 1.30-1.41`: the speed-up with its 95 % interval; where there is none, the status says why."""
    if row.speedup is None:
        return UNKNOWN if row.status == "ok" else word(row.status, glyphs)
    text = f"{ratio(row.speedup)}{glyphs.times}"
    if row.speedup_lo is not None and row.speedup_hi is not None:
        text += f" {ratio(row.speedup_lo)}-{ratio(row.speedup_hi)}"
    return text


def error_lines(state: LiveState, glyphs: Glyphs) -> list[Line]:
    """Failed and refused runs by class of failure."""
    groups = state.errors
    if not groups:
        return [line((" nothing has failed", "dim"))]
    lines: list[Line] = []
    for group in groups:
        count = f"{len(group.runs)} run{'s' if len(group.runs) > 1 else ''}"
        lines.append(line((f" {glyphs.states['failed']} {group.failure}", "bad"), f"  {count}"))
        for view in group.runs:
            phase = PHASES.get(view.phase, view.phase)
            where = f" while {phase}" if view.word == "failed" and phase else ""
            end = f" ({view.exit_name})" if view.exit_name else ""
            lines.append(line(f"   {view.label}: ", (f"{word(view.word, glyphs)}{where}{end}", "dim")))
            if view.reason:
                lines.append(line(f"     {view.reason}"))
    return lines


def detail_lines(view: RunView, state: LiveState, glyphs: Glyphs) -> list[Line]:
    """Everything that is known of one run."""
    run, config = view.run, view.run.config
    lines = [
        line((f" {view.label}", "strong")),
        line(f" {word(view.word, glyphs)}", (f"  run {run.id}, path {run.path}", "dim")),
        (),
    ]

    def fact(name: str, value: object) -> None:
        if value not in (None, "", {}, ()):
            lines.append(line((f" {name:<18}", "dim"), str(value)))

    fact("kind", config.kind)
    fact("added", "a baseline that another row needs" if run.added else "")
    fact("target", f"{config.target} on {config.target_device}")
    fact("draft", f"{config.draft} on {config.draft_device}" if config.draft else "")
    fact("NAT", config.num_assistant_tokens)
    fact("emulated", "the NPU code path on another device" if run.emulated else "")
    fact("target properties", ", ".join(f"{key}={value}" for key, value in run.target_properties.items()))
    fact("draft properties", ", ".join(f"{key}={value}" for key, value in run.draft_properties.items()))
    fact("devices", ", ".join(f"{key}: {value}" for key, value in view.devices))
    fact("measured", f"{view.done} of {view.todo} reps, attempt {view.attempt}")
    fact("built in", number(view.construct_s, 2, "s") if view.construct_s is not None else "")
    fact("peak memory", memory(view.peak_rss_mb) if view.peak_rss_mb else "")
    fact("failure", view.failure)
    fact("reason", view.reason)
    fact("exit", view.exit_name)
    for finding in run.findings:
        fact(finding.level, finding.text)
    own = [result for result in state.results if result.run == view.id]
    if own:
        lines += [(), *result_lines(own, state, 100, glyphs)]
    if view.tail:
        lines += [(), line((" last words on stderr", "dim")), *(line(f"   {text}") for text in view.tail)]
    return lines
