"""The cost model: how much faster a target gets with a draft, from terms measured apart.

Model. A call of `budget` tokens is a prefill (first token) and rounds. A round proposes c tokens by the
path's rule (`rules`), m are accepted, m + 1 tokens come out. Its time is c draft inferences, one verify
of c + 1 tokens and a rest; so the time of a call is linear in a few counts (rounds, proposals, whole
rounds, rounds by width), and the speed-up is (budget - 1) T over it, T being the target alone on the same
path (`params`).

Counts come, best first, from the agreement string of the draft with the target's own text (`agreement`:
under greedy decoding a proposal is only ever judged after a true prefix, so one bit per position decides
every NAT), from acceptance by place in the round, or from one alpha (`chance`, exact for finite budgets).
"""
