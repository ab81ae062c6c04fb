"""Does the NPU, real or emulated, take the weights as they are held?"""

from __future__ import annotations

from collections.abc import Iterator

from sweeps.check.case import Case
from sweeps.models.fitness import npu_findings
from sweeps.plan.model import Finding


def check(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        if side.npu and side.model.ir is not None:
            yield from npu_findings(side.model.name, side.model.ir, emulated=side.emulated)
