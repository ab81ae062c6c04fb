"""`python -m sweeps.supervise FOLDER`: the supervisor as a process of its own, apart from any terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.owner import Busy, MachineLock
from sweeps.supervise.prepare import read_plan
from sweeps.supervise.signals import stop_on_signals
from sweeps.supervise.supervisor import Supervisor
from sweeps.supervise.tables import write_tables


def main() -> int:
    """Exit codes: 0 done, 1 something failed or was refused, or another sweep runs, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m sweeps.supervise")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--retry-failed", action="store_true")
    chosen = parser.parse_args()
    folder = SweepFolder(chosen.folder.absolute())
    stop_on_signals(hang_up=False)
    try:
        with MachineLock(folder.path):
            result = Supervisor(
                folder,
                read_plan(folder),
                only=frozenset(chosen.only) if chosen.only is not None else None,
                retry_failed=chosen.retry_failed,
                after_run=write_tables,
            ).run()
    except Busy as busy:
        print(busy, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return {"done": int(result.failed > 0), "stopped": 130, "interrupted": 130}[result.verdict]


if __name__ == "__main__":
    sys.exit(main())
