"""Charts: the only module that knows textual-plot. ASCII terminals, and bars of parts, get lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.css.query import NoMatches
from textual.strip import Strip
from textual.widgets import Static

from explorer.analysis.charts import ChartData, Line, Point, drawable, to_text, y_range

if TYPE_CHECKING:
    from textual_plot import PlotWidget

MARKS: Final = "ox+*#@%&sdvz"
"""Lines are told apart by their marks; colours only help."""
COLOURS: Final = ("#4c9be8", "#e8a33d", "#3dbf8f", "#d16bc4", "#c9c94a", "#e06c5a", "#7ad0e0", "#b09cf0")
"""Distinct also for the common kinds of colour blindness (after Okabe and Ito, lightened)."""
MARGIN: Final = 0.06


class Chart(Vertical):
    """Draws a `ChartData`; call `show` as often as needed, at most a few times a second.

    Args:
        ascii_only: Draw lines of text.
    """

    DEFAULT_CSS = """
    Chart { height: 1fr; }
    Chart #chart-legend { height: auto; padding: 0 1; }
    Chart #chart-plot { height: 1fr; }
    Chart #chart-scroll { height: 1fr; padding: 0 1; }
    """

    def __init__(self, ascii_only: bool = False, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._ascii = ascii_only
        self._data: ChartData | None = None

    def compose(self) -> ComposeResult:
        """A legend, the plot, and the text that stands in for it."""
        yield Static(id="chart-legend", markup=False)
        if not self._ascii:
            yield _plot_widget()
        with VerticalScroll(id="chart-scroll"):
            yield Static(id="chart-text", markup=False)

    def on_mount(self) -> None:
        """Draw what was shown before the chart was there."""
        for plot in self.query("#chart-plot"):
            plot.can_focus = False
        self._draw()

    def on_resize(self) -> None:
        """Lines of text follow the width."""
        self._draw()

    def show(self, data: ChartData) -> None:
        """Draw this chart."""
        self._data = drawable(data)
        self._draw()

    def _draw(self) -> None:
        data = self._data
        if data is None or not self.is_mounted:
            return
        plotted = bool(not self._ascii and data.lines and any(line.points for line in data.lines))
        try:
            self.query_one("#chart-scroll").display = not plotted
            legend = self.query_one("#chart-legend", Static)
        except NoMatches:  # `show` came between mounting and composing: `on_mount` draws.
            return
        for plot in self.query("#chart-plot"):
            plot.display = plotted
        if plotted:
            legend.update(_legend(data))
            self._plot(self.query_one("#chart-plot"), data)
            return
        legend.update("")
        width = max(30, self.size.width - 4)
        characters = {"bar": "#", "marks": "#=.", "to": "..", "level": "|"} if self._ascii else {}
        self.query_one("#chart-text", Static).update("\n".join(to_text(data, width, **characters)))

    def _plot(self, widget: Any, data: ChartData) -> None:
        from textual_plot import HiResMode

        plot: PlotWidget = widget
        plot.clear()
        plot.set_xlabel(data.x_label)
        points = [point for line in data.lines for point in line.points]
        xs = [point.x for point in points]
        left, right = _limits(xs)
        low, high = _limits(list(y_range(data)))
        plot.set_xlimits(left, right)
        plot.set_ylimits(low, high)
        whole = sorted({x for x in xs if x == int(x)})
        plot.set_xticks(whole if len(whole) == len(set(xs)) <= 16 else None)
        if data.level is not None:
            ends = [left, right], [data.level, data.level]
            plot.plot(*ends, line_style="grey50", hires_mode=HiResMode.BRAILLE)
        # Faint lines first: what they cross stays on top.
        for number, line in sorted(enumerate(data.lines), key=lambda item: not item[1].faint):
            inside = Line(line.name, tuple(_cut(p, low, high) for p in line.points), line.joined, line.faint)
            _plot_line(plot, inside, MARKS[number % len(MARKS)], COLOURS[number % len(COLOURS)])
        # It would draw its canvases only while it is painted, and they would be painted again afterwards.
        if plot.query_one("#plot").size:
            plot.render()


def _plot_widget() -> PlotWidget:
    """textual-plot's widget on canvases that also draw a styled cell before they are laid out.

    Theirs draw one without a style, and with NO_COLOR Textual's filter ends the app on that.
    """
    from textual.containers import Grid
    from textual_hires_canvas import Canvas
    from textual_plot.plot_widget import Legend, PlotWidget

    class Cells(Canvas):
        def render_line(self, y: int) -> Strip:
            drawn: Strip = super().render_line(y)
            return drawn if drawn.cell_length else Strip.blank(0, self.rich_style)

    class Plot(PlotWidget):  # type: ignore[misc]
        def compose(self) -> ComposeResult:
            with Grid():
                for name in ("margin-top", "margin-left", "plot", "margin-bottom"):
                    yield Cells(1, 1, id=name)
            yield Legend(id="legend")

    plot = Plot(id="chart-plot", allow_pan_and_zoom=False)
    # Only a label of the y axis would stand there: the legend says it.
    plot.set_reactive(PlotWidget.margin_top, 0)
    return plot


def _plot_line(plot: Any, line: Line, mark: str, colour: str) -> None:
    from textual_plot import HiResMode

    points = line.points
    if line.joined and len(points) > 1:
        style = f"dim {colour}" if line.faint else colour
        plot.plot(
            [p.x for p in points], [p.y for p in points], line_style=style, hires_mode=HiResMode.BRAILLE
        )
    if line.faint:
        return
    bars = [(p.x, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if bars:
        # An interval need not be symmetric about its value: its bar stands on its own middle.
        middles = [(low + high) / 2 for _, low, high in bars]
        halves = [(high - low) / 2 for _, low, high in bars]
        plot.errorbar([x for x, *_ in bars], middles, yerr=halves, marker="│", marker_style=colour)
    if not line.joined or len(points) < 200:
        plot.scatter([p.x for p in points], [p.y for p in points], marker=mark, marker_style=f"bold {colour}")


def _cut(point: Point, low: float, high: float) -> Point:
    """What goes beyond the frame ends at its edge."""

    def inside(value: float) -> float:
        return min(max(value, low), high)

    ends = [None if end is None else inside(end) for end in (point.low, point.high)]
    return Point(point.x, inside(point.y), *ends)


def _limits(values: list[float]) -> tuple[float, float]:
    """The range with a margin, never empty."""
    low, high = min(values), max(values)
    margin = (high - low) * MARGIN or max(abs(low) * MARGIN, 0.5)
    return low - margin, high + margin


def _legend(data: ChartData) -> Text:
    text = Text(f"{data.title}   ", Style(bold=True), no_wrap=False, end="")
    for number, line in enumerate(data.lines):
        if not line.name:
            continue
        mark = "┄" if line.faint else MARKS[number % len(MARKS)]
        weight = "dim" if line.faint else "bold"
        style = Style.parse(f"{weight} {COLOURS[number % len(COLOURS)]}")
        text.append(f"{mark} {line.name}   ", style)
    if data.level is not None:
        text.append(f"grey line: {data.level:g}   ")
    if data.note:
        text.append(data.note)
    return text
