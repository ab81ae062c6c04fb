"""The app steps back behind what it watches; what it starts does not inherit that."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from explorer.priority import NICE

SCRIPT = """
import json, os, subprocess, sys, threading
from explorer.priority import in_front, step_back

SAYS = [sys.executable, "-c", "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"]
found = {"before": os.getpriority(os.PRIO_PROCESS, 0)}
found["in front before"] = in_front(lambda: 7)
step_back()
step_back()
found["after"] = os.getpriority(os.PRIO_PROCESS, 0)
later = []
thread = threading.Thread(target=lambda: later.append(os.getpriority(os.PRIO_PROCESS, 0)))
thread.start()
thread.join()
found["thread"] = later[0]
found["child"] = int(subprocess.check_output(SAYS))
found["child in front"] = int(in_front(lambda: subprocess.check_output(SAYS)))
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="niceness belongs to threads on Linux only")
def test_the_app_steps_back_and_its_sweeps_do_not() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["in front before"] == 7
    assert found["after"] == max(found["before"], NICE)
    assert found["thread"] == found["child"] == found["after"]
    assert found["child in front"] == found["before"]
