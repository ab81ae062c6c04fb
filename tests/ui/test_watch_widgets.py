"""The widgets of Watch by themselves: what is repainted, how text wraps, what a byte budget does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Region

from explorer.glyphs import ASCII, UNICODE
from explorer.live.text import Piece
from explorer.widgets.line_pane import LinePane, ScrollPane, changed_columns, line, printable
from explorer.widgets.log_pane import LogPane, read_tail
from explorer.widgets.run_list import RunList
from explorer.widgets.spark import spark_line
from explorer.widgets.token_tail import BURST_BYTES, Rows, TokenTail, cost


class Host(App[None]):
    """One widget in the whole terminal."""

    def __init__(self, widget: LinePane | TokenTail) -> None:
        super().__init__()
        self.animation_level = "none"
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


def shown(widget: LinePane | TokenTail) -> list[str]:
    return [
        "".join(segment.text for segment in widget.render_line(y)).rstrip() for y in range(widget.size.height)
    ]


class Repaints:
    """Records the regions that a widget asks to be repainted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, widget: LinePane | TokenTail) -> None:
        self.regions: list[Region | None] = []
        real = widget.refresh

        def refresh(*regions: Region, **options: bool) -> object:
            self.regions += list(regions) or [None]
            return real(*regions, **options)

        monkeypatch.setattr(widget, "refresh", refresh)


def test_changed_columns() -> None:
    assert changed_columns(line("abc"), line("abc")) is None
    assert changed_columns(line("abc"), line("abX")) == (2, 3)
    assert changed_columns(line("a", ("b", "dim")), line("ab")) == (1, 2)
    assert changed_columns(line("ab"), line("a", "b")) is None
    assert changed_columns(line("日本"), line("日x")) == (2, 4)
    assert changed_columns((), line("  x")) == (2, 3)


@pytest.mark.parametrize(
    ("text", "wanted"), [("a\tb", "a b"), ("\x1b[31mred", "\ufffd[31mred"), ("é✓", "é✓")]
)
def test_nothing_that_moves_the_terminal_gets_through(text: str, wanted: str) -> None:
    assert printable(text) == wanted


async def test_a_line_pane_repaints_only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    pane = LinePane()
    async with Host(pane).run_test(size=(40, 5)) as pilot:
        pane.show_lines([line("tok/s 10.0"), line("rest")])
        await pilot.pause()
        repaints = Repaints(monkeypatch, pane)
        pane.show_lines([line("tok/s 10.5"), line("rest")])
        assert repaints.regions == [Region(9, 0, 1, 1)]
        pane.show_lines([line("tok/s 10.5"), line("rest")])
        assert len(repaints.regions) == 1, "the same again costs nothing"
        assert shown(pane)[:2] == ["tok/s 10.5", "rest"]


async def test_a_scroll_pane_scrolls_with_the_keys() -> None:
    pane = ScrollPane()
    async with Host(pane).run_test(size=(20, 4)) as pilot:
        pane.show_lines([line(f"line {number}") for number in range(10)])
        pane.focus()
        await pilot.press("down", "pagedown")
        assert shown(pane) == ["line 4", "line 5", "line 6", "line 7"]
        await pilot.press("ctrl+end", "down")
        assert shown(pane)[-1] == "line 9"
        await pilot.press("ctrl+home", "up")
        assert shown(pane)[0] == "line 0"


async def test_a_run_list_makes_only_the_rows_in_sight() -> None:
    made: list[int] = []

    def row(index: int, selected: bool) -> tuple[object, ...]:
        made.append(index)
        return line(f"{'>' if selected else ' '} run {index}")

    runs = RunList()
    async with Host(runs).run_test(size=(20, 6)) as pilot:
        runs.show_rows(10_000, row, cursor=0)  # type: ignore[arg-type]
        runs.focus()
        await pilot.pause()
        made.clear()
        await pilot.press("down")
        assert set(made) == set(range(6))
        await pilot.press("ctrl+end")
        assert shown(runs)[-1] == "> run 9999"
        await pilot.press("pageup", "k")
        assert runs.cursor == 9993
        assert runs.cursor in runs.visible_rows


# -- the text -----------------------------------------------------------------------------------------


def test_text_wraps_by_cells_and_keeps_its_sources() -> None:
    rows = Rows(6)
    rows.feed([Piece("abc", False), Piece("defgh\nij", True), Piece("日本語x", False)])
    assert [[(part.text, part.accepted) for part in row] for row in rows.rows] == [
        [("abc", False), ("def", True)],
        [("gh", True)],
        [("ij", True), ("日本", False)],
        [("語x", False)],
    ]
    assert rows.column == 3


def test_brackets_stand_in_for_styles() -> None:
    rows = Rows(40, brackets=True)
    rows.feed([Piece("The", False), Piece(" answer is", True), Piece(" 4", False)])
    assert "".join(part.text for part in rows.rows[0]) == "The[ answer is] 4"


@given(st.lists(st.tuples(st.text(max_size=30), st.booleans()), max_size=20), st.integers(2, 40), st.data())
def test_wrapping_depends_on_the_text_alone(
    pieces: list[tuple[str, bool]], width: int, data: st.DataObject
) -> None:
    """However a text comes in pieces, its rows are the same, fit the width and lose nothing."""
    from rich.cells import cell_len

    whole = [Piece(text, accepted) for text, accepted in pieces]
    at_once, one_by_one = Rows(width), Rows(width)
    at_once.feed(whole)
    for piece in whole:
        cut = data.draw(st.integers(0, len(piece.text)))
        one_by_one.feed([Piece(piece.text[:cut], piece.accepted), Piece(piece.text[cut:], piece.accepted)])
    assert at_once.rows == one_by_one.rows
    texts = ["".join(part.text for part in row) for row in at_once.rows]
    assert all(cell_len(text) <= width for text in texts)
    expected = "".join(printable(part) for piece in whole for part in piece.text.split("\n"))
    assert "".join(texts) == expected


async def test_the_tail_repaints_the_cells_that_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    tail = TokenTail()
    async with Host(tail).run_test(size=(40, 5)) as pilot:
        pieces = [Piece("The answer", False)]
        tail.show("call", pieces)
        await pilot.pause()
        repaints = Repaints(monkeypatch, tail)
        pieces = [*pieces, Piece(" is 4", True)]
        tail.show("call", pieces)
        assert repaints.regions == [Region(10, 0, 5, 1)]
        assert shown(tail)[0] == "The answer is 4"
        accepted = [segment for segment in tail.render_line(0) if segment.text == " is 4"]
        assert accepted[0].style is not None
        assert accepted[0].style.underline, "told apart without colour"


async def test_a_full_pane_jumps_and_keeps_some_context() -> None:
    tail = TokenTail()
    async with Host(tail).run_test(size=(20, 6)) as pilot:
        pieces: list[Piece] = []
        for number in range(7):
            pieces.append(Piece(f"line {number}\n", False))
            tail.show("call", list(pieces))
            await pilot.pause()
        assert "line 6" in tail.text
        assert "line 5" in tail.text
        assert len(tail.text.splitlines()) < 6, "room for what comes next"
        await pilot.pause(1.0)
        assert len(tail.text.splitlines()) >= 5, "filled again once the text pauses"
        assert tail.text.splitlines()[-1] == "line 6"


async def test_another_call_starts_with_an_empty_pane() -> None:
    tail = TokenTail()
    async with Host(tail).run_test(size=(20, 4)) as pilot:
        tail.show(1, [Piece("one", False)])
        await pilot.pause()
        tail.show(2, [Piece("two", False)])
        await pilot.pause()
        assert shown(tail)[0] == "two"


async def test_fast_text_is_held_back_to_the_budget_and_then_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    tail = TokenTail()
    async with Host(tail).run_test(size=(60, 8)) as pilot:
        spent = 0
        real = tail._feed

        def feed() -> None:
            nonlocal spent
            before = tail._allowance
            real()
            spent += int(before - tail._allowance)

        monkeypatch.setattr(tail, "_feed", feed)
        pieces: list[Piece] = []
        for number in range(400):
            pieces.append(Piece(f"word{number:04d} ", bool(number % 2)))
            tail.show("call", list(pieces))
        assert spent < 2 * BURST_BYTES, "four hundred updates at once, and no more than two panes painted"
        for _ in range(20):
            await pilot.pause(0.1)
            if "word0399" in tail.text:
                break
        assert "word0399" in tail.text, "what was held back is shown later"


async def test_a_new_width_wraps_anew() -> None:
    tail = TokenTail()
    async with Host(tail).run_test(size=(40, 4)) as pilot:
        tail.show("call", [Piece("0123456789" * 3, False)])
        await pilot.resize_terminal(12, 4)
        await pilot.pause()
        assert [len(text) for text in shown(tail)[:3]] == [12, 12, 6]


def test_cost_counts_bytes_and_styles() -> None:
    rows = Rows(40)
    rows.feed([Piece("ab", False), Piece("é", True)])
    assert cost(rows.rows[0]) == 10 + (2 + 42) + (2 + 42)


# -- the rest -----------------------------------------------------------------------------------------


def test_a_sparkline_says_its_scale() -> None:
    text = "".join(span.text for span in spark_line([0.0, 10.0, 20.0], 30, UNICODE, "tok/s"))
    assert text == " ▄█ 0..20 tok/s"
    assert "".join(span.text for span in spark_line([0, 20], 30, ASCII, "tok/s")).isascii()
    assert spark_line([], 30, UNICODE, "tok/s") == ()


def test_the_end_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    assert read_tail(path) == []
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(1000)))
    lines = read_tail(path, 100)
    assert lines[-1] == "line 999"
    assert all(re.fullmatch(r"line \d+", text) for text in lines), "no half line at the cut"


async def test_a_log_pane_follows_its_file(tmp_path: Path) -> None:
    pane, path = LogPane(), tmp_path / "run.log"
    async with Host(pane).run_test(size=(30, 4)) as pilot:
        pane.follow(path, "nothing yet")
        assert shown(pane)[0].strip() == "nothing yet"
        path.write_text("".join(f"warning {number}\n" for number in range(9)), encoding="utf-8")
        pane.follow(path)
        await pilot.pause()
        assert shown(pane)[-1].strip() == "warning 8"
        pane.scroll_lines(-3)
        with path.open("a", encoding="utf-8") as file:
            file.write("more\n")
        pane.follow(path)
        assert shown(pane)[-1].strip() == "warning 5", "a pane that was scrolled up stays"
