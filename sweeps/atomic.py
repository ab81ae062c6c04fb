"""Files that a reader never sees half written."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace `path` by `data` in one step, creating its folder if need be.

    `durable` waits until the disk has it; a heartbeat need not survive a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        if hasattr(os, "fchmod"):
            # mkstemp makes the file private; another login may watch a sweep as far as the folder allows.
            os.fchmod(handle, 0o666 & ~_umask())
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        replace(Path(name), path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8, line ends as given)."""
    write_bytes(path, text.encode("utf-8"))


def replace(source: Path, target: Path, patience_s: float = 2.0) -> None:
    """`os.replace` that waits while Windows refuses because a reader holds `target` open."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            os.replace(source, target)  # noqa: PTH105
            return
        except PermissionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
