"""The published formulas, beside ours for comparison. Each predicts a speed-up from numbers of one row.

Sources: Leviathan et al. 2023, arXiv 2211.17192 (Theorem 3.8); SmartSpec/TurboSpec, arXiv 2406.14066, and
MagicDec, arXiv 2408.11049, for a verify time that is linear in the number of proposals.
"""

from __future__ import annotations

from typing import Final

from sweeps.costmodel.chance import alpha_from_r, tau_fixed

NAMES: Final = ("leviathan_r", "leviathan_alpha", "round_budget", "linear_verify")
"""The columns in which `validate` prints them."""


def leviathan(alpha: float, nat: int, draft_ms: float, target_ms: float) -> float:
    """(1 - a^(k+1)) / ((1 - a) (k c + 1)), c = draft / target: verify costs one target step."""
    return float(tau_fixed(alpha, nat)) / (nat * draft_ms / target_ms + 1.0)


def leviathan_r(r: float, nat: int, draft_ms: float, target_ms: float) -> float:
    """Leviathan's formula with r = accepted / proposed put in for alpha, as is often done (it is too low:
    proposals behind a refusal count as refused in r)."""
    return leviathan(r, nat, draft_ms, target_ms)


def leviathan_alpha(r: float, nat: int, draft_ms: float, target_ms: float) -> float:
    """Leviathan's formula with alpha inverted from r at a fixed k; its tau is then 1 + r k."""
    return leviathan(alpha_from_r(r, nat), nat, draft_ms, target_ms)


def round_budget(r: float, nat: int, draft_ms: float, verify_ms: float, target_ms: float) -> float:
    """tau T / (k d + v), tau = 1 + r k, with draft and verify times as the library reports them."""
    return (1.0 + r * nat) * target_ms / (nat * draft_ms + verify_ms)


def linear_verify(
    r: float, nat: int, draft_ms: float, verify_base_ms: float, verify_slope_ms: float, target_ms: float
) -> float:
    """tau T / (k d + v0 + v1 k) (TurboSpec, MagicDec): verify grows with k, nothing else costs."""
    verify = verify_base_ms + verify_slope_ms * nat
    return float(tau_fixed(alpha_from_r(r, nat), nat)) * target_ms / (nat * draft_ms + verify)
