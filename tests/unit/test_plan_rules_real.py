"""What the rules say of the library, asked of the library on the bundled drafts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sweeps.paths import bundled
from sweeps.plan.model import Config
from sweeps.plan.rules import verdict

pytestmark = pytest.mark.models

NPU = {"NPU_USE_NPUW": "YES", "NPUW_DEVICES": "CPU", "NPUW_ONLINE_PIPELINE": "NONE"}


def pair(**options: Any) -> Config:
    base: dict[str, Any] = {"kind": "speculative", "target": "draft-m", "target_device": "CPU"}
    base |= {"draft": "draft-s", "draft_device": "CPU"}
    return Config(**(base | options))


OPTIONS = (
    "num_assistant_tokens",
    "assistant_confidence_threshold",
    "max_ngram_size",
    "branching_factor",
    "tree_depth",
)
LOOKUP = Config(
    kind="prompt-lookup", target="draft-m", target_device="CPU", num_assistant_tokens=3, max_ngram_size=2
)


def generate(config: Config) -> list[int]:
    """Token ids of 12 new tokens under a configuration, straight from the library."""
    import openvino_genai as genai

    options: dict[str, Any] = {}
    if config.attention_backend:
        options["ATTENTION_BACKEND"] = config.attention_backend
    if config.kind == "prompt-lookup":
        options["prompt_lookup"] = True
    if config.draft is not None:
        on_draft = NPU if config.draft_device == "NPU" else {}
        options["draft_model"] = genai.draft_model(
            str(bundled("models") / config.draft), config.draft_device, **on_draft
        )
    if config.target_device == "NPU":
        options |= NPU
    pipeline = genai.LLMPipeline(str(bundled("models") / config.target), config.target_device, **options)
    asked = genai.GenerationConfig()
    asked.max_new_tokens = 12
    asked.ignore_eos = True
    for name in OPTIONS:
        if (value := getattr(config, name)) is not None:
            setattr(asked, name, value)
    result = pipeline.generate(pipeline.get_tokenizer().encode("def add(a, b):"), asked)
    return list(result.tokens[0])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (pair(num_assistant_tokens=3, assistant_confidence_threshold=0.4), "assistant_confidence_threshold"),
        (pair(assistant_confidence_threshold=0.4, draft_device="NPU"), "assistant_confidence_threshold"),
        (pair(num_assistant_tokens=3, attention_backend="SDPA"), "SDPA"),
        (pair(num_assistant_tokens=4, tree_depth=2, draft_device="NPU"), "greedy"),
        (pair(num_assistant_tokens=2, tree_depth=3), "tree_depth"),
        (pair(assistant_confidence_threshold=0.4, tree_depth=3), "num_assistant_tokens"),
        (msgspec.structs.replace(LOOKUP, attention_backend="SDPA"), "SDPA"),
    ],
)
def test_the_library_refuses_what_is_dropped(config: Config, message: str) -> None:
    found = verdict(config, {}, {})
    assert found is not None
    assert found.instead is None
    with pytest.raises(RuntimeError, match=message):
        generate(config)


@pytest.mark.parametrize(
    "config",
    [
        pair(num_assistant_tokens=3, draft_device="NPU", attention_backend="SDPA"),
        pair(num_assistant_tokens=3, branching_factor=2),
    ],
)
def test_an_axis_that_is_left_out_changes_nothing(config: Config) -> None:
    found = verdict(config, {}, {})
    assert found is not None
    assert found.instead is not None
    assert generate(config) == generate(found.instead)


def test_what_is_kept_runs() -> None:
    for config in (pair(num_assistant_tokens=3), pair(assistant_confidence_threshold=0.4), LOOKUP):
        assert verdict(config, {}, {}) is None
        assert len(generate(config)) == 12
