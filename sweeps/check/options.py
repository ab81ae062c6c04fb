"""Which options exclude, need or silently ignore each other, and which values the library knows."""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.check.case import Case, noted, refused, warned
from sweeps.plan.model import Finding
from sweeps.plan.rules import verdict

BACKENDS = ("PA", "SDPA")
CPU_KV_PRECISIONS = ("u8", "u4", "u3", "bf16", "f16", "f32")
"""What the CPU plugin of OpenVINO 2026.4 takes; other devices are not judged."""


def check(case: Case) -> Iterator[Finding]:
    yield from _pairs(case)
    yield from _proposals(case)
    yield from _prompt_lookup(case)
    yield from _tree(case)
    yield from _backend(case)
    yield from _kv_precision(case)


def _pairs(case: Case) -> Iterator[Finding]:
    """The planner's own rules: a plan that it made has dropped such points, one from elsewhere has not."""
    broken = verdict(case.run.config, case.run.target_properties, case.run.draft_properties)
    if broken is None:
        return
    make = refused if broken.instead is None else noted
    yield make("bad_options", broken.reason, f"leave {broken.axis} out" if broken.axis else "")


def _proposals(case: Case) -> Iterator[Finding]:
    config = case.run.config
    nat, threshold = config.num_assistant_tokens, config.assistant_confidence_threshold
    if threshold is not None and not 0 < threshold < 1:
        yield refused(
            "threshold_range",
            f"assistant_confidence_threshold is {threshold}",
            "give a number between 0 and 1",
        )
    if nat is not None and nat < 1:
        yield refused("nat_range", f"num_assistant_tokens is {nat}: nothing is proposed", "give 1 or more")
    if config.kind == "plain" and threshold is not None:
        # Measured on 2026.4: without a draft such a generate() neither ends nor keeps to its memory.
        yield refused(
            "threshold_without_draft",
            "assistant_confidence_threshold without a draft makes generate run on without end",
            "take it out",
        )
    elif config.kind == "plain" and nat is not None:
        yield noted("ignored_without_draft", "a plain run ignores num_assistant_tokens")


def _prompt_lookup(case: Case) -> Iterator[Finding]:
    config = case.run.config
    if config.kind != "prompt-lookup":
        if config.max_ngram_size is not None:
            yield noted("ignored_without_lookup", f"a {config.kind} run ignores max_ngram_size")
        return
    if config.draft is not None:
        yield refused(
            "lookup_with_draft", "prompt lookup and a draft exclude each other", "make them two grids"
        )
    if not config.max_ngram_size or not config.num_assistant_tokens:
        yield refused(
            "lookup_incomplete",
            "prompt lookup needs max_ngram_size and num_assistant_tokens, both 1 or more",
            "give both",
        )


def _tree(case: Case) -> Iterator[Finding]:
    config = case.run.config
    if config.branching_factor is None and config.tree_depth is None:
        return
    draft = case.draft.model.ir if case.draft is not None else None
    if draft is not None and not any("hidden_states" in name for name in draft.inputs):
        yield refused(
            "tree_needs_eagle",
            "branching_factor and tree_depth are for EAGLE drafts; with an ordinary draft generate fails "
            "(content_length <= prompt_ids.size() + ...)",
            "take them out",
        )


def _backend(case: Case) -> Iterator[Finding]:
    backend = case.target.properties.get("ATTENTION_BACKEND")
    if backend is not None and backend not in BACKENDS:
        yield refused("backend_unknown", f"no attention backend {backend}", 'say "PA" or "SDPA"')
    if case.draft is not None and "ATTENTION_BACKEND" in case.draft.properties:
        yield refused(
            "backend_on_draft",
            "ATTENTION_BACKEND belongs to the target's side: the draft's device refuses it",
            "take it out of the draft's device section",
        )


def _kv_precision(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        value = side.properties.get("KV_CACHE_PRECISION")
        if value is None:
            continue
        if side.device == "CPU" and value not in CPU_KV_PRECISIONS:
            yield refused(
                "kv_precision_unknown",
                f"{side.role}: the CPU has no KV_CACHE_PRECISION {value}",
                f"one of {', '.join(CPU_KV_PRECISIONS)}",
            )
        elif side.npu and case.run.config.kv_cache_precision is not None:
            yield warned(
                "kv_precision_on_npu",
                f"{side.role}: the NPU takes KV_CACHE_PRECISION, its effect there is unknown",
                "leave the axis out on the NPU",
            )
