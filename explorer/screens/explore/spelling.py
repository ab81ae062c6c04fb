"""The models behind rows, so that their token ids can be read as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from explorer.analysis.compare import Spell
from explorer.live import vocabulary
from sweeps import paths
from sweeps.plan.model import Plan
from sweeps.supervise.folder import SweepFolder


def spellings(rows: Sequence[tuple[str, str]], data: str | None) -> list[Spell | None]:
    """How the target of each (sweep, run) spells its tokens; None where its plan or its model is not here."""
    plans: dict[str, dict[str, str]] = {}
    found: list[Spell | None] = []
    for sweep, run in rows:
        if sweep not in plans:
            plans[sweep] = _targets(SweepFolder(paths.results(data) / sweep))
        target = plans[sweep].get(run)
        spell = vocabulary.load(Path(target)) if target else vocabulary.number
        found.append(None if spell is vocabulary.number else spell)
    return found


def _targets(folder: SweepFolder) -> dict[str, str]:
    """Run id -> folder of its target; empty for rows that no plan stands behind (published, imported)."""
    try:
        plan = msgspec.json.decode(folder.plan.read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError):
        return {}
    return {run.id: run.target_dir for run in plan.runs}
