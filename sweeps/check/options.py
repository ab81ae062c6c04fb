"""Which options exclude, need or silently ignore each other?"""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.check.case import Case, noted, refused, warned
from sweeps.plan.model import Finding

BACKENDS = ("PA", "SDPA")
CPU_KV_PRECISIONS = ("u8", "u4", "u3", "bf16", "f16", "f32")
"""What the CPU plugin of OpenVINO 2026.4 takes; other devices are not judged."""


def check(case: Case) -> Iterator[Finding]:
    yield from _proposals(case)
    yield from _prompt_lookup(case)
    yield from _tree(case)
    yield from _backend(case)
    yield from _kv_precision(case)


def _proposals(case: Case) -> Iterator[Finding]:
    config = case.run.config
    nat, threshold = config.num_assistant_tokens, config.assistant_confidence_threshold
    if nat is not None and threshold is not None and nat > 0 and threshold > 0:
        yield refused(
            "threshold_with_nat",
            "num_assistant_tokens and assistant_confidence_threshold exclude each other",
            "give one of the two",
        )
    if threshold is not None and case.speculative and case.stateful:
        yield refused(
            "threshold_with_npu",
            "the stateful engine (any NPU) takes no assistant_confidence_threshold",
            "give num_assistant_tokens, or move both models off the NPU",
        )
    if threshold is not None and not 0 < threshold < 1:
        yield refused(
            "threshold_range",
            f"assistant_confidence_threshold is {threshold}",
            "give a number between 0 and 1",
        )
    if nat is not None and nat < 1:
        yield refused(
            "nat_range", f"num_assistant_tokens is {nat}: nothing would be proposed", "give 1 or more"
        )
    if case.run.config.kind == "plain" and (nat is not None or threshold is not None):
        yield noted("ignored_without_draft", "a plain run ignores num_assistant_tokens and the threshold")


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
    if case.target.npu:
        yield refused(
            "lookup_on_npu",
            "the NPU pipeline ignores prompt lookup silently: the run would measure plain decoding",
            "put the target on CPU or GPU",
        )


def _tree(case: Case) -> Iterator[Finding]:
    config = case.run.config
    if config.branching_factor is None and config.tree_depth is None:
        return
    draft = case.draft.model.ir if case.draft is not None else None
    if not case.speculative:
        yield noted("ignored_without_draft", f"a {config.kind} run ignores branching_factor and tree_depth")
    elif draft is not None and not any("hidden_states" in name for name in draft.inputs):
        yield refused(
            "tree_needs_eagle",
            "branching_factor and tree_depth are for EAGLE drafts; with an ordinary draft generate fails "
            "(content_length <= prompt_ids.size() + ...)",
            "take them out",
        )


def _backend(case: Case) -> Iterator[Finding]:
    backend = case.run.config.attention_backend or case.target.properties.get("ATTENTION_BACKEND")
    if case.draft is not None and "ATTENTION_BACKEND" in case.draft.properties:
        yield refused(
            "backend_on_draft",
            "ATTENTION_BACKEND belongs to the target's side: the draft's device refuses it",
            "take it out of the draft's properties",
        )
    if backend is None:
        return
    if backend not in BACKENDS:
        yield refused("backend_unknown", f"no attention backend {backend}", 'say "PA" or "SDPA"')
    elif case.stateful:
        yield noted("backend_ignored", "a run with an NPU ignores the attention backend", "take it out")
    elif backend == "SDPA" and case.run.config.kind in ("speculative", "prompt-lookup"):
        yield refused(
            "sdpa_with_draft",
            "speculation off the NPU needs paged attention; the library refuses SDPA there",
            'say attention_backend = "PA", or leave it out',
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
                f"{side.role}: the NPU pipeline keeps its own cache precision and ignores KV_CACHE_PRECISION",
                "compare such rows with care, or leave the axis out on the NPU",
            )
