"""What-if's texts, charts, bars and Markdown."""

from __future__ import annotations

import pytest

from explorer.glyphs import ASCII, UNICODE
from explorer.screens.whatif import lines, missed
from explorer.screens.whatif.charts import curve_chart
from explorer.screens.whatif.markdown import markdown
from explorer.screens.whatif.outcome import Outcome, evaluate
from explorer.screens.whatif.workbench import Workbench
from explorer.widgets.budget_bar import Budget, bar_lines, cells
from tests.unit.whatif_kit import bench


@pytest.fixture(scope="module")
def made() -> Workbench:
    return bench(prompts=("one", "two"))


@pytest.fixture(scope="module")
def outcome(made: Workbench) -> Outcome:
    return evaluate(made.scenario(next(c for c in made.cases if c.nat == 3)))


def text(parts: list[lines.Parts]) -> str:
    return "\n".join("".join(p if isinstance(p, str) else p[0] for p in each) for each in parts)


def test_the_headline_has_predicted_measured_and_error(outcome: Outcome) -> None:
    found = text(lines.headline(outcome, 120, UNICODE))
    assert "small on CPU for big on CPU, cb, prompt one  NAT 3" in found
    assert f"predicted {outcome.prediction.speedup:.2f}×" in found
    assert "error" in found
    edited = text(lines.headline(evaluate(outcome.scenario.edited("draft_ms", 9)), 120, UNICODE))
    assert "edited: draft" in edited
    assert "change" in edited
    assert "error" not in edited


@pytest.mark.parametrize("width", [60, 76, 120])
def test_answers_fit_their_width_and_ascii_terminals(outcome: Outcome, width: int) -> None:
    for pinned in (None, evaluate(outcome.scenario.edited("nat", 5))):
        found = text(lines.answers(outcome, pinned, width, ASCII))
        assert max(map(len, found.splitlines())) <= max(width, 70)
        assert found.isascii()
        for label in ("best NAT", "break-even draft", "break-even acceptance", "longer compile pays",
                      "Improve first", "The interval is made of", "Why it was not as predicted"):  # fmt: skip
            assert label in found


def test_a_pinned_scenario_stands_beside(outcome: Outcome) -> None:
    pinned = evaluate(outcome.scenario.edited("draft_ms", 9.0))
    found = text(lines.answers(outcome, pinned, 100, UNICODE))
    row = next(each for each in found.splitlines() if each.startswith("predicted speed-up"))
    assert f"{outcome.prediction.speedup:.2f}×" in row
    assert f"{pinned.prediction.speedup:.2f}×" in row


def test_the_chart_has_the_measured_points_with_their_intervals(outcome: Outcome) -> None:
    drawn = {line.name: line for line in curve_chart(outcome, None, False, False).lines}
    assert [(p.x, p.low is not None) for p in drawn["measured"].points] == [(1, True), (3, True), (5, True)]
    assert not drawn["measured"].joined
    assert len(drawn["predicted"].points) == 10
    assert "extrapolated" in drawn
    assert "Leviathan (r)" not in drawn
    drawn = {line.name: line for line in curve_chart(outcome, outcome, True, True).lines}
    assert drawn["Leviathan (r)"].faint
    assert "pinned" in drawn
    assert drawn["predicted"].points[0].low is not None


def test_markdown_is_whole(outcome: Outcome) -> None:
    found = markdown(outcome, outcome)
    rows = [each for each in found.splitlines() if each.startswith("|")]
    assert "| NAT | predicted | 90 % | measured |" in found
    assert any(row.startswith("| draft | ") and "measured" in row for row in rows)
    assert any(row.startswith("| best NAT | ") for row in rows)
    blocks = [block.splitlines() for block in found.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 3
    for block in blocks:
        assert len({row.count("|") for row in block}) == 1


def test_bars_are_on_one_scale_and_add_up() -> None:
    assert cells((1.0, 1.0, 1.0), 10 / 3) == [3, 4, 3]
    assert cells((2.0, -1.0, 1.0), 1.0) == [2, 0, 1]
    found = bar_lines(
        [Budget("now", (1, 2, 1)), Budget("then", (1, 1, 0))], ("draft", "verify", "rest"), 62, True
    )
    bars = ["".join(span.text for span in line) for line in found]
    assert bars[0].count("=") == 2 * bars[0].count("#")
    assert bars[1].count("#") == bars[0].count("#")
    assert "4.00 ms" in bars[0]
    assert "# draft 1.00 ms" in bars[2]
    assert all(bar.isascii() for bar in bars)


def test_all_rows_are_predicted_with_a_cause_each(made: Workbench) -> None:
    found = missed.run(made, missed.WAYS[0])
    assert len(found.misses) == 4  # NAT 1 and 5 of both prompts, learned from NAT 3
    assert all(abs(miss.error) < 0.1 for miss in found.misses)
    chart = missed.scatter(found)
    marks = {line.name for line in chart.lines}
    assert marks == {miss.cause for miss in found.misses} | {"agreement"}
    assert sum(len(line.points) for line in chart.lines if not line.faint) == 4
    words = text(missed.miss_lines(found.misses, 60, ASCII) + missed.summary_lines(found))
    assert "measured" in words
    assert "ours" in words
    assert "Leviathan (alpha)" in words
