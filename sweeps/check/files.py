"""Are the files there and whole, and were they written by a release that this one can read?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from sweeps.check.case import Case, Side, warned
from sweeps.models.files import DETOKENIZER_XML
from sweeps.plan.model import Finding


def check(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        for finding in side.model.findings:
            yield _for_role(side, finding)
        yield from _newer(case, side)


def _for_role(side: Side, finding: Finding) -> Finding:
    """A draft works without the detokenizer's XML: only the target turns ids into text."""
    if side.role == "draft" and finding.code == "missing_file" and DETOKENIZER_XML in finding.message:
        return msgspec.structs.replace(finding, level="noted")
    return finding


def _newer(case: Case, side: Side) -> Iterator[Finding]:
    ir = side.model.ir
    if ir is not None and is_newer(ir.openvino_version, case.machine.openvino_version):
        yield warned(
            "ir_newer",
            f"{side.model.name} was written by OpenVINO {ir.openvino_version}, installed is "
            f"{case.machine.openvino_version}: it may fail to load or end the process",
            f"install openvino {ir.openvino_version} or newer, or export the model again",
        )
    written = side.model.tokenizers_version
    if is_newer(written, case.machine.tokenizers_version):
        yield warned(
            "tokenizer_newer",
            f"the tokenizer of {side.model.name} was written by openvino-tokenizers {written}, installed is "
            f"{case.machine.tokenizers_version}",
            f"install openvino-tokenizers {written} or newer, or convert the tokenizer again",
        )


def is_newer(written: str | None, installed: str | None) -> bool:
    """Whether `written` is a later release than `installed`; False when either is unknown.

    >>> is_newer("2026.4.1", "2026.4.0"), is_newer("2026.4.1.0", "2026.4.1"), is_newer(None, "2026.4")
    (True, False, False)
    """
    if not written or not installed:
        return False
    return _numbers(written) > _numbers(installed)


def _numbers(version: str) -> tuple[int, int, int]:
    found = [int(word) for word in re.findall(r"\d+", version.split("-", 1)[0])[:3]]
    year, minor, patch = (*found, 0, 0, 0)[:3]
    return year, minor, patch
