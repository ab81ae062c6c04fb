"""The headless engine: sweep file -> plan -> events -> tables -> prediction.

Nothing here imports Textual or the `explorer` package, and this file imports nothing that costs time: the
worker runs beside the thing that it measures.
"""

import sys

# `import openvino` reports its use over the network from a thread that forks the process: in the middle of
# a measurement, and the fork can outlive us. None makes that import fail, which OpenVINO takes for "not
# installed".
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
