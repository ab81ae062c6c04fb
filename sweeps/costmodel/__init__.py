"""The cost model: how much faster a target gets with a draft, predicted from terms measured apart.

A call of `budget` tokens is a prefill, which gives the first token, and rounds. A round proposes c tokens
by its path's rule (`rules`), m of them are accepted, and m + 1 tokens come out. Its time is

    draft_first warming(c) + draft c + catch_up [the round before was accepted whole]    draft
    + verify_base + verify_slope c + verify_change [another c than the round before]    verify
    + rest + rest_proposal c + rest_mismatch [a proposal was refused]                   rest

and a call costs some more once (the draft's prefill; cut rounds at its end). So the time of a call is linear
in a few counts - rounds, proposals, whole, changed and refused rounds, rounds by width - and

    speed-up = (budget - 1) T / time of all rounds,    T = the target alone per token, on the same path.

Counts (`evidence`), best first: by replay of the agreement string (`agreement`: under greedy decoding a
proposal is only ever judged after a true prefix, so one bit a position decides every NAT, but for near ties,
which rounding decides and which are expected, not replayed; on the NPU's code path less what a draft loses
after refused proposals, `rollback`); by replay of the
n-gram search for prompt lookup (`lookup`); by acceptance by place in the round; by one alpha. Chance is
exact for finite budgets (`chance`): the state (tokens remaining, k) is carried forward, so the stateful
rule's start at its seed, its drift and the cut rounds at the end are in it.

Terms (`terms`, on the arrays of `roundtable`): robust Bayesian regressions on the rounds, with standard
errors; for a pair that was not run, lent by its neighbours (`calibrate`) and by probes outside the engine
(`probes`: verify by width, what a change of width and a cut of the cache cost, the draft's first steps behind
a pass of its target). A pass of another width than the one before is dearer (new shapes: 2 ms for the bundled
target on a CPU, whatever the width). So a stateful round, whose width keeps changing, costs more than its
tokens, and a cb draft pays after a round accepted whole: it takes in two tokens and goes back to one.
A pass of the target also throws the draft out of the caches: a round's first proposal is dearer, the next
ones less and less (`chance.warming`).
An interval (`predict`) adds up what is not known: terms, acceptance, measurement, model. `validate` predicts
measured rows from others, beside the published formulas.

Sources: Leviathan et al. 2023 (arXiv 2211.17192) for tau and the speed-up at a fixed k; SmartSpec/TurboSpec
(arXiv 2406.14066) and MagicDec (arXiv 2408.11049) for a verify time linear in k. The stateful chain, the
finite budgets and the replay are worked out here.

Limits: greedy decoding and batch 1; a near tie may lead a run's text away from the string's, and then the
counts are another text's (the interval allows for it); a confidence threshold (`cb`) is not modelled; round
times do not depend on the position in the text, so a context that grows far beyond the prompt is not seen;
reps of one process do not tell what the next process gets, so where processes differ (a busy host) intervals
are too narrow unless the sweep's order is interleaved or, better, paired;
the default shares of T (`terms.default_prior`) matter only where no round of a pair was seen.
"""
