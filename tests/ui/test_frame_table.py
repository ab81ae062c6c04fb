"""The table widget: what it draws, where its cursor goes, what it repaints."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region

from explorer.analysis.cells import ASCII, ColumnSpec
from explorer.widgets.frame_table import FrameTable
from explorer.widgets.frame_table.model import TableModel, column_order
from tests.ui.snapshot import lines_of

SIZES = [(80, 24), (120, 40), (200, 60)]


class Host(App[None]):
    """One table, and the messages it sent."""

    def __init__(self) -> None:
        super().__init__()
        self.moved: list[tuple[int, str]] = []
        self.chosen: list[tuple[int, str]] = []
        self.headers: list[str] = []

    def compose(self) -> ComposeResult:
        yield FrameTable()

    def on_frame_table_moved(self, message: FrameTable.Moved) -> None:
        self.moved.append((message.row, message.column))

    def on_frame_table_chosen(self, message: FrameTable.Chosen) -> None:
        self.chosen.append((message.row, message.column))

    def on_frame_table_header_clicked(self, message: FrameTable.HeaderClicked) -> None:
        self.headers.append(message.column)

    @property
    def table(self) -> FrameTable:
        return self.query_one(FrameTable)


def numbers(rows: int = 1000, columns: int = 30) -> pl.DataFrame:
    """Every cell says where it stands."""
    return pl.DataFrame({f"c{c:02d}": [f"{r}:{c}" for r in range(rows)] for c in range(columns)})


def every_type() -> pl.DataFrame:
    """Two rows of every type, the second null."""
    moment = dt.datetime(2026, 1, 2, 3, 4, 5)
    values: dict[str, tuple[Any, Any]] = {
        "bool": (True, pl.Boolean),
        "int": (-5, pl.Int8),
        "uint64": (2**64 - 1, pl.UInt64),
        "float": (1.5, pl.Float32),
        "decimal": (Decimal("1.25"), pl.Decimal(10, 2)),
        "string": ("wörld 漢字", pl.String),
        "categorical": ("a", pl.Categorical),
        "enum": ("x", pl.Enum(["x", "y"])),
        "datetime": (moment, pl.Datetime("us")),
        "zoned": (moment.replace(tzinfo=dt.UTC), pl.Datetime("ms", "UTC")),
        "date": (moment.date(), pl.Date),
        "time": (moment.time(), pl.Time),
        "duration": (dt.timedelta(minutes=2, seconds=5), pl.Duration),
        "list": ([1, None, 3], pl.List(pl.Int32)),
        "array": ([1, 2], pl.Array(pl.Int32, 2)),
        "struct": ({"a": 1, "b": "x"}, pl.Struct({"a": pl.Int64, "b": pl.String})),
        "binary": (b"\x00\x1b[2J", pl.Binary),
        "null": (None, pl.Null),
    }
    return pl.DataFrame(
        {name: pl.Series([value, None], dtype=dtype) for name, (value, dtype) in values.items()}
    )


def lines(table: FrameTable) -> list[str]:
    """The visible lines."""
    return [table.render_line(y).text for y in range(table.size.height)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_line_fills_the_window_exactly(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        app.table.show(numbers())
        await pilot.pause()
        app.table.move_to(500, 17)
        await pilot.pause()
        room = app.table.scrollable_content_region.width
        assert {app.table.render_line(y).cell_length for y in range(app.table.size.height)} == {room}
        assert any("500:17" in line for line in lines(app.table))


async def test_all_types_are_shown() -> None:
    app = Host()
    async with app.run_test(size=(400, 24)) as pilot:
        app.table.show(every_type())
        await pilot.pause()
        header, first, second = lines(app.table)[:3]
        for name in every_type().columns:
            assert name in header
        for text in (
            "✓", "-5", "18446744073709551615", "1.50", "1.25", "wörld 漢字", "2026-01-02 03:04:05",
            "2 m 05 s", "3: 1 – 3", "a=1 b=x", "00 1b 5b 32 4a (5 B)",
        ):  # fmt: skip
            assert text in first
        assert second.split() == ["–"] * len(every_type().columns)


async def test_a_cell_cannot_drive_the_terminal() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.show(pl.DataFrame({"text": ["a\x1b[2Jb\nc\u202ed\x9be"]}))
        await pilot.pause()
        assert lines(app.table)[1].split() == ["a·[2Jb⏎c·d·e"]


async def test_line_of_one_style_is_one_segment() -> None:
    app = Host()
    async with app.run_test(size=(120, 40)) as pilot:
        app.table.show(numbers())
        await pilot.pause()
        counts = [len(list(app.table.render_line(y))) for y in range(40)]
        assert counts[0] == 1
        assert counts[1] <= 4  # the cursor's row: mark, cell, rest
        assert set(counts[2:38]) == {1}


async def test_moving_the_cursor_repaints_two_lines() -> None:
    app = Host()
    async with app.run_test(size=(120, 40)) as pilot:
        app.table.show(numbers())
        app.table.move_to(5, 0)
        await pilot.pause()
        regions: list[Region] = []
        original = app.table.refresh

        def spy(*areas: Region, **options: Any) -> FrameTable:
            regions.extend(areas)
            original(*areas, **options)
            return app.table

        app.table.refresh = spy  # type: ignore[method-assign]
        app.table.move_to(6, 0)
        assert [(region.y, region.height) for region in regions] == [(6, 1), (7, 1)]
        regions.clear()
        await pilot.hover(FrameTable, offset=(10, 10))
        await pilot.hover(FrameTable, offset=(20, 20))
        assert regions == []
        app.table.action_page(1)
        assert all(region.y == 1 for region in regions)


async def test_keys_move_and_choose() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.show(numbers())
        app.table.focus()
        await pilot.press("down", "j", "right", "l", "up", "left")
        assert (app.table.cursor_row, app.table.cursor_column) == (1, "c01")
        assert app.table.cursor_value == "1:1"
        await pilot.press("pagedown")
        page = app.table.scrollable_content_region.height - 1
        assert app.table.cursor_row == 1 + page
        assert app.table.scroll_offset.y == page
        await pilot.press("ctrl+end", "end")
        assert (app.table.cursor_row, app.table.cursor_column) == (999, "c29")
        assert any("999:29" in line for line in lines(app.table))
        await pilot.press("enter")
        assert app.chosen == [(999, "c29")]
        await pilot.press("ctrl+home", "home", "pageup")
        assert (app.table.cursor_row, app.table.cursor_column) == (0, "c00")
        assert app.moved[-1] == (0, "c00")


async def test_mouse_selects_cells_and_titles() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.show(numbers(), frozen=["c00"])
        await pilot.pause()
        second = app.table.model.columns[1]
        await pilot.click(FrameTable, offset=(second.start + 1, 3))
        assert (app.table.cursor_row, app.table.cursor_column) == (2, "c01")
        await pilot.click(FrameTable, offset=(second.start + 1, 0))
        assert app.headers == ["c01"]


async def test_frozen_columns_stay() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.show(numbers(), frozen=["c03"], hidden=["c01"], order=["c02"])
        app.table.move_to(0, "c29")
        await pilot.pause()
        header, first = lines(app.table)[:2]
        assert header.startswith("‹c03")
        assert not header.endswith("›")
        assert "0:3" in first
        assert "0:29" in first
        assert "c01" not in header
        app.table.action_edge_column(-1)
        app.table.move_to(column=1)
        assert lines(app.table)[0].endswith("›")


async def test_null_row_and_no_row() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.show(pl.DataFrame(schema={"a": pl.Int64}))
        app.table.action_page(1)
        app.table.action_move(1, 1)
        app.table.action_choose()
        await pilot.pause()
        assert lines(app.table)[0].split() == ["a"]
        assert app.table.cursor_value is None
        app.table.show(pl.DataFrame())
        await pilot.pause()
        assert not "".join(lines(app.table)).strip()


async def test_rows_are_positions_in_the_frame() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        frame = numbers(10, 2)
        app.table.show(frame)
        app.table.move_to(7, 0)
        app.table.show(frame, rows=pl.Series([9, 7, 5], dtype=pl.UInt32))
        app.table.set_marked({7})
        await pilot.pause()
        body = lines(app.table)[1:4]
        assert [line.split()[-1] for line in body] == ["9:1", "7:1", "5:1"]
        assert app.table.cursor_row == 1  # the row it stood on
        assert [line[0] for line in body] == [" ", "●", " "]


async def test_more_columns_on_the_right_are_told_where_it_can_be_seen() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.show(numbers())
        await pilot.pause()
        assert lines_of(app)[0][78] == "›"


async def test_half_a_number_is_never_shown() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        frame = pl.DataFrame({f"c{c}": [123456780 + r for r in range(5)] for c in range(20)})
        app.table.show(frame)
        await pilot.pause()
        for _ in range(9):
            app.table.action_move(0, 1)
            await pilot.pause()
            for line in lines(app.table)[1:6]:
                for word in line.split():
                    assert word.startswith("12345678") or "…" in word, line


async def test_ascii_draws_no_other_character() -> None:
    app = Host()
    async with app.run_test(size=(200, 24)) as pilot:
        app.table.cells = ASCII
        app.table.show(every_type().drop("string"), frozen=["bool"], sorts={"int": ASCII.up})
        app.table.set_marked({0})
        await pilot.pause()
        assert "".join(lines(app.table)).isascii()


async def test_state_is_readable_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        frame = pl.DataFrame({"status": ["ok", "failed"], "failure": [None, "device_lost"]})
        spec = ColumnSpec("status", kind="status", detail="failure")
        app.table.show(frame, specs={"status": spec}, hidden=["failure"])
        await pilot.pause()
        assert lines(app.table)[1].split() == ["✓", "ok"]
        assert lines(app.table)[2].split() == ["✗", "failed:", "device_lost"]
        assert any(segment.style and segment.style.reverse for segment in app.table.render_line(1))


def test_column_order() -> None:
    assert column_order(list("abcde"), ["d"], ["c"], ["a", "c"]) == ["c", "d", "b", "e"]


def test_flexible_columns_give_way_to_the_decisive_ones() -> None:
    frame = pl.DataFrame({"name": ["a-very-long-model-name-of-the-target@GPU"], "n": [3], "speedup": [1.351]})
    model = TableModel(frame, specs={"name": ColumnSpec("name", flexible=True, middle=True, max_width=40)})
    model.fit_to(24)
    assert model.columns[-1].end <= 24
    assert model.text(0, model.columns[0]).endswith("@GPU")


def test_widths_hold_for_rows_far_from_the_sample() -> None:
    frame = pl.DataFrame({"a": ["x"] * 5000 + ["longer than the sample"] + ["y"] * 5000})
    model = TableModel(frame)
    assert len(model.text(5000, model.columns[0])) == model.columns[0].width
