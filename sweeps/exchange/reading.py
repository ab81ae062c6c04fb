"""Result files as text and JSON, whichever program or shell wrote them."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Final

from sweeps.exchange.rows import ExchangeError

MAX_BYTES: Final = 256 * 1024 * 1024
"""Result files are small; a model given by mistake is refused before it is read."""


def read_text(path: Path) -> str:
    """The file's text: UTF-8, or UTF-16 with a mark, which is what `>` writes in Windows PowerShell.

    Raises ExchangeError when it is not there, is too large or is no text.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ExchangeError(f"{path}: too large for a result file ({path.stat().st_size / 1e6:.0f} MB)")
        data = path.read_bytes()
    except OSError as error:
        raise ExchangeError(f"{path}: cannot be read: {error.strerror or error}") from error
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExchangeError(f"{path}: not a text file (byte {error.start} is no UTF-8)") from error


def documents(path: Path, content: str) -> list[object]:
    """The JSON values of a file that holds one value, or one a line.

    Raises ExchangeError with the line of the first fault.
    """
    try:
        return [json.loads(content)]
    except json.JSONDecodeError as whole_file:
        lines = [(n, line) for n, line in enumerate(content.splitlines(), 1) if line.strip()]
        found = []
        for n, line in lines:
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError as error:
                # A first line that is a value by itself: the file means to hold one a line.
                place = f"line {n}: {error.msg}" if found else f"line {whole_file.lineno}: {whole_file.msg}"
                raise ExchangeError(f"{path}: not JSON: {place}") from error
        if not found:
            raise ExchangeError(f"{path}: the file is empty") from whole_file
        return found


def objects(path: Path, content: str) -> list[dict[str, object]]:
    """The JSON objects of a file: one, an array of them, or one a line.

    Raises ExchangeError when something else is in it.
    """
    found: list[dict[str, object]] = []
    for document in documents(path, content):
        for n, item in enumerate(document if isinstance(document, list) else [document]):
            if not isinstance(item, dict):
                raise ExchangeError(f"{path}: item {n} is a {type(item).__name__}, not an object of results")
            found.append(item)
    return found
