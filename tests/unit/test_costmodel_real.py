"""The rules and replays against the real library, on the bundled models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sweeps import paths
from sweeps.costmodel import agreement, lookup
from sweeps.costmodel.rules import Rounds, proposals_of, replay

pytestmark = pytest.mark.models

BUDGET = 40
PROMPT = 'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n'
NPU_ON_CPU = {"NPU_USE_NPUW": "YES", "NPUW_DEVICES": "CPU", "NPUW_ONLINE_PIPELINE": "NONE"}


def generate(
    genai: Any, pipe: Any, nat: int, **more: int
) -> tuple[list[int], list[int], list[int], list[float]]:
    """(prompt ids, burst sizes, token ids, the draft's raw durations)."""
    bursts: list[list[int]] = []

    class Streamer(genai.StreamerBase):  # type: ignore[misc]
        def write(self, ids: int | list[int]) -> Any:
            bursts.append(list(ids) if isinstance(ids, list) else [ids])
            return genai.StreamingStatus.RUNNING

        def end(self) -> None:
            pass

    config = genai.GenerationConfig()
    config.max_new_tokens = BUDGET
    config.ignore_eos = True
    # A stop id that no vocabulary holds keeps the stateful path from stopping at a real one.
    config.eos_token_id = 2**31
    config.stop_token_ids = {2**31}
    config.do_sample = False
    config.num_assistant_tokens = nat
    for name, value in more.items():
        setattr(config, name, value)
    inputs = pipe.get_tokenizer().encode(PROMPT)
    result = pipe.generate(inputs, config, Streamer())
    metrics = result.extended_perf_metrics
    raw = [] if metrics is None else list(metrics.draft_model_metrics.raw_metrics.m_durations)
    prompt = [int(i) for i in inputs.input_ids.data.reshape(-1)]
    return prompt, [len(b) for b in bursts], [i for b in bursts for i in b], raw


@pytest.fixture(scope="module")
def genai() -> Iterator[Any]:
    yield pytest.importorskip("openvino_genai")


def scheduler(genai: Any) -> Any:
    config = genai.SchedulerConfig()
    config.enable_prefix_caching = False
    return config


def played(bursts: list[int], proposals: tuple[int, ...]) -> Rounds:
    positions, at = [], bursts[0]
    for burst in bursts[1:]:
        positions.append(at)
        at += burst
    return Rounds(tuple(positions), proposals, tuple(b - 1 for b in bursts[1:]))


def test_cb_proposes_by_its_rule(genai: Any) -> None:
    target, draft = str(paths.bundled("models") / "target"), str(paths.bundled("models") / "draft-s")
    pipe = genai.LLMPipeline(
        target, "CPU", draft_model=genai.draft_model(draft, "CPU"), scheduler_config=scheduler(genai)
    )
    strings = []
    for nat in (3, 1):
        _, bursts, ids, raw = generate(genai, pipe, nat)
        assert len(ids) == BUDGET
        proposals = proposals_of(bursts, "cb", nat, BUDGET)
        # One entry a proposal; in front one for an empty step, and one more where the last round had no
        # room for a proposal (the draft is stepped, but does nothing).
        assert 0 <= len(raw) - sum(proposals) <= 2
        rounds = played(bursts, proposals)
        assert replay(agreement.trace(rounds, BUDGET), "cb", nat, BUDGET) == rounds
        strings.append(agreement.trace(rounds, BUDGET))
    # Both NATs judged the same text (no near tie in 40 tokens): they see the same string.
    assert all(a == b or "?" in (a, b) for a, b in zip(*strings, strict=True))


def test_stateful_proposes_by_its_rule(genai: Any) -> None:
    target, draft = str(paths.bundled("models") / "target"), str(paths.bundled("models") / "draft-s")
    pipe = genai.LLMPipeline(target, "CPU", draft_model=genai.draft_model(draft, "NPU", **NPU_ON_CPU))
    _, bursts, ids, raw = generate(genai, pipe, 3)
    assert len(ids) == BUDGET
    proposals = proposals_of(bursts, "stateful", 3, BUDGET)
    assert len(raw) == sum(proposals) + 1  # in front: the prefill


def test_prompt_lookup_replays_exactly(genai: Any) -> None:
    target = str(paths.bundled("models") / "target")
    pipe = genai.LLMPipeline(target, "CPU", prompt_lookup=True, scheduler_config=scheduler(genai))
    for nat in (2, 5):
        prompt, bursts, ids, _ = generate(genai, pipe, nat, max_ngram_size=3)
        assert list(lookup.replay(prompt, ids, nat, 3).bursts) == bursts[1:]
