"""Do prompt, answer and proposals fit what each pipeline was built for?"""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.check.case import Case, Side, noted, refused, warned
from sweeps.plan.model import Finding

MAX_PROMPT_LEN = 1024
MIN_RESPONSE_LEN = 128
"""What the library builds an NPU pipeline for when it is not told."""
NPU_CONTEXT_STEP = 64
NPU_VERIFY_STEP = 8
"""The NPU pipeline rounds its prompt length and its verify window up to multiples of these (measured)."""


def check(case: Case) -> Iterator[Finding]:
    yield from _model_context(case)
    for side in case.sides:
        if side.npu:
            yield from _npu_prompt(case, side)
    yield from _verify_window(case)
    if case.protocol.max_new_tokens < 2:
        yield noted(
            "budget_of_one",
            "one new token has no time per output token: only TTFT is measured",
            "set max_new_tokens to 2 or more",
        )


def npu_prompt_length(side: Side) -> int:
    """Tokens of prompt that an NPU pipeline takes."""
    return _whole(side, "MAX_PROMPT_LEN", MAX_PROMPT_LEN)


def npu_context_length(side: Side) -> int:
    """Tokens of prompt and answer together that an NPU pipeline has room for."""
    return _up(npu_prompt_length(side), NPU_CONTEXT_STEP) + _whole(side, "MIN_RESPONSE_LEN", MIN_RESPONSE_LEN)


def verify_window(nat_default: int) -> int:
    """Tokens an NPU target verifies at once: 2*NAT+1 with generation_config.json's NAT, rounded up."""
    return _up(2 * nat_default + 1, NPU_VERIFY_STEP)


def _model_context(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        limit = side.model.context_length
        for name, tokens in case.prompt_tokens.items():
            needed = tokens + case.protocol.max_new_tokens
            if limit is None or needed <= limit:
                continue
            text = (
                f"prompt {name} ({tokens} tokens) and {case.protocol.max_new_tokens} new ones go beyond the "
                f"{limit} tokens that {side.model.name} was made for"
            )
            if tokens >= limit:
                yield refused("prompt_beyond_model", text, "shorten the prompt")
            else:
                yield warned("context_beyond_model", text, "shorten the prompt, or lower max_new_tokens")


def _npu_prompt(case: Case, side: Side) -> Iterator[Finding]:
    longest, room = npu_prompt_length(side), npu_context_length(side)
    for name, tokens in case.prompt_tokens.items():
        needed = tokens + case.protocol.max_new_tokens
        if tokens > longest:
            yield refused(
                "prompt_too_long",
                f"prompt {name} has {tokens} tokens, the {side.role} on the NPU takes {longest}",
                f"set MAX_PROMPT_LEN = {_up(tokens, NPU_CONTEXT_STEP)} under [devices.NPU], "
                "or shorten the prompt",
            )
        elif needed > room:
            enough = needed - _up(longest, NPU_CONTEXT_STEP)
            remedy = f"set MIN_RESPONSE_LEN = {enough} under [devices.NPU], or lower max_new_tokens"
            text = (
                f"prompt {name} and {case.protocol.max_new_tokens} new tokens need {needed}, "
                f"the {side.role} on the NPU has room for {room}"
            )
            # Alone the pipeline ends quietly before its budget; with a draft it raises.
            if case.speculative:
                yield refused("npu_context_full", f"{text}: generate fails with 'KV-Cache is full'", remedy)
            else:
                yield warned("npu_context_full", f"{text}: the text ends early and quietly", remedy)


def _verify_window(case: Case) -> Iterator[Finding]:
    nat = case.run.config.num_assistant_tokens
    if not case.speculative or not case.target.npu or nat is None:
        return
    window = verify_window(case.target.model.nat_default)
    # A round proposes up to 2*NAT tokens once acceptance is high. Such a run would live only where the
    # draft is bad, so its rows could not be compared: it is refused although it may get through.
    if 2 * nat + 1 > window:
        yield refused(
            "nat_beyond_window",
            f"num_assistant_tokens {nat} may propose {2 * nat} tokens a round, the NPU target verifies "
            f"{window} (fixed when it is built, from the {case.target.model.nat_default} of "
            "generation_config.json): it would fail in mid-run",
            f"put num_assistant_tokens = {nat} into {case.target.model.name}/generation_config.json, "
            f"or stay at {(window - 1) // 2}",
        )


def _whole(side: Side, key: str, default: int) -> int:
    value = side.properties.get(key, default)
    try:
        return int(value)
    except ValueError:
        return default


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
