"""Are two tokenizers the same? By what they do and by what they hold, never by how much they hold.

The library itself compares the number of tokens of one sentence and three special ids, so two different
vocabularies of one size pass there and the draft then proposes ids that mean something else. Here every
token of the vocabulary and the ids of a varied corpus are compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

CORPUS: tuple[str, ...] = (
    "The quick brown fox jumps over the lazy dog. It's 3.14159, isn't it?",
    "def fibonacci(n: int) -> int:\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)\n",
    'for (int i = 0; i < 10; ++i) {\n\t\tprintf("%d\\n", i);\n\t}\r\n',
    '{"key": [1, 22, 333, 4444, 55555], "null": null, "url": "https://example.org/a?b=c&d=%20#e"}',
    "  leading,   inner    and trailing spaces   \n\n\n\ttabs\t\tand newlines\n",
    "CamelCase snake_case SCREAMING_CASE kebab-case antidisestablishmentarianism",
    "0 00 000 1234567890 12,345.678 -1e-10 0xDEADBEEF 0b1010 ½ ² Ⅷ",
    "Größe, façade, naïve, Øresund, çà et là, Zażółć gęślą jaźń",
    "Съешь ещё этих мягких французских булок. Ελληνικά. עברית. العربية. हिन्दी. ไทย",
    "統計的機械学習と推測的デコード。 中文分词测试,没有空格。 한국어 띄어쓰기",
    "🙂👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 vs \u00e9, zero\u200bwidth, nb\u00a0space, \ufeffmark",
    "<|endoftext|><|im_start|>user\nHi<|im_end|> <s> </s> [INST] <bos> <eos> <pad>",
    "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β → γ; ∑ᵢ aᵢ ≤ √(n·Σa²)",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa --------------------------------- ................",
)
"""Texts on which tokenizers differ when they differ at all: code, white space, digits, scripts, emoji,
combining marks, special tokens written out, long runs."""


class TokenizerError(Exception):
    """The tokenizer cannot be loaded. One line, the library's own reason."""


class TokenizerFacts(msgspec.Struct, frozen=True):
    """What identifies a tokenizer."""

    hash: str
    """16 hex digits over the vocabulary, the special ids and the corpus's ids: equal when two tokenizers
    give every text the same ids as far as anyone can tell; independent of the release that wrote the IR."""
    vocabulary_hash: str
    corpus_hash: str
    tokens: int
    """Number of distinct tokens in the vocabulary."""
    largest_id: int
    eos: int
    bos: int
    pad: int
    chat_template: bool


class Encoder(Protocol):
    """The part of `openvino_genai.Tokenizer` that is used; a test hands in its own."""

    def encode(self, prompts: str, *, add_special_tokens: bool = True) -> Any: ...
    def apply_chat_template(self, history: Any, add_generation_prompt: bool) -> str: ...
    def get_vocab(self) -> dict[bytes, int]: ...
    def get_eos_token_id(self) -> int: ...
    def get_bos_token_id(self) -> int: ...
    def get_pad_token_id(self) -> int: ...


def load(folder: Path) -> Encoder:
    """The library's tokenizer of a model folder (0.1 s for 8 k tokens, about 1 s for 150 k).

    Raises TokenizerError; look at the files first (`inspect`), since damaged ones may end the process.
    """
    try:
        import openvino_genai

        # Two streams: with one, a request that meets the constructor's own warm-up can wait for ever.
        tokenizer: Encoder = openvino_genai.Tokenizer(str(folder), NUM_STREAMS=2)
        return tokenizer
    except Exception as error:  # pybind raises RuntimeError, ImportError of mixed releases, ...
        raise TokenizerError(last_line(error)) from error


def facts(tokenizer: Encoder) -> TokenizerFacts:
    """Hash what the tokenizer holds and does.

    Raises TokenizerError when it cannot encode (an IR of a newer release may load and then fail).
    """
    try:
        vocabulary = sorted((id_, token) for token, id_ in tokenizer.get_vocab().items())
        corpus = [encode(tokenizer, text, special=False) for text in CORPUS]
        eos, bos, pad = (
            tokenizer.get_eos_token_id(),
            tokenizer.get_bos_token_id(),
            tokenizer.get_pad_token_id(),
        )
    except Exception as error:
        raise TokenizerError(last_line(error)) from error
    words = hashlib.sha256()
    for id_, token in vocabulary:
        words.update(b"%d:%d:" % (id_, len(token)) + token)
    ids = hashlib.sha256(repr(corpus).encode())
    whole = hashlib.sha256(words.digest() + ids.digest() + repr((eos, bos, pad)).encode())
    return TokenizerFacts(
        hash=whole.hexdigest()[:16],
        vocabulary_hash=words.hexdigest()[:16],
        corpus_hash=ids.hexdigest()[:16],
        tokens=len(vocabulary),
        largest_id=max((id_ for id_, _ in vocabulary), default=-1),
        eos=eos,
        bos=bos,
        pad=pad,
        chat_template=bool(getattr(tokenizer, "chat_template", "")),
    )


def encode(tokenizer: Encoder, text: str, *, special: bool = True) -> list[int]:
    """Ids of one text, with the special tokens that the model expects around it unless told otherwise."""
    ids: Sequence[int] = (
        tokenizer.encode(text, add_special_tokens=special).input_ids.data.reshape(-1).tolist()
    )
    return list(ids)


def count_prompt(tokenizer: Encoder, text: str) -> int:
    """Tokens of a prompt as a pipeline sees it: through the chat template where the model has one.

    Raises TokenizerError.
    """
    try:
        if getattr(tokenizer, "chat_template", ""):
            turn = [{"role": "user", "content": text}]
            text = tokenizer.apply_chat_template(turn, add_generation_prompt=True)
            return len(encode(tokenizer, text, special=False))
        return len(encode(tokenizer, text))
    except Exception as error:
        raise TokenizerError(last_line(error)) from error


def differences(first: TokenizerFacts, second: TokenizerFacts) -> list[str]:
    """How two tokenizers differ, in words; empty when they are the same."""
    found = []
    if first.tokens != second.tokens:
        found.append(f"{first.tokens} against {second.tokens} tokens")
    elif first.vocabulary_hash != second.vocabulary_hash:
        found.append(f"both hold {first.tokens} tokens, but not the same ones")
    if first.corpus_hash != second.corpus_hash:
        found.append("the same text gets other ids")
    for name, one, other in (
        ("end-of-text", first.eos, second.eos),
        ("begin-of-text", first.bos, second.bos),
        ("padding", first.pad, second.pad),
    ):
        if one != other:
            found.append(f"the {name} id is {one} against {other}")
    return found


def last_line(error: BaseException) -> str:
    """The last telling line of a native error, which comes after a stack of source positions."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
