"""What a forecast measures: nothing speculative, and nothing of the grid is lost from the plan."""

from __future__ import annotations

from sweeps.paths import presets
from sweeps.plan.build import plan_file
from sweeps.plan.forecast import forecast_plan, make_identifier, with_probes


def test_probes_stand_beside_the_whole_grid() -> None:
    plan = plan_file(presets() / "demo.toml")
    probes = forecast_plan(plan, make_identifier(plan))
    assert "speculative" not in {run.config.kind for run in probes.runs}
    lookups = [run for run in probes.runs if run.config.kind == "prompt-lookup"]
    assert sorted(run.config.num_assistant_tokens or 0 for run in lookups) == [1, 3, 5]
    # The demo has the lookup of NAT 3 itself.
    assert {run.config.num_assistant_tokens for run in lookups if run.added} == {1, 5}
    whole = with_probes(plan, probes)
    assert whole.runs[: len(plan.runs)] == plan.runs
    assert len({run.id for run in whole.runs}) == len(whole.runs) == len(plan.runs) + 2
    assert {run.id for run in probes.runs} <= {run.id for run in whole.runs}
    assert with_probes(whole, probes) == whole
