"""Token ids to text on the screen: which spelling, which source, characters split over tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.live import vocabulary
from explorer.live.text import Piece, TextStream, append, of_bursts
from sweeps import paths

TARGET = paths.bundled("models") / "target"


def spell(words: dict[int, bytes]) -> vocabulary.TokenBytes:
    return lambda token: words.get(token, b"?")


def test_all_but_the_last_token_of_a_burst_are_the_drafts() -> None:
    stream = TextStream(spell({1: b"a", 2: b"b", 3: b"c"}))
    assert stream.burst([1]) == [Piece("a", False)]
    assert stream.burst([1, 2, 3]) == [Piece("ab", True), Piece("c", False)]
    assert stream.burst([3]) == [Piece("c", False)]


def test_the_first_burst_is_the_targets_own_whatever_its_size() -> None:
    stream = TextStream(spell({1: b"a", 2: b"b"}))
    assert stream.burst([1, 2]) == [Piece("ab", False)]


def test_a_character_split_over_tokens_appears_once_and_whole() -> None:
    euro = "€".encode()
    stream = TextStream(spell({1: euro[:1], 2: euro[1:2], 3: euro[2:], 4: b"!"}))
    assert stream.burst([4]) == [Piece("!", False)]
    assert stream.burst([1, 2]) == []
    # It belongs to the token that completed it: here the first of a burst, an accepted one.
    assert stream.burst([3, 4]) == [Piece("€", True), Piece("!", False)]


def test_a_copy_of_a_stream_goes_on_by_itself_in_mid_character() -> None:
    euro = "€".encode()
    stream = TextStream(spell({1: euro[:2], 2: euro[2:], 3: b"x"}))
    stream.burst([1])
    twin = stream.copy()
    assert stream.burst([2]) == [Piece("€", False)]
    assert twin.burst([3]) == [Piece("\ufffdx", False)]


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    stream = TextStream(spell({1: b"\xff", 2: b"a"}))
    assert "".join(piece.text for piece in stream.burst([1, 2])) == "\ufffda"


def test_neighbours_of_one_source_are_joined() -> None:
    pieces = [Piece("a", True)]
    append(pieces, Piece("b", True))
    append(pieces, Piece("c", False))
    assert pieces == [Piece("ab", True), Piece("c", False)]


def test_a_finished_call_gives_the_text_that_its_stream_gave() -> None:
    words = spell({1: b"a", 2: b"b", 3: "é".encode()[:1], 4: "é".encode()[1:]})
    sizes = [1, 3, 2]
    ids = [1, 2, 3, 4, 1, 2]
    stream = TextStream(words)
    live = [*stream.burst([1]), *stream.burst([2, 3, 4]), *stream.burst([1, 2])]
    whole = of_bursts(words, ids, sizes)
    assert "".join(piece.text for piece in whole) == "".join(piece.text for piece in live) == "abéab"
    assert "".join(piece.text for piece in whole if piece.accepted) == "ba"


def test_the_bundled_vocabulary_comes_from_the_detokenizer_graph() -> None:
    token_bytes = vocabulary.from_detokenizer(TARGET)
    assert token_bytes is not None
    spelled = [token_bytes(token) for token in range(8192)]
    assert b" module" in spelled
    assert b"\n" in spelled
    assert len(set(spelled)) > 8000
    assert token_bytes(8192) == b"<8192>", "an id outside the vocabulary is shown as its number"


@pytest.mark.models
def test_three_ways_to_spell_agree_on_the_bundled_models() -> None:
    """The graph's constants, read without the runtime, against what the runtime says."""
    light = vocabulary.from_detokenizer(TARGET)
    heavy = vocabulary._from_genai(TARGET)
    assert light is not None
    compared = 0
    for token in range(0, 8192, 7):
        text = light(token)
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if heavy(token):  # special tokens are left out by the runtime
            assert heavy(token) == text
            compared += 1
    assert compared > 1000


def tokenizer_json(decoder: object, vocab: dict[str, int]) -> bytes:
    added = [{"id": 9, "content": "<|end|>", "special": True}]
    return json.dumps(
        {"model": {"type": "BPE", "vocab": vocab, "merges": []}, "added_tokens": added, "decoder": decoder}
    ).encode()


def test_a_byte_level_vocabulary_is_spelled_in_bytes() -> None:
    found = vocabulary.from_tokenizer_json(tokenizer_json({"type": "ByteLevel"}, {"Ġhi": 0, "Ċ": 1, "â": 2}))
    assert found is not None
    assert [found(token) for token in (0, 1, 2, 9, 77)] == [b" hi", b"\n", b"\xe2", b"<|end|>", b"<77>"]


def test_a_sentence_piece_vocabulary_is_spelled_with_spaces_and_bytes() -> None:
    decoder = {"type": "Sequence", "decoders": [{"type": "Replace"}, {"type": "ByteFallback"}]}
    found = vocabulary.from_tokenizer_json(tokenizer_json(decoder, {"▁hi": 0, "<0xE2>": 1}))
    assert found is not None
    assert [found(token) for token in (0, 1)] == [b" hi", b"\xe2"]


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b'{"model": {"vocab": [["a", 1.0]]}}', tokenizer_json({"type": "X"}, {})]
)
def test_a_tokenizer_of_another_kind_is_left_to_others(data: bytes) -> None:
    assert vocabulary.from_tokenizer_json(data) is None


def test_a_folder_without_a_tokenizer_shows_numbers(tmp_path: Path) -> None:
    assert vocabulary.load(tmp_path / "gone")(42) == b"<42>"


def test_a_broken_detokenizer_falls_back_to_the_next_way(tmp_path: Path) -> None:
    (tmp_path / "openvino_detokenizer.xml").write_text("<net", encoding="utf-8")
    (tmp_path / "openvino_detokenizer.bin").write_bytes(b"")
    (tmp_path / "tokenizer.json").write_bytes(tokenizer_json({"type": "ByteLevel"}, {"Ġhi": 0}))
    assert vocabulary.load(tmp_path)(0) == b" hi"
