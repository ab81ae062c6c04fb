"""The guard behind `--ascii`: whatever a widget draws, only ASCII reaches the terminal."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter


def _fallbacks() -> dict[int, str]:
    """Box drawing, blocks and typography that Textual or our own text may contain -> one ASCII cell."""
    pairs = {
        "─━┄┅┈┉╌╍═╶╴╼╾": "-",
        "│┃┆┇┊┋╎╏║╵╷╽╿": "|",
        "┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝╠╣╦╩╬┏┓┗┛┣┫┳┻╋": "+",
        "█▉▊▋▌▐▇▆▅■▓▒": "#",
        "▄▃▂▁▔▀░▍▎▏▕▖▗▘▝": " ",
        "●◉": "*",
        "○◯": "o",
        "✓✔": "+",
        "✗✘×": "x",
        "◌–—−‐‑": "-",
        "▸▶→›»►": ">",
        "◂◀←‹«◄": "<",
        "▲↑△": "^",
        "▼↓▽": "v",
        "·•∙": ".",
        "…": "~",
        "“”„": '"',
        "‘’": "'",
        "⊘": "/",
        "±": "~",
        "\u00a0": " ",
    }
    return {ord(char): plain for chars, plain in pairs.items() for char in chars}


_FALLBACKS: Final = _fallbacks()


@lru_cache(4096)
def to_ascii(text: str) -> str:
    """`text` in ASCII, as many cells wide: what has no likeness becomes `?` (`??` for a wide character)."""
    if text.isascii():
        return text
    from rich.cells import get_character_cell_size

    plain = text.translate(_FALLBACKS)
    return "".join(char if char.isascii() else "?" * get_character_cell_size(char) for char in plain)


class AsciiFilter(LineFilter):
    """The last word on `--ascii`: nothing outside ASCII reaches the terminal, whoever drew it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Translate the text of each segment; cell widths stay."""
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]
