"""Small journals with realistic numbers, made of the very events that a worker sends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from sweeps.events.types import Event, RepDone, RepStarted, RunEnded, RunStarted, SweepStarted
from sweeps.measure.proposals import entries, replay, rule_of
from sweeps.plan import model
from sweeps.plan.model import Config, Plan, Prompt, Run
from sweeps.spec.model import Kind, Protocol, Scalar

BUDGET = 32
T0 = 1_790_000_000.0
NPU: dict[str, Scalar] = {"NPU_USE_NPUW": "YES", "NPUW_DEVICES": "CPU"}


def plain(id_: str, backend: str | None = "PA", device: str = "CPU", path: model.Path | None = None) -> Run:
    """The target alone."""
    return Run(
        id=id_,
        config=Config(kind="plain", target="big", target_device=device, attention_backend=backend),
        path=path or {"PA": "cb", "SDPA": "sdpa", None: "default"}[backend],  # type: ignore[arg-type]
        emulated=False,
        target_dir="models/big",
        target_properties={"ATTENTION_BACKEND": backend} if backend else {},
    )


def speculative(
    id_: str,
    nat: int | None = 3,
    draft_device: str = "CPU",
    baseline: str | None = "base",
    kind: Kind = "speculative",
    threshold: float | None = None,
    default: str | None = None,
) -> Run:
    """The target on the CPU with a draft (or prompt lookup)."""
    drafted = kind == "speculative"
    return Run(
        id=id_,
        config=Config(
            kind=kind,
            target="big",
            target_device="CPU",
            draft="small" if drafted else None,
            draft_device=draft_device if drafted else None,
            num_assistant_tokens=nat,
            assistant_confidence_threshold=threshold,
        ),
        path="stateful" if draft_device == "NPU" else "cb",
        emulated=draft_device == "NPU",
        target_dir="models/big",
        target_properties={},
        draft_dir="models/small" if drafted else None,
        draft_properties=NPU if draft_device == "NPU" else {},
        baseline=baseline,
        baseline_default=default,
    )


def plan(*runs: Run, prompts: Sequence[str] = ("story",), **protocol: str | int) -> Plan:
    """A plan of the given runs; three reps of 32 tokens unless told otherwise."""
    settings = {"max_new_tokens": BUDGET, "reps": 3, **protocol}
    texts = tuple(Prompt(name, f"text of {name}", f"hash of {name}") for name in prompts)
    return Plan("kit", msgspec.convert(settings, Protocol), texts, runs)


def started(of: Plan, t: float = T0) -> SweepStarted:
    """The supervisor's first event."""
    raw = msgspec.Raw(msgspec.json.encode(of))
    return SweepStarted(t=t, sweep=of.sweep, pid=1, plan=raw, host="laptop", facts={"openvino": "2026.4.1"})


def rep(
    run: Run,
    number: int,
    *,
    prompt: str = "story",
    ms: float = 10.0,
    sizes: Sequence[int] | None = None,
    ids: Sequence[int] | None = None,
    first: int = 100,
    t: float = T0,
    **changes: object,
) -> RepDone:
    """One clean rep: `ms` a round (a token in a plain run), draft 1 ms a proposal, verify half a round."""
    speculates = run.config.kind != "plain"
    sizes = list(sizes) if sizes is not None else bursts(BUDGET, 3 if speculates else 1)
    times = [5000 + int(i * ms * 1000) for i in range(len(sizes))]
    tokens = list(ids) if ids is not None else list(range(first, first + sum(sizes)))
    draft: list[float] = []
    verify: list[float] = []
    if run.config.kind == "speculative":
        rule = rule_of(run.path, run.config.kind)
        counts = entries(rule, replay(rule, run.config.num_assistant_tokens or 3, BUDGET, sizes))
        draft = [400.0] + [1000.0] * sum(counts)
        verify = [4000.0] + [ms * 500] * (len(sizes) - 1)
    done = RepDone(
        t=t,
        run=run.id,
        prompt=prompt,
        rep=number,
        wall_us=times[-1] + 150 if times else 5000,
        burst_us=times,
        burst_sizes=sizes,
        token_ids=tokens,
        finish="LENGTH",
        end_calls=2 if run.path in ("cb", "default") else 1,
        draft_us=draft,
        verify_us=verify,
    )
    return msgspec.structs.replace(done, **changes)


def bursts(budget: int, size: int) -> list[int]:
    """One token, then bursts of `size` until the budget is full."""
    full, rest = divmod(budget - 1, size)
    return [1] + [size] * full + ([rest] if rest else [])


def whole_run(run: Run, reps: Iterable[RepDone], attempt: int = 1, t: float = T0) -> list[Event]:
    """A run's events from the start of its process to an orderly end."""
    done = list(reps)
    events: list[Event] = [RunStarted(t=t, run=run.id, attempt=attempt, pid=2, todo=len(done))]
    for one in done:
        events += [RepStarted(t=t + one.rep, run=run.id, prompt=one.prompt, rep=one.rep), one]
    events.append(RunEnded(t=t + 9, run=run.id, attempt=attempt, status="ok", done=len(done), todo=len(done)))
    return events


def lines(events: Iterable[Event]) -> bytes:
    """Events as a journal keeps them."""
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def write(folder: Path, events: Iterable[Event], name: str = "kit-20260101T000000Z") -> Path:
    """A results folder with a journal; returns it."""
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    (made / "journal.jsonl").write_bytes(lines(events))
    return made
