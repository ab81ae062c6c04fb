"""Short names of runs for lists that are narrower than a table."""

from __future__ import annotations

from collections.abc import Iterable

from sweeps.plan.model import Config, Run
from sweeps.plan.routing import marked


def label(config: Config, emulated: bool = False, target: bool = True) -> str:
    """`target CPU`, `target GPU + draft-s NPU nat 3`, `target CPU lookup nat 5 ngram 3`.

    An emulated device is written `NPU*`: the NPU code path, run on another device. With `target` false
    the target is left out where something else tells the run (`+ draft-s NPU nat 3`).
    """
    alone = config.kind == "plain"
    parts = [f"{config.target} {marked(config.target_device, emulated)}"] if target or alone else []
    if config.draft is not None:
        parts.append(f"+ {config.draft} {marked(config.draft_device or config.target_device, emulated)}")
    if config.kind == "prompt-lookup":
        parts.append("lookup")
    elif config.kind == "agreement":
        parts.append("agreement")
    for word, value in (
        ("nat", config.num_assistant_tokens),
        ("ngram", config.max_ngram_size),
        ("threshold", config.assistant_confidence_threshold),
        ("branch", config.branching_factor),
        ("depth", config.tree_depth),
        ("", config.attention_backend),
        ("kv", config.kv_cache_precision),
        ("threads", config.inference_num_threads),
    ):
        if value is not None:
            parts.append(f"{word} {value}".strip())
    return " ".join(parts)


def one_target(runs: Iterable[Run]) -> bool:
    """Whether all runs with a draft or a lookup have one target on one device, which need not be said."""
    return len({(r.config.target, r.config.target_device) for r in runs if r.config.kind != "plain"}) == 1


def like(run: Run) -> tuple[str | None, ...]:
    """Runs of one likeness cost about the same time: same kind, models and devices."""
    config = run.config
    return (config.kind, config.target, config.target_device, config.draft, config.draft_device)
