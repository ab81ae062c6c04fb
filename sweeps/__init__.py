"""The headless engine: sweep file -> plan -> events -> tables -> prediction.

Nothing here imports Textual or the `explorer` package, and this file imports nothing at
all: the worker runs beside the thing that it measures.
"""
