"""The one exception that commands raise for what the user can put right."""

from __future__ import annotations


class Problem(Exception):
    """One clear line (what, where, what would be right) and an exit code."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
