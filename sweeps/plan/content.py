"""A hash of what a model folder holds, cheap enough for weights of many gigabytes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sweeps import paths
from sweeps.atomic import write_text

BLOCK: Final = 1 << 20
BLOCKS: Final = 64
"""Weights up to 64 MiB are read whole; of larger ones 64 blocks, first and last byte included."""

FILES: Final = (
    "openvino_model.xml",
    "openvino_model.bin",
    "openvino_tokenizer.xml",
    "openvino_tokenizer.bin",
    "openvino_detokenizer.xml",
    "openvino_detokenizer.bin",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
    "config.json",
)
"""What the pipeline reads: the graph, weights, both tokenizers, the chat template, default stop tokens."""

_SETTLED_S: Final = 2.0
"""A file that was written a moment ago may change again within its time stamp's resolution."""

Entry = tuple[int, int, str]
"""Size, mtime in ns, digest."""


def content_hash(model_dir: Path | str) -> str:
    """16 hex digits of a model's content: equal for equal copies, whatever the folder is called.

    A missing file counts as missing (preflight is what complains); a file that cannot be read raises
    OSError. Digests are kept by path, size and mtime in `hashes.json` of the state folder.
    """
    folder = Path(model_dir).absolute()
    known = _load()
    fresh: dict[str, Entry] = {}
    whole = hashlib.blake2b(digest_size=8)
    for name in FILES:
        whole.update(f"{name}:{_file_digest(folder / name, known, fresh)}\n".encode())
    if fresh:
        _save(fresh)
    return whole.hexdigest()


def _file_digest(path: Path, known: dict[str, Entry], fresh: dict[str, Entry]) -> str:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    entry = known.get(str(path))
    if entry is not None and entry[:2] == (status.st_size, status.st_mtime_ns):
        return entry[2]
    found = _digest(path, status.st_size)
    if time.time() - status.st_mtime > _SETTLED_S:
        fresh[str(path)] = (status.st_size, status.st_mtime_ns, found)
    return found


def _digest(path: Path, size: int) -> str:
    """Size, and the whole content or (weights only) evenly spaced blocks of it."""
    hasher = hashlib.blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as file:
        for offset in offsets(size) if path.suffix == ".bin" else _all_offsets(size):
            file.seek(offset)
            hasher.update(file.read(BLOCK))
    return hasher.hexdigest()


def _all_offsets(size: int) -> range:
    return range(0, size, BLOCK)


def offsets(size: int) -> list[int]:
    """Where the blocks begin that are read of a file of `size` bytes."""
    if size <= BLOCK * BLOCKS:
        return list(_all_offsets(size))
    last = size - BLOCK
    return [last * number // (BLOCKS - 1) for number in range(BLOCKS)]


def _cache_file() -> Path:
    return paths.state() / "hashes.json"


def _load() -> dict[str, Entry]:
    """The cache; an absent or broken one is an empty one."""
    try:
        raw = json.loads(_cache_file().read_text(encoding="utf-8"))
        return dict(_entries(raw))
    except (OSError, ValueError, RecursionError):
        return {}


def _entries(raw: object) -> Iterator[tuple[str, Entry]]:
    for path, entry in raw.items() if isinstance(raw, dict) else ():
        match entry:
            case [int(size), int(mtime), str(found)]:
                yield path, (size, mtime, found)


def _save(fresh: dict[str, Entry]) -> None:
    """Add to the cache what another process may have written meanwhile; losing it costs a read."""
    try:
        write_text(_cache_file(), json.dumps({**_load(), **fresh}, indent=0))
    except OSError:
        return
