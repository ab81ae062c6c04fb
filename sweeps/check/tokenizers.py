"""Do target and draft speak the same token ids?"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sweeps.check.case import Case
from sweeps.models.inspect import pair
from sweeps.plan.model import Finding


def check(case: Case) -> Iterator[Finding]:
    if case.draft is None:
        return
    for finding in pair(case.target.model, case.draft.model).findings:
        if finding.code == "draft_not_smaller" and case.run.config.kind == "agreement":
            continue  # it scores, it does not draft: the target scores its own text too
        # The stateful engine compares the widths and raises; continuous batching goes on silently.
        if finding.code == "logits_widths_differ" and case.stateful:
            yield msgspec.structs.replace(finding, level="refused")
        else:
            yield finding
