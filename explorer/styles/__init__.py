"""Colour schemes of our own; Textual's, with the two that use the terminal's colours, are offered too."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

# Okabe and Ito's palette (jfly.uni-koeln.de/color): told apart with every common colour blindness.
BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
ORANGE, VERMILION, YELLOW, PURPLE = "#E69F00", "#D55E00", "#F0E442", "#CC79A7"

THEMES: Final = (
    Theme(
        name="specdec",
        primary=SKY,
        secondary=BLUE,
        accent=ORANGE,
        success=SKY,
        warning=ORANGE,
        error=VERMILION,
        foreground="#d8dee4",
        background="#101418",
        surface="#161b20",
        panel="#20272e",
        dark=True,
    ),
    Theme(
        name="specdec-light",
        primary=BLUE,
        secondary=BLUE,
        accent="#8a5a00",
        success=BLUE,
        warning="#8a5a00",
        error="#a84300",
        foreground="#1b1f23",
        background="#ffffff",
        surface="#f6f8fa",
        panel="#e4e8ec",
        dark=False,
    ),
)
"""`specdec` is the default: safe for colour-blind eyes, so nobody has to ask for it."""
