"""From the raw record of one `generate()` to its metrics, by our own clock and our own counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from sweeps.events.types import RepDone
from sweeps.measure.guards import Problem, check_decode, check_rep, check_timers, reason_of, spoiled
from sweeps.measure.library import disagreements
from sweeps.measure.proposals import Rule, entries, replay, rule_of, split_draft
from sweeps.plan.model import Run

RepStatus = Literal["ok", "budget_not_met", "not_speculative", "metric_suspect"]

FINISH: Final = {"length": "length", "stop": "stop_token", "cancel": "cancelled", "none": ""}
"""The library's finish reasons in our words; others pass as they are, in lower case."""


@dataclass(frozen=True)
class Round:
    """One draft-then-verify round; number 0 is the first token (prefill). Times in milliseconds."""

    number: int
    position: int
    tokens: int
    proposals: int | None
    start_ms: float
    """When it began: the burst before (for round 0: the call)."""
    wall_ms: float
    draft_ms: float | None
    verify_ms: float | None

    @property
    def rest_ms(self) -> float | None:
        """Wall time that is neither draft nor verify; None where that is not known. Hand-over between
        the library's threads can move a burst by a little, so that less than nothing is no number."""
        if self.verify_ms is None:
            return None
        rest = self.wall_ms - self.verify_ms - (self.draft_ms or 0.0)
        return rest if rest >= 0 else None


@dataclass(frozen=True)
class RepMetrics:
    """One rep. Times in milliseconds, rates in tokens per second; None where there is no value or where
    a guard fired. Rounds, proposals and accepted are None in a plain run."""

    tokens: int
    wall_ms: float
    ttft_ms: float | None
    tpot_ms: float | None
    tok_s: float | None
    wall_tok_s: float | None
    rounds: int | None
    proposals: int | None
    accepted: int | None
    draft_total_ms: float | None
    verify_total_ms: float | None
    rounds_total_ms: float | None
    first_round_ms: float | None
    finish: str
    status: RepStatus
    reason: str
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    by_round: tuple[Round, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class _Counts:
    """What the draft did: per round where the raw list can be split, else in total only."""

    proposals: int | None
    by_round: list[int] | None
    draft_us: float | None
    draft_by_round: list[float] | None
    note: str = ""


def measure(done: RepDone, run: Run, budget: int, genai: str = "") -> RepMetrics:
    """Metrics of one rep.

    TPOT is (last - first burst) / (tokens - 1), the decode rate its inverse: neither holds the first
    token. `budget` is `max_new_tokens`; `genai` the library's version, for notes on its getters.
    """
    tokens, bursts, sizes = len(done.token_ids), done.burst_us, done.burst_sizes
    speculates = run.config.kind in ("speculative", "prompt-lookup")
    counts = _count(done, run, budget) if speculates else _Counts(None, None, None, None)
    rounds = max(len(sizes) - 1, 0)
    accepted = sum(sizes[1:]) - rounds if speculates else None
    problems = check_rep(done, budget, accepted, counts.proposals)
    decode_us = bursts[-1] - bursts[0] if len(bursts) > 1 else None
    verify_us = sum(done.verify_us[1:]) if len(done.verify_us) == len(sizes) and speculates else None
    problems += check_timers(done.wall_us, sum(done.draft_us), sum(done.verify_us))
    if decode_us is not None and not problems:
        problems += check_decode(decode_us, _computed_us(done, run, counts, verify_us))
    finish = _finish(done, run, tokens, budget)
    status, reason = _judge(done, run, problems, counts, (tokens, budget, finish))
    per_token = decode_us / (tokens - 1) / 1000 if decode_us and tokens > 1 else None
    values: dict[str, float | int | None] = {
        "ttft_ms": bursts[0] / 1000 if bursts else None,
        "tpot_ms": per_token,
        "tok_s": 1000 / per_token if per_token else None,
        "wall_tok_s": tokens / done.wall_us * 1e6 if tokens and done.wall_us > 0 else None,
        "rounds": rounds if speculates else None,
        "proposals": counts.proposals,
        "accepted": accepted,
        "draft_total_ms": _ms(counts.draft_us),
        "verify_total_ms": _ms(verify_us),
        "rounds_total_ms": _ms(decode_us) if speculates else None,
        "first_round_ms": (bursts[1] - bursts[0]) / 1000 if speculates and len(bursts) > 1 else None,
    }
    notes = [counts.note] if counts.note else []
    if done.past_stop:
        notes.append(f"went on past the end of text inside a burst: {done.past_stop} tokens follow it")
    notes += disagreements(done, values, genai)
    for column in spoiled(problem.name for problem in problems):
        if column in values:
            values[column] = None
    return RepMetrics(
        tokens=tokens,
        wall_ms=done.wall_us / 1000,
        finish=finish,
        status=status,
        reason=reason,
        problems=tuple(problems),
        notes=tuple(notes),
        by_round=() if problems else _rounds(done, counts),
        **values,  # type: ignore[arg-type]
    )


def _computed_us(done: RepDone, run: Run, counts: _Counts, verify_us: float | None) -> float:
    """The library's own time for what came after the first token; 0 where it is not known.

    Its time per token is that of this very call without a draft (seen on every engine); with one it
    freezes at the first call on the stateful path, while the raw lists go on.
    """
    if run.config.kind == "speculative":
        return 0.0 if verify_us is None else verify_us + (counts.draft_us or 0.0)
    return max(done.library.get("tpot_ms", 0.0), 0.0) * 1000 * (len(done.token_ids) - 1)


def _count(done: RepDone, run: Run, budget: int) -> _Counts:
    """Proposals and draft time of a speculating rep."""
    config = run.config
    rule = _rule(run)
    fixed_by_rule = (
        config.num_assistant_tokens is not None
        and not config.assistant_confidence_threshold
        and not config.tree_depth
        and not config.branching_factor
    )
    silent = not any(size > 1 for size in done.burst_sizes) and not done.draft_us
    if config.kind == "prompt-lookup":
        if done.end_calls == 1:
            # Elsewhere than on continuous batching the option is ignored without a word.
            return _Counts(0, None, None, None)
        by_round = replay(rule, config.num_assistant_tokens or 1, budget, done.burst_sizes)
        return _Counts(sum(by_round), by_round, None, None)
    if silent:
        return _Counts(0, None, None, None)
    if fixed_by_rule:
        by_round = replay(rule, config.num_assistant_tokens or 1, budget, done.burst_sizes)
        split = split_draft(done.draft_us, entries(rule, by_round))
        if split is not None:
            return _Counts(sum(by_round), by_round, sum(split), split)
        if not done.draft_us:
            return _Counts(sum(by_round), by_round, None, None, "the library gave no draft times")
        note = f"{len(done.draft_us)} draft inferences do not fit the {sum(by_round)} proposals of the rule"
        total = _measured_proposals(done, rule, budget)
        return _Counts(total, None, sum(done.draft_us[1:]), None, note)
    if not done.draft_us:
        return _Counts(None, None, None, None, "proposals unknown: no rule and no draft times")
    return _Counts(_measured_proposals(done, rule, budget), None, sum(done.draft_us[1:]), None)


def _rule(run: Run) -> Rule:
    """A path left to the library is what the devices make of it."""
    path: str = run.path
    if path == "default":
        path = "stateful" if "NPU" in (run.config.target_device, run.config.draft_device) else "cb"
    return rule_of(path, run.config.kind)


def _measured_proposals(done: RepDone, rule: Rule, budget: int) -> int:
    """Draft inferences without the prefill's entry and without the one that continuous batching spends
    on a last round that has no room for a proposal."""
    wasted = rule == "fixed" and len(done.burst_sizes) > 1 and budget - sum(done.burst_sizes[:-1]) == 1
    return max(len(done.draft_us) - 1 - wasted, 0)


def _finish(done: RepDone, run: Run, tokens: int, budget: int) -> str:
    word = done.finish.lower()
    finish = FINISH.get(word, word)
    if not finish and tokens < budget and "NPU" in (run.config.target_device, run.config.draft_device):
        # The NPU pipelines stop without a reason when the context is full.
        return "context_full"
    return finish


def _judge(
    done: RepDone, run: Run, problems: list[Problem], counts: _Counts, length: tuple[int, int, str]
) -> tuple[RepStatus, str]:
    tokens, budget, finish = length
    if problems:
        return "metric_suspect", reason_of(problems)
    if _asks_in_vain(run):
        return "not_speculative", "no proposals: num_assistant_tokens is ignored without a draft"
    if counts.proposals == 0 and _room(done, budget):
        return "not_speculative", _why_not(done, run)
    if tokens < budget:
        return "budget_not_met", f"{tokens} of {budget} tokens: {finish or 'no reason given'}"
    return "ok", ""


def _asks_in_vain(run: Run) -> bool:
    """Proposals are asked for and nothing can make any: the library takes that without a word."""
    return run.config.kind == "plain" and run.config.num_assistant_tokens is not None


def _room(done: RepDone, budget: int) -> bool:
    """Whether any round had room for a proposal (the very last token leaves none)."""
    return len(done.burst_sizes) > 1 and budget - done.burst_sizes[0] > 1


def _why_not(done: RepDone, run: Run) -> str:
    if run.config.kind == "prompt-lookup":
        return "no proposals: prompt lookup is ignored on this path"
    if done.call:
        return f"no proposals: the draft is ignored, or call {done.call} or an earlier one broke the pipeline"
    return "no proposals: the draft is ignored"


def _rounds(done: RepDone, counts: _Counts) -> tuple[Round, ...]:
    rounds: list[Round] = []
    position, before = 0, 0
    verify = done.verify_us if len(done.verify_us) == len(done.burst_sizes) else None
    for number, (at, size) in enumerate(zip(done.burst_us, done.burst_sizes, strict=True)):
        proposals = draft = None
        if number and counts.by_round is not None:
            proposals = counts.by_round[number - 1]
        if number and counts.draft_by_round is not None:
            draft = counts.draft_by_round[number - 1] / 1000
        rounds.append(
            Round(
                number=number,
                position=position,
                tokens=size,
                proposals=proposals,
                start_ms=before / 1000,
                wall_ms=(at - before) / 1000,
                draft_ms=draft,
                verify_ms=verify[number] / 1000 if verify else None,
            )
        )
        position, before = position + size, at
    return tuple(rounds)


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1000
