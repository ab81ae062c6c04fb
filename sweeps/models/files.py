"""Files of a model folder: which are needed, how long they are, whether Git LFS left a pointer."""

from __future__ import annotations

import re
from pathlib import Path

MODEL_XML = "openvino_model.xml"
TOKENIZER_XML = "openvino_tokenizer.xml"
DETOKENIZER_XML = "openvino_detokenizer.xml"

REQUIRED = (MODEL_XML, TOKENIZER_XML, DETOKENIZER_XML)
"""IR files without which no target can be built; each needs its `.bin` beside it. A draft also works
without the detokenizer, because the target's turns ids into text."""

_LFS_HEAD = b"version https://git-lfs"
_LFS_SIZE = re.compile(rb"^size (\d+)\s*$", re.MULTILINE)
_LFS_LONGEST = 1024  # a pointer is three short lines: longer files are never opened for this


def weights_of(xml: Path) -> Path:
    """The `.bin` that holds the constants of an IR."""
    return xml.with_suffix(".bin")


def lfs_size(path: Path) -> int | None:
    """Bytes of the file that a Git LFS pointer stands for; None when the file is no pointer.

    Raises OSError when the file cannot be read.
    """
    if path.stat().st_size > _LFS_LONGEST:
        return None
    text = path.read_bytes()
    if not text.startswith(_LFS_HEAD):
        return None
    size = _LFS_SIZE.search(text)
    return int(size.group(1)) if size else 0


def human_bytes(size: float) -> str:
    """`1234567` -> `1.2 MB` (decimal units, as file managers show them)."""
    for unit in ("bytes", "kB", "MB"):
        if abs(size) < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
