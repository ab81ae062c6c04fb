"""A virtual table over a Polars frame, light on the terminal."""

from explorer.widgets.frame_table.widget import FrameTable

__all__ = ["FrameTable"]
