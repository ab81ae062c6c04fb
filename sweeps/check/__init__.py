"""What can be known of a run before a compile is spent on it."""

from sweeps.check.case import Case, Machine, Side
from sweeps.check.preflight import preflight

__all__ = ["Case", "Machine", "Side", "preflight"]
