"""The pictures of the README, drawn by the app itself from a real sweep's results.

    specdec demo --headless --data DIR       # once: the results
    python data/screenshots/make.py DIR      # writes define.svg, watch.svg, explore.svg and whatif.svg here

The same results give the same files. Fonts are not embedded: the reader's own monospace font is used.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

from textual.pilot import Pilot

from explorer.app import SpecdecApp

HERE: Final = Path(__file__).parent
Steps = Callable[[Pilot[None]], Coroutine[Any, Any, None]]
SIZE: Final = (132, 36)
LARGEST: Final = 300_000
"""Bytes of one picture."""
WAIT_S: Final = 60.0
PAIR: Final = "draft-s CPU nat 3"
"""The run that Watch and What-if show: small draft, target and draft both on the CPU."""
FONTS: Final = "ui-monospace, 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def text_of(app: SpecdecApp) -> str:
    """The screen as text. Textual offers its composed screen only as SVG."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def until(pilot: Pilot[None], wanted: str | Callable[[str], object]) -> str:
    """Wait until the screen holds a text or is as wanted; its text.

    Raises:
        TimeoutError: It never was; shows the screen.
    """
    app = pilot.app
    assert isinstance(app, SpecdecApp)
    deadline = time.monotonic() + WAIT_S
    while True:
        await pilot.pause()
        text = text_of(app)
        if wanted in text if isinstance(wanted, str) else wanted(text):
            return text
        if time.monotonic() > deadline:
            raise TimeoutError(f"the screen never showed {wanted!r}:\n{text}")
        await asyncio.sleep(0.05)


async def walk(
    pilot: Pilot[None], key: str, wanted: Callable[[str], object], changes: str = "", most: int = 400
) -> None:
    """Press a key until the screen is as wanted; `changes`: what each press changes, an expression."""
    text = await until(pilot, bool)
    for _ in range(most):
        if wanted(text):
            return
        before = re.findall(changes, text)
        await pilot.press(key)
        text = await until(pilot, partial(_other, changes, before))
    raise TimeoutError(f"{most} times {key} did not lead there:\n{text}")


def _other(changes: str, before: list[str], text: str) -> bool:
    return not changes or re.findall(changes, text) != before


async def define(pilot: Pilot[None]) -> None:
    """The bundled sweep: files, form, plan."""
    await until(pilot, "runs, each: 3 prompts")
    await until(pilot, "int4 sym")
    await pilot.press("g")
    await walk(pilot, "down", lambda text: re.search(r"num_assistant_tokens +\[1\] \[3\] \[5\] +\S", text))


async def watch(pilot: Pilot[None]) -> None:
    """In the middle of a pair's run, by the replay of the finished sweep."""
    await until(pilot, "finished")
    await pilot.press("home")
    await until(pilot, "replay")
    await walk(
        pilot, "right_square_bracket", lambda text: re.search(rf"● \S+ +.*{PAIR}", text), r"event \d+ of"
    )
    await walk(pilot, "full_stop", lambda text: re.search(r"rep 2: (7|8|9|10)\d of", text), r"event \d+ of")


async def explore(pilot: Pilot[None]) -> None:
    """The pairs that were measured here, best speed-up first."""
    await until(pilot, "rows: runs")
    await pilot.press("slash", *"kind = 'speculative' and source = 'measured'", "enter")
    await walk(pilot, "right", lambda text: re.search(r"^ \d+/\d+ speedup = ", text, re.MULTILINE))
    await pilot.press("right_square_bracket")
    await until(pilot, "speed-up▼")


async def whatif(pilot: Pilot[None]) -> None:
    """A pair's row."""
    await until(pilot, "finished")
    await walk(pilot, "down", lambda text: re.search(rf"▸.*{PAIR}", text))
    await pilot.press("w")
    await until(pilot, lambda text: re.search(r"predicted \d", text))


async def draw(place: str, steps: Steps, data: Path) -> str:
    """The app, opened at a place and driven by `steps`, as SVG."""
    app = SpecdecApp(data=str(data), place=place)
    async with app.run_test(size=SIZE) as pilot:
        await steps(pilot)
        await pilot.pause()
        if "-v" in sys.argv:
            print(text_of(app))
        svg = app.export_screenshot(title="specdec")
    return tidy(svg)


def tidy(svg: str) -> str:
    """Without fonts from the net, which a README's picture may not load, and without blanks around texts.

    Some renderers drop leading blanks and shift what follows: the place says the same.
    """
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: (Fira Code, monospace|arial)", f"font-family: {FONTS}", svg)
    return re.sub(
        r'(<text [^>]*)x="([\d.]+)"( y="[\d.]+") textLength="([\d.]+)"([^>]*>)([^<]*)</text>', _strip, svg
    )


def _strip(found: re.Match[str]) -> str:
    """A text without the blanks around it, where it then starts; nothing for blanks only."""
    head, x, y, length, tail, text = found.groups()
    cells = html.unescape(text)
    bare = cells.strip("\xa0")
    if not bare:
        return ""
    cell = float(length) / len(cells)
    start = float(x) + cell * (len(cells) - len(cells.lstrip("\xa0")))
    shown = html.escape(bare).replace("\xa0", "&#160;")
    return f'{head}x="{start:g}"{y} textLength="{cell * len(bare):g}"{tail}{shown}</text>'


def check(svg: str) -> str:
    """What must not be published in a picture; empty when there is nothing."""
    if len(svg.encode()) > LARGEST:
        return f"{len(svg.encode()):,} bytes, more than {LARGEST:,}"
    private = (str(Path.home()), str(HERE.parents[1]), tempfile.gettempdir(), socket.gethostname())
    shown = re.sub(r"<[^>]*>", "", svg)
    return next(
        (f"shows {name!r}" for name in private if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", shown)), ""
    )


def main() -> int:
    """Draw them all; exit code 1 when one is not fit to be published."""
    data = next((Path(given) for given in sys.argv[1:] if not given.startswith("-")), None)
    if data is None or not any(data.glob("*/journal.jsonl")):
        print(f"{data or 'no folder given'}: give the folder of results of `specdec demo`", file=sys.stderr)
        return 2
    faults = 0
    with tempfile.TemporaryDirectory() as scratch:
        # Not the person's own session, keys and sweep files.
        os.environ.update({f"SPECDEC_{name}": f"{scratch}/{name}" for name in ("STATE", "CONFIG")})
        for name, place, steps in (
            ("define", "define", define),
            ("watch", "watch", watch),
            ("explore", "explore", explore),
            ("whatif", "watch", whatif),
        ):
            svg = asyncio.run(draw(place, steps, data))
            fault = check(svg)
            faults += bool(fault)
            if not fault:
                (HERE / f"{name}.svg").write_text(svg, encoding="utf-8", newline="\n")
            print(f"{name}.svg: {fault or f'{len(svg.encode()):,} bytes'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
