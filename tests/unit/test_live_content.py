"""What the watch panes say: pure functions, so no screen is needed."""

from __future__ import annotations

import msgspec
import pytest

from explorer.glyphs import ASCII, UNICODE
from explorer.live.state import LiveState, Progress, Result
from explorer.screens.watch import content
from explorer.screens.watch.format import clock, duration, fit, memory, number, percent, ratio
from explorer.widgets.line_pane import Line
from tests.ui.watch_kit import CRASHED, FINISHED, RESULTS, T, finished, half_way, update_of


def text(line: Line) -> str:
    return "".join(span.text for span in line)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "--"), (0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"),
        (200, "3 min 20 s"), (7500, "2 h 05 min"), (-3, "0 s"),
    ],
)  # fmt: skip
def test_durations(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said


def test_numbers_carry_units_and_the_unknown_is_no_number() -> None:
    assert (number(None), percent(None), memory(None), clock(0)) == ("--",) * 4
    assert number(31.25, 1, "ms") == "31.2 ms"
    assert percent(0.613) == "61.3 %"
    assert (memory(812.4), memory(3400)) == ("812 MB", "3.4 GB")
    assert (fit("abc", 5), fit("abcdef", 4), fit("abc", 0)) == ("abc  ", "abc…", "")


def test_an_unknown_time_left_is_not_invented() -> None:
    assert content.progress_text(Progress(1, 4, None), "reps", ASCII, 4) == "1 of 4 reps #... 25 %, -- left"
    assert content.progress_text(Progress(1, 4, 9, True), "reps", ASCII, 4).endswith(", ~9 s left")
    assert "left" not in content.progress_text(Progress(4, 4, 0.0), "reps", ASCII)
    assert "left" not in content.progress_text(Progress(1, 4, 9.0), "reps", ASCII, live=False)


def test_ratios_have_three_digits() -> None:
    assert [ratio(value) for value in (0.58, 9.994, 9.996, 13.06, 99.96, 113.5)] == [
        "0.58", "9.99", "10.0", "13.1", "100", "114",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_status_line_fits_and_always_tells_the_progress(width: int) -> None:
    first, second = content.status_lines(update_of(half_way()), UNICODE, width, paused=False)
    assert len(text(first)) <= width
    assert "10 of 15 reps" in text(first)
    assert "running" in text(first)
    assert "heartbeat fresh" in text(second)


def test_the_second_line_says_the_most_urgent_thing() -> None:
    update = update_of(half_way())

    def second(**changes: object) -> str:
        changed = msgspec.structs.replace(update, **changes)
        return text(content.status_lines(changed, UNICODE, 120, paused=True, note="asked to stop")[1])

    assert "reading the journal, 34 %" in second(reading=0.34)
    assert "replay" in second(replay=True)
    assert "view paused" in second()
    plain = content.status_lines(update, UNICODE, 120, paused=False, note="asked to stop now")
    assert "asked to stop now" in text(plain[1])
    fault = msgspec.structs.replace(update, fault="OSError: a damaged folder")
    assert "cannot be derived: OSError" in text(content.status_lines(fault, UNICODE, 120, paused=False)[1])


def test_a_row_without_numbers_says_why() -> None:
    state = update_of(half_way()).state
    lines = [text(line) for line in content.result_lines(RESULTS, state, 120, UNICODE)]
    assert lines[1].split()[-4:] == ["±0.4", "--", "--", "--"]
    assert "1.57× 1.49-1.66" in lines[2]
    assert lines[2].endswith("▲ noisy")
    assert lines[3].endswith("✗ failed: native_crash")


def test_a_rate_without_a_speed_up_gives_its_status() -> None:
    short = Result("pair000002", "x", "story", "budget_not_met", reason="4 of 32 tokens", tok_s=31.0)
    assert content.interval(short, UNICODE) == "▲ budget not met"
    assert content.interval(msgspec.structs.replace(short, status="ok"), UNICODE) == "--"


@pytest.mark.parametrize("width", [60, 74, 90, 120])
def test_result_columns_stay_apart_and_in_line(width: int) -> None:
    state = update_of(half_way()).state
    fast = msgspec.structs.replace(
        RESULTS[1], tok_s=2553.7, tok_s_sd=466.9, speedup=13.06, speedup_lo=0.26, speedup_hi=113.5
    )
    lines = [text(line) for line in content.result_lines([*RESULTS, fast], state, width, UNICODE)]
    assert all(" 2554 ±467 " in line for line in lines if "2554" in line)
    assert len({line.index("story") for line in lines[1:] if "story" in line}) == 1


def test_errors_come_by_class_with_phase_and_exit() -> None:
    lines = [text(line) for line in content.error_lines(update_of(half_way()).state, UNICODE)]
    assert lines[0] == " ✗ native_crash  1 run"
    assert "while building the pipeline (SIGSEGV)" in lines[1]
    assert any("bad_pair" in line for line in lines)
    assert [text(line).strip() for line in content.error_lines(LiveState(), UNICODE)] == [
        "nothing has failed"
    ]


def test_the_head_of_a_run_in_every_state() -> None:
    state = update_of(half_way(), CRASHED).state
    for view in state.runs:
        lines = content.run_head(view, state, UNICODE, 100)
        assert len(lines) == 5
        assert view.label in text(lines[0])
        assert content.word(view.word, UNICODE) in text(lines[0])
    assert len(content.run_head(None, LiveState(), UNICODE, 100)) == 5


def test_a_baseline_shows_no_acceptance() -> None:
    state = update_of(finished(), FINISHED, T + 120).state
    base = state.run("base000000")
    assert base is not None
    captions, values = (text(line) for line in content.run_head(base, state, UNICODE, 100)[3:])
    at = captions.index("accepted")
    assert values[at : at + 4] == "--  "


def test_details_tell_findings_and_last_words() -> None:
    state = update_of(half_way()).state
    for run, wanted in (("npu0000000", "LLVM ERROR"), ("refused000", "take a draft of the same family")):
        view = state.run(run)
        assert view is not None
        assert any(wanted in text(line) for line in content.detail_lines(view, state, UNICODE))


def test_glyph_tables_know_every_word() -> None:
    for word in ("queued", "waiting", "cut off", "unknown", "crashed", "metric_suspect"):
        assert content.word(word, UNICODE)[0] != UNICODE.bullet or word == "unknown"
        assert content.word(word, ASCII).isascii()
