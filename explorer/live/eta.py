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


class Paces:
    """Median seconds per unit of each likeness, over the runs that have any; made once a state."""

    def __init__(self, runs: Iterable[RunView], now: float) -> None:
        self._exact: dict[tuple[str | None, ...], list[float]] = {}
        self._near: dict[tuple[str | None, ...], list[float]] = {}
        for view in runs:
            seconds = seconds_per_unit(view, now)
            if seconds is not None:
                key = like(view.run)
                self._exact.setdefault(key, []).append(seconds)
                self._near.setdefault(_near(key), []).append(seconds)

    def of(self, view: RunView) -> float | None:
        """Of the runs most like this one: same kind, models and devices, else same kind and devices."""
        key = like(view.run)
        pool = self._exact.get(key) or self._near.get(_near(key))
        return median(pool) if pool else None

    def of_any(self) -> float | None:
        """Of all kinds alike: a guess for a kind that was not seen yet."""
        return median(median(pool) for pool in self._exact.values()) if self._exact else None


def _near(key: tuple[str | None, ...]) -> tuple[str | None, ...]:
    kind, _, target_device, _, draft_device = key
    return (kind, target_device, draft_device)


def run_progress(view: RunView, paces: Paces, now: float) -> Progress:
    """Counted units of a run; what is left at the pace of like runs, itself included once it has one."""
    left = view.todo - view.done
    if left <= 0:
        return Progress(view.done, view.todo, 0.0)
    pace = paces.of(view)
    if pace is None:
        return Progress(view.done, view.todo, None)
    eta = left * pace
    if view.word == "running":
        # What has already gone into the unit that runs now.
        spent = now - view.process_began - (view.done - view.process_done) * pace
        eta -= max(0.0, min(spent, pace))
    return Progress(view.done, view.todo, eta)


def sweep_progress(runs: Iterable[RunView], paces: Paces, now: float) -> Progress:
    """Counted units of the sweep; the time left is rough until every run still to come has a like one."""
    wanted = [view for view in runs if view.word != "refused"]
    done = sum(view.todo if view.over else view.done for view in wanted)
    total = sum(view.todo for view in wanted)
    guess = paces.of_any()
    left, rough = 0.0, False
    for view in wanted:
        eta = None if view.over else run_progress(view, paces, now).eta_s
        if eta is None and not view.over:
            if guess is None:
                return Progress(done, total, None)
            eta, rough = guess * (view.todo - view.done), True
        left += eta or 0.0
    return Progress(done, total, left, rough)
