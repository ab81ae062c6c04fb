"""A grouped sweep looks at its baselines once more at the end, and says how far the machine drifted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeps.events.types import RepDone
from sweeps.store.compared import DRIFT_NOISY
from sweeps.store.frames import load_folder
from sweeps.supervise import supervisor
from tests.e2e.engine import events_of
from tests.e2e.traps import kit

pytestmark = [pytest.mark.models]


def test_the_baseline_once_more_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "DRIFT_AFTER_S", 0.0)
    base = kit.plain("PA")
    pair = kit.cb(baseline=base)
    measured = kit.measure(tmp_path, base, pair, reps=2, warmup=0)
    done = [rep for rep in events_of(measured.folder, RepDone) if not rep.warmup]
    assert [(rep.run, rep.drift) for rep in done] == [
        (base.id, False),
        (base.id, False),
        (pair.id, False),
        (pair.id, False),
        (base.id, True),
    ]
    # It counts in no mean, and stands in no table of reps.
    assert measured.row(base)["reps"] == 2
    assert load_folder(measured.folder.path).reps.height == 4
    for run in (base, pair):
        assert "drift: the baseline" in measured.row(run)["notes"]
    said = measured.row(pair)["notes"].split("drift: the baseline ")[1].split("%")[0]
    if abs(float(said)) > 100 * DRIFT_NOISY + 0.1:
        assert measured.row(pair)["noisy"] is True


def test_a_baseline_that_is_young_needs_no_second_look(tmp_path: Path) -> None:
    base = kit.plain("PA")
    measured = kit.measure(tmp_path, base, kit.cb(baseline=base), reps=1, warmup=0)
    assert not any(rep.drift for rep in events_of(measured.folder, RepDone))
