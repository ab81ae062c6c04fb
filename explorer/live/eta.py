"""How much longer: from the median cost of like runs, compile included, and `None` while there is none."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from explorer.live.labels import like
from explorer.live.state import Metrics, Progress, RunView


def rep_progress(metrics: Metrics, budget: int) -> Progress:
    """Tokens of the budget; what is left at this rep's own pace."""
    left = max(0, budget - metrics.tokens)
    eta = left * metrics.tpot_ms / 1000 if metrics.tpot_ms is not None else None
    return Progress(metrics.tokens, budget, eta)


def seconds_per_unit(view: RunView, now: float) -> float | None:
    """Seconds that one counted unit of this run took: construct and warm-ups are shared out over the
    units, so that a run measured in several passes costs what it costs."""
    running = view.word == "running" and view.done > view.process_done
    spent = view.seconds + (now - view.process_began if running else 0.0)
    done = view.done if running or view.word != "running" else view.process_done
    return spent / done if done and spent > 0 else None


def run_progress(view: RunView, runs: Iterable[RunView], now: float) -> Progress:
    """Counted units of a run; what is left at the pace of like runs, itself included once it has one."""
    left = view.todo - view.done
    pace = _pace(view, list(runs), now)
    eta = None if pace is None else left * pace
    if eta is not None and view.word == "running":
        # What has already gone into the unit that runs now.
        spent = now - view.process_began - (view.done - view.process_done) * pace if pace else 0.0
        eta = max(0.0, eta - max(0.0, min(spent, pace or 0.0)))
    return Progress(view.done, view.todo, eta if left else 0.0)


def sweep_progress(runs: Iterable[RunView], now: float) -> Progress:
    """Counted units of the sweep; the time left is unknown until every run still to come has a like one."""
    views = list(runs)
    wanted = [view for view in views if view.word != "refused"]
    done = sum(view.todo if view.over else view.done for view in wanted)
    total = sum(view.todo for view in wanted)
    eta: float | None = 0.0
    for view in wanted:
        if not view.over and eta is not None:
            own = run_progress(view, views, now).eta_s
            eta = None if own is None else eta + own
    return Progress(done, total, eta)


def _pace(view: RunView, runs: list[RunView], now: float) -> float | None:
    """Median seconds per unit of the runs most like this one: same kind, models and devices, else same
    kind and devices."""
    exact, near = [], []
    own = like(view.run)
    for other in runs:
        seconds = seconds_per_unit(other, now)
        if seconds is None:
            continue
        key = like(other.run)
        if key == own:
            exact.append(seconds)
        elif (key[0], key[2], key[4]) == (own[0], own[2], own[4]):
            near.append(seconds)
    pool = exact or near
    return median(pool) if pool else None
