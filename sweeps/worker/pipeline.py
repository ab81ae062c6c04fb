"""One pipeline, built as the run says."""

from __future__ import annotations

from typing import Any

from sweeps.worker.job import Job

NO_TOKEN = 2**31
"""A stop id that no vocabulary holds. `ignore_eos` alone lets the stateful engine stop at a stop token
that closes a burst, and an empty set of stop ids does not prevent it."""


def build(genai: Any, job: Job) -> Any:
    """Construct the pipeline of a job (this compiles, and may take minutes on an NPU)."""
    options: dict[str, Any] = dict(job.target_properties)
    if job.continuous_batching:
        scheduler = genai.SchedulerConfig()
        scheduler.enable_prefix_caching = job.prefix_caching
        # Its own default of 256 would split longer prompts and change TTFT.
        scheduler.max_num_batched_tokens = max(scheduler.max_num_batched_tokens, 2**31 - 1)
        for key in ("cache_size", "num_kv_blocks"):
            if key in options:
                setattr(scheduler, key, options.pop(key))
        options["scheduler_config"] = scheduler
    if job.kind == "speculative":
        options["draft_model"] = genai.draft_model(job.draft_dir, job.draft_device, **job.draft_properties)
    if job.kind == "prompt-lookup":
        options["prompt_lookup"] = True
    return genai.LLMPipeline(job.target_dir, job.target_device, **options)


def configure(pipeline: Any, job: Job) -> Any:
    """Greedy, with a budget that is really kept."""
    config = pipeline.get_generation_config()
    config.do_sample = False
    config.num_beams = 1
    # The stateful engine ignores a penalty: leaving one in would compare two decodings.
    config.repetition_penalty = 1.0
    config.max_new_tokens = job.max_new_tokens
    if job.ignore_eos:
        config.ignore_eos = True
        config.eos_token_id = NO_TOKEN
        config.stop_token_ids = {NO_TOKEN}
    if job.num_assistant_tokens is not None:
        config.num_assistant_tokens = job.num_assistant_tokens
    if job.assistant_confidence_threshold is not None:
        config.assistant_confidence_threshold = job.assistant_confidence_threshold
        if job.num_assistant_tokens is None:
            config.num_assistant_tokens = 0
    for name in ("max_ngram_size", "branching_factor", "tree_depth"):
        value = getattr(job, name)
        if value is not None:
            setattr(config, name, value)
    return config


def encode_with(tokenizer: Any, text: str) -> Any:
    """Token ids as `generate(text)` would make them: through the chat template where there is one."""
    if tokenizer.chat_template:
        text = tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True)
        return tokenizer.encode(text, add_special_tokens=False)
    return tokenizer.encode(text)
