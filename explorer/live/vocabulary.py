"""What each token of a model stands for, for the eye only, found the lightest way.

1. `openvino_detokenizer.xml`: its VocabDecoder holds every token's bytes as three constants.
2. `tokenizer.json`: byte-level vocabularies spell bytes as printable characters, SentencePiece-like ones
   spell a space as U+2581 and odd bytes as `<0x0A>`.
3. The converted tokenizer itself, which costs the import of OpenVINO GenAI.
4. Nothing found (a journal from another machine): the ids as `<1234>`.
"""

from __future__ import annotations

import importlib
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import msgspec

TokenBytes = Callable[[int], bytes]
"""The bytes that a token stands for."""

_HEX_TOKEN: Final = re.compile(rb"<0x([0-9A-Fa-f]{2})>")
_SPACE: Final = "\u2581".encode()


class _Added(msgspec.Struct):
    id: int
    content: str


class _Model(msgspec.Struct):
    vocab: dict[str, int]


class _TokenizerFile(msgspec.Struct):
    """Only the parts that are needed: the list of merges is the bulk of the file."""

    model: _Model
    added_tokens: list[_Added] = []
    decoder: msgspec.Raw = msgspec.Raw(b"null")


@lru_cache(1)
def _byte_of() -> dict[str, int]:
    """The byte behind each character of a byte-level vocabulary (GPT-2's `bytes_to_unicode`)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(256 + place): byte for place, byte in enumerate(others)})
    return table


def _byte_level(token: str) -> bytes:
    table = _byte_of()
    try:
        return bytes(table[char] for char in token)
    except KeyError:
        return token.encode("utf-8")


def _plain_spelling(token: bytes) -> bytes:
    """A SentencePiece-like spelling as the bytes that it stands for."""
    byte = _HEX_TOKEN.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace(_SPACE, b" ")


def number(token: int) -> bytes:
    """A token that nothing is known about: its id."""
    return f"<{token}>".encode()


def from_tokenizer_json(data: bytes) -> TokenBytes | None:
    """The vocabulary of a `tokenizer.json`; None when it is of a kind that this module cannot spell."""
    try:
        content = msgspec.json.decode(data, type=_TokenizerFile)
    except msgspec.MsgspecError:
        return None
    decoder = bytes(content.decoder)
    if b'"ByteLevel"' in decoder:
        spell = _byte_level
    elif b'"ByteFallback"' in decoder or b'"Metaspace"' in decoder:

        def spell(token: str) -> bytes:
            return _plain_spelling(token.encode("utf-8"))
    else:
        return None
    words = {number: word for word, number in content.model.vocab.items()}
    added = {token.id: token.content.encode("utf-8") for token in content.added_tokens}

    def token_bytes(token: int) -> bytes:
        known = added.get(token)
        if known is not None:
            return known
        return spell(words[token]) if token in words else number(token)

    return token_bytes


def from_detokenizer(folder: Path) -> TokenBytes | None:
    """The vocabulary inside `openvino_detokenizer.xml` and `.bin`; None when the graph is of another
    make (a SentencePiece model inside one operation, strings in another layout)."""
    try:
        graph = ElementTree.parse(folder / "openvino_detokenizer.xml").getroot()
        data = (folder / "openvino_detokenizer.bin").read_bytes()
    except (OSError, ElementTree.ParseError):
        return None
    layers = {layer.get("id"): layer for layer in graph.iter("layer")}
    decoder = next((layer for layer in layers.values() if layer.get("type") == "VocabDecoder"), None)
    if decoder is None:
        return None
    feeds = sorted(
        (int(edge.get("to-port", "0")), edge.get("from-layer"))
        for edge in graph.iter("edge")
        if edge.get("to-layer") == decoder.get("id")
    )
    constants: list[bytes] = []
    for (_, source), wanted in zip(feeds[1:4], ("i32", "i32", "u8"), strict=False):
        layer = layers.get(source)
        about = layer.find("data") if layer is not None and layer.get("type") == "Const" else None
        if about is None or about.get("element_type") != wanted:
            return None
        offset, size = int(about.get("offset", "0")), int(about.get("size", "0"))
        constants.append(data[offset : offset + size])
    if len(constants) != 3 or len(constants[0]) != len(constants[1]):
        return None
    count = len(constants[0]) // 4
    begins, ends = (struct.unpack(f"<{count}i", part[: 4 * count]) for part in constants[:2])
    characters = constants[2]
    raw = not any(layer.get("type") in ("ByteFallback", "RegexNormalization") for layer in layers.values())

    def token_bytes(token: int) -> bytes:
        if not 0 <= token < count:
            return number(token)
        spelled = characters[begins[token] : ends[token]]
        return spelled if raw else _plain_spelling(spelled)

    return token_bytes


def _from_genai(folder: Path) -> TokenBytes:
    """The converted tokenizer. A token is decoded behind an anchor, for many decoders drop a leading
    space; bytes of an incomplete character come out as U+FFFD, which is all that this way can show."""
    genai: Any = importlib.import_module("openvino_genai")
    tokenizer = genai.Tokenizer(str(folder), NUM_STREAMS=2)
    anchor = tokenizer.encode("a").input_ids.data[0].tolist()[-1:]
    before = len(str(tokenizer.decode(anchor)))

    @lru_cache(65536)
    def token_bytes(token: int) -> bytes:
        return str(tokenizer.decode([*anchor, token]))[before:].encode("utf-8")

    return token_bytes


@lru_cache(16)
def load(folder: Path) -> TokenBytes:
    """The lightest way to spell the tokens of the model in `folder`. Never raises: text on the screen is
    a comfort, and a broken tokenizer is the sweep's business to report."""
    found = from_detokenizer(folder)
    if found is None:
        try:
            found = from_tokenizer_json((folder / "tokenizer.json").read_bytes())
        except OSError:
            found = None
    if found is None and (folder / "openvino_tokenizer.xml").is_file():
        try:
            found = _from_genai(folder)
        except Exception:  # the runtime answers a bad IR with anything from RuntimeError to ImportError
            found = None
    return found or number
