"""The text of one `generate()` as it streams, with the draft's accepted tokens told apart."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from explorer.live.vocabulary import TokenBytes


class Piece(NamedTuple):
    """A stretch of generated text from one source."""

    text: str
    accepted: bool
    """The draft proposed it and the target accepted it; else it is the target's own."""


class TextStream:
    """Bursts in, pieces out. A character that is split over tokens is kept until its last byte is there;
    it then belongs to the token that completed it."""

    def __init__(self, token_bytes: TokenBytes) -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._bursts = 0

    def burst(self, ids: Sequence[int]) -> list[Piece]:
        """Pieces of the next burst: all but its last token were proposed by the draft, the last is the
        target's own; burst 0 comes from the prefill and is the target's."""
        first = self._bursts == 0
        self._bursts += 1
        pieces: list[Piece] = []
        last = len(ids) - 1
        for place, token in enumerate(ids):
            text = self._decoder.decode(self._token_bytes(token))
            if text:
                append(pieces, Piece(text, not first and place < last))
        return pieces

    def copy(self) -> TextStream:
        """An independent stream at the same place of the text."""
        twin = TextStream(self._token_bytes)
        twin._decoder.setstate(self._decoder.getstate())
        twin._bursts = self._bursts
        return twin


def append(pieces: list[Piece], piece: Piece) -> None:
    """Add a piece, joined to the last one when both have the same source."""
    if pieces and pieces[-1].accepted == piece.accepted:
        pieces[-1] = Piece(pieces[-1].text + piece.text, piece.accepted)
    else:
        pieces.append(piece)


def of_bursts(token_bytes: TokenBytes, ids: Sequence[int], sizes: Iterable[int]) -> tuple[Piece, ...]:
    """The whole text of a finished `generate()`: its token ids cut into bursts of the given sizes."""
    stream = TextStream(token_bytes)
    pieces: list[Piece] = []
    start = 0
    for size in sizes:
        for piece in stream.burst(ids[start : start + size]):
            append(pieces, piece)
        start += size
    return tuple(pieces)
