"""The typed records that the worker emits and the journal keeps: one JSON object a line.

Times named `t` are Unix seconds (for people), times named `*_us` are microseconds of the worker's
monotonic clock since `generate()` was called (for arithmetic).
"""

from __future__ import annotations

from typing import Literal

import msgspec

VERSION = 1
"""Version of the journal format; a reader accepts its own and older ones."""

Phase = Literal["import", "read", "construct", "first_token", "decode", "idle"]
RunStatus = Literal["ok", "failed", "refused", "skipped", "cancelled"]


class Event(msgspec.Struct, tag_field="type", frozen=True, omit_defaults=True, kw_only=True):
    """Base of all events."""

    t: float = 0.0


class SweepStarted(Event, tag="sweep_started", frozen=True, kw_only=True):
    """A supervisor took the sweep up (again after a crash, or with an edited file)."""

    sweep: str
    version: int = VERSION
    pid: int
    toml: str = ""
    plan: msgspec.Raw = msgspec.Raw(b"null")
    """The `sweeps.plan.model.Plan`, as JSON."""
    host: str = ""
    facts: dict[str, str] = {}
    """os, cpu, python, openvino, openvino_genai, openvino_tokenizers, power ..."""


class RunStarted(Event, tag="run_started", frozen=True, kw_only=True):
    """A worker process was started for some reps of a run."""

    run: str
    attempt: int
    pid: int
    todo: int
    """Counted reps that this process is to measure, over all prompts."""


class PhaseBegan(Event, tag="phase", frozen=True, kw_only=True):
    """Announced before the phase begins: what a hang or a crash happened in."""

    run: str
    phase: Phase
    prompt: str = ""
    rep: int = 0


class Constructed(Event, tag="constructed", frozen=True, kw_only=True):
    """The pipeline stands."""

    run: str
    construct_s: float
    """The pipeline's constructor together with `draft_model()`."""
    import_s: float = 0.0
    openvino: str = ""
    genai: str = ""
    tokenizers: str = ""
    devices: dict[str, str] = {}
    """Device string -> full name, as the runtime reports it."""
    fallback: str = ""


class PromptEncoded(Event, tag="prompt_encoded", frozen=True, kw_only=True):
    """How many tokens a prompt has."""

    run: str
    prompt: str
    tokens: int


class RepStarted(Event, tag="rep_started", frozen=True, kw_only=True):
    """`generate()` is about to be called."""

    run: str
    prompt: str
    rep: int
    warmup: bool = False
    beside: bool = False
    """See `RepDone.beside`."""


class Tokens(Event, tag="tokens", frozen=True, kw_only=True):
    """Bursts since the last such event: live view only, `RepDone` is what counts."""

    run: str
    prompt: str
    rep: int
    warmup: bool = False
    us: list[int] = []
    ids: list[list[int]] = []


class RepDone(Event, tag="rep_done", frozen=True, kw_only=True):
    """One `generate()` that came to its end: raw counts and raw times, nothing derived.

    `burst_us[i]` is when burst i arrived, `burst_sizes[i]` its tokens. Burst 0 is the first token
    (prefill); burst i > 0 is round i. `draft_us` are the library's own inference times of the draft in
    order (may be led by one entry for its prefill), `verify_us[i]` belongs to burst i.
    """

    run: str
    prompt: str
    rep: int
    warmup: bool = False
    drift: bool = False
    """A baseline measured once more at the end of a grouped sweep: it tells how far the machine drifted and
    counts in no mean."""
    beside: bool = False
    """Not the run itself: its baseline, measured in the same process in turn with this rep (and marked as a
    warm-up too, since it is no rep of the run)."""
    attempt: int = 1
    call: int = 0
    """How many `generate()` calls this process had made before."""
    wall_us: int
    burst_us: list[int]
    burst_sizes: list[int]
    token_ids: list[int]
    result_ids_equal: bool = True
    """The streamed ids are the returned ids."""
    finish: str = ""
    past_stop: int = 0
    """Tokens after a stop token, where stop tokens count: the stateful engine sees one only at the end of
    a burst."""
    end_calls: int = 0
    """`end()` calls of the streamer: 2 on continuous batching, 1 elsewhere."""
    draft_us: list[float] = []
    verify_us: list[float] = []
    proposals: int | None = None
    """The library's raw count of proposals in this call, where it has one."""
    library: dict[str, float] = {}
    """Getters as the library gave them, kept for comparison only."""
    load: dict[str, float] = {}


class Sample(Event, tag="sample", frozen=True, kw_only=True):
    """Resources of the worker's process tree, taken by the parent."""

    run: str
    rss_mb: float
    cpu: float
    """Cores busy in the worker since the last sample."""
    other_cpu: float = 0.0
    """Cores busy with other processes."""
    freq_mhz: float | None = None
    """Clock of the fastest core."""
    throttles: int = 0
    """Thermal throttlings since the last sample, where the system tells."""
    on_battery: bool = False


class Agreement(Event, tag="agreement", frozen=True, kw_only=True):
    """The draft's argmax over the baseline's text: `bits[i]` is '1' where it is the target's token i."""

    run: str
    prompt: str
    bits: str
    token_ids: list[int]
    """The baseline's text, which was scored."""
    prompt_ids: list[int] = []
    """What stood before it."""
    best: list[int] = []
    """The scoring model's first choice at each position."""
    second: list[int] = []
    """Its second choice."""
    margins: list[float] = []
    """Logit of the first minus that of the second choice: near 0 is a near tie."""
    took_s: float = 0.0
    openvino: str = ""


class VerifyWidths(Event, tag="verify_widths", frozen=True, kw_only=True):
    """How long the target takes for 1, 2, 3 ... new tokens behind a prompt, outside any pipeline: what a
    verify costs by its width, before a speculative run."""

    run: str
    prompt: str
    ms: dict[str, list[float]]
    """Width (as text, for JSON) -> inference times in milliseconds, in order, the first dropped."""
    changed_ms: dict[str, list[float]] = {}
    """The same behind an inference of another width and a cut of the key-value cache."""
    after_trim_ms: dict[str, list[float]] = {}
    """The same, of one width, right after the key-value cache was cut."""
    trim_ms: list[float] = []
    """Times to cut the last tokens off the key-value cache again, as after a mismatched round."""
    rep: int = 0
    """The pass of an interleaved sweep in which it was timed."""


class LoopTimes(Event, tag="loop_times", frozen=True, kw_only=True):
    """How long target and draft take in turns, outside any pipeline, before a speculative run: the draft
    finds its weights where the target's pass has left them. Milliseconds, in order."""

    run: str
    prompt: str
    verify_ms: dict[str, list[float]]
    """Width (as text, for JSON) -> the target's passes behind the draft's steps."""
    again_ms: dict[str, list[float]]
    """The same right behind another pass of the target."""
    first_ms: dict[str, list[float]]
    """The draft's first steps: '1 after 1' of one token behind a step of one; '2 after 1' of two tokens, as
    after a round accepted whole; '1 after 2' and '2 after 2' where a round is a single step."""
    later_ms: list[list[float]]
    """The draft's second, third ... steps of one token, where the first one took in one."""
    back_ms: list[float] = []
    """The second steps where the first one took in two."""
    rep: int = 0
    """The pass of an interleaved sweep in which it was timed."""


class WorkerError(Event, tag="worker_error", frozen=True, kw_only=True):
    """A Python exception in the worker; the process ends after it."""

    run: str
    phase: Phase
    error: str
    prompt: str = ""
    rep: int = 0


class RunEnded(Event, tag="run_ended", frozen=True, kw_only=True):
    """The worker process is gone."""

    run: str
    attempt: int
    status: RunStatus
    failure: str = ""
    reason: str = ""
    exit_code: int | None = None
    exit_name: str = ""
    """Signal or Windows status by name."""
    phase: Phase = "idle"
    prompt: str = ""
    """The prompt that was being measured when the process died; empty: before any prompt."""
    tail: list[str] = []
    done: int = 0
    todo: int = 0
    peak_rss_mb: float = 0.0


class Log(Event, tag="log", frozen=True, kw_only=True):
    """Something a person should know: a skip, a stop request, a cooldown."""

    message: str
    run: str = ""


class SweepEnded(Event, tag="sweep_ended", frozen=True, kw_only=True):
    """The supervisor leaves in order."""

    status: Literal["done", "stopped", "interrupted"]


AnyEvent = (
    SweepStarted
    | RunStarted
    | PhaseBegan
    | Constructed
    | PromptEncoded
    | RepStarted
    | Tokens
    | RepDone
    | Sample
    | Agreement
    | VerifyWidths
    | LoopTimes
    | WorkerError
    | RunEnded
    | Log
    | SweepEnded
)
