"""Two rows that are always there: how the sweep stands, and what there is to know about the view."""

from __future__ import annotations

from explorer.widgets.line_pane import LinePane


class StatusLine(LinePane):
    """Content comes as lines; the height follows from the style sheet."""

    DEFAULT_CSS = "StatusLine { height: 2; background: $surface; }"
