"""Everything that CI runs, in one command: `python tests/check.py` (add --fast to leave the models out)."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

STEPS = (
    ("lint", [sys.executable, "-m", "ruff", "check", "."]),
    ("format", [sys.executable, "-m", "ruff", "format", "--check", "."]),
    ("types", [sys.executable, "-m", "mypy"]),
    ("imports", [str(BIN / "lint-imports")]),
    # Two processes would disturb each other's real pipelines: those tests run alone, afterwards.
    ("tests", [sys.executable, "-m", "pytest", "-n", "2", "-m", "not models and not export"]),
    ("tests on real models", [sys.executable, "-m", "pytest", "-m", "models and not export"]),
)


def main() -> int:
    """Run the steps in order; the first that fails ends it with its exit code."""
    steps = STEPS[:-1] if "--fast" in sys.argv[1:] else STEPS
    for name, command in steps:
        start = time.monotonic()
        print(f"== {name}", flush=True)
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        print(
            f"== {name}: {'ok' if code == 0 else f'exit {code}'} ({time.monotonic() - start:.0f} s)",
            flush=True,
        )
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
