"""Look into a model folder, and at two folders as a pair, without compiling anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from sweeps.models import census, files, tokenizer
from sweeps.models.census import Census
from sweeps.models.files import DETOKENIZER_XML, MODEL_XML, TOKENIZER_XML, human_bytes, weights_of
from sweeps.models.fitness import export_for_npu, npu_findings
from sweeps.models.tokenizer import TokenizerFacts
from sweeps.plan.model import Finding

NAT_WHEN_UNSET = 5
"""num_assistant_tokens when generation_config.json does not give one."""

TokenizerLoader = Callable[[Path], tokenizer.Encoder]


class ModelFacts(msgspec.Struct, frozen=True):
    """All that is known of a model folder before it is compiled. None where a file could not be read."""

    folder: str
    name: str
    model_type: str | None
    context_length: int | None
    """Tokens of prompt and answer together (max_position_embeddings)."""
    nat_default: int
    """num_assistant_tokens of generation_config.json: it fixes an NPU target's verify window."""
    weights_bytes: int
    """Length of openvino_model.bin."""
    ir: Census | None
    tokenizer: TokenizerFacts | None
    tokenizers_version: str | None
    detokenizer: bool
    findings: tuple[Finding, ...]
    """What keeps this folder from being used at all (refused), or is worth knowing of it."""

    @property
    def broken(self) -> bool:
        """Whether no pipeline can be built from this folder."""
        return any(finding.level == "refused" for finding in self.findings)


class PairFacts(msgspec.Struct, frozen=True):
    """A target and a draft, compared."""

    same_tokenizer: bool | None
    tokenizer_differences: tuple[str, ...]
    logits_widths: tuple[int | None, int | None]
    same_logits_width: bool | None
    parameters: tuple[int | None, int | None]
    draft_smaller: bool | None
    findings: tuple[Finding, ...]


def inspect(folder: Path, load_tokenizer: TokenizerLoader = tokenizer.load) -> ModelFacts:
    """Read everything that `ModelFacts` holds. Damaged and missing files become findings, not errors.

    `load_tokenizer` is only called when the tokenizer's files are whole.
    """
    if not folder.is_dir():
        nothing = Finding("refused", "missing_folder", f"no folder {folder}", "correct the path")
        return _unread(folder, nothing)
    ir_findings, ir = _read_ir(folder, MODEL_XML, "no model can be read from this folder")
    token_findings, token_ir = _read_ir(folder, TOKENIZER_XML, "text cannot be turned into token ids")
    back_findings, _ = _read_ir(folder, DETOKENIZER_XML, "token ids cannot be turned into text")
    findings = [*ir_findings, *token_findings, *back_findings]
    token_facts = None
    if token_ir is not None and not token_findings and not back_findings:
        try:
            token_facts = tokenizer.facts(load_tokenizer(folder))
        except tokenizer.TokenizerError as error:
            findings.append(
                Finding(
                    "refused",
                    "tokenizer_unreadable",
                    f"the tokenizer of {folder.name} cannot be loaded: {error}",
                    "convert it again: convert_tokenizer MODEL --with-detokenizer -o FOLDER",
                )
            )
    settings, generation = _json(folder / "config.json"), _json(folder / "generation_config.json")
    text_settings = settings.get("text_config") if isinstance(settings.get("text_config"), dict) else {}
    context = settings.get("max_position_embeddings") or (text_settings or {}).get("max_position_embeddings")
    nat = generation.get("num_assistant_tokens")
    bin_ = folder / weights_of(Path(MODEL_XML))
    if ir is not None and not ir.stateful:
        findings.append(
            Finding(
                "warned",
                "not_stateful",
                f"the IR of {folder.name} does not keep its cache in states",
                f"export it again for text generation: {export_for_npu(folder.name)}",
            )
        )
    if ir is not None and token_facts is not None and ir.logits_width is not None:
        findings.extend(_vocabulary(folder, ir.logits_width, token_facts))
    return ModelFacts(
        folder=str(folder),
        name=folder.name,
        model_type=settings.get("model_type") if isinstance(settings.get("model_type"), str) else None,
        context_length=context if isinstance(context, int) else None,
        nat_default=nat if isinstance(nat, int) and nat > 0 else NAT_WHEN_UNSET,
        weights_bytes=bin_.stat().st_size if bin_.is_file() else 0,
        ir=ir,
        tokenizer=token_facts,
        tokenizers_version=token_ir.tokenizers_version if token_ir is not None else None,
        detokenizer=not back_findings,
        findings=tuple(findings),
    )


def _unread(folder: Path, finding: Finding) -> ModelFacts:
    return ModelFacts(
        folder=str(folder),
        name=folder.name,
        model_type=None,
        context_length=None,
        nat_default=NAT_WHEN_UNSET,
        weights_bytes=0,
        ir=None,
        tokenizer=None,
        tokenizers_version=None,
        detokenizer=False,
        findings=(finding,),
    )


def pair(target: ModelFacts, draft: ModelFacts) -> PairFacts:
    """Compare a target with a draft. Facts that a folder lacks leave the comparison None."""
    return PairFacts(
        same_tokenizer=_both(target.tokenizer, draft.tokenizer, lambda a, b: a.hash == b.hash),
        tokenizer_differences=tuple(
            tokenizer.differences(target.tokenizer, draft.tokenizer)
            if target.tokenizer is not None and draft.tokenizer is not None
            else ()
        ),
        logits_widths=(_width(target), _width(draft)),
        same_logits_width=_both(_width(target), _width(draft), lambda a, b: a == b),
        parameters=(_parameters(target), _parameters(draft)),
        draft_smaller=_both(_parameters(target), _parameters(draft), lambda a, b: b < a),
        findings=tuple(_pair_findings(target, draft)),
    )


def find_models(folder: Path, depth: int = 3) -> list[Path]:
    """Folders at or below `folder` that hold an IR, sorted; hidden folders and links are not followed."""
    found: list[Path] = []
    base = len(folder.parts)
    for here, below, names in os.walk(folder):
        path = Path(here)
        if MODEL_XML in names:
            found.append(path)
        below[:] = sorted(name for name in below if not name.startswith("."))
        if len(path.parts) - base >= depth:
            below.clear()
    return sorted(found)


def row(facts: ModelFacts, pair_: PairFacts | None = None) -> dict[str, Any]:
    """The `inspect` object as commands print it: plain values only, null where nothing is known."""
    ir, token = facts.ir, facts.tokenizer
    # What an NPU refuses is no fault of the model: other devices run it.
    npu = [_softened(f) for f in npu_findings(facts.name, ir)] if ir is not None else []
    out: dict[str, Any] = {
        "model": facts.name,
        "folder": facts.folder,
        "model_type": facts.model_type,
        "parameters": ir.parameters if ir else None,
        "layers": ir.layers if ir else None,
        "context_length": facts.context_length,
        "weights_mb": round(facts.weights_bytes / 1e6, 3) if ir else None,
        "precisions": ir.precisions if ir else None,
        "i4_weights": ir.i4_weights if ir else None,
        "u4_weights": ir.u4_weights if ir else None,
        "u4_zero_points": ir.u4_zero_points if ir else None,
        "int8_weights": ir.int8_weights if ir else None,
        "group_sizes": {str(size): count for size, count in ir.group_sizes.items()} if ir else None,
        "npu_fit": all(f.level == "noted" for f in npu) if ir and not facts.broken else None,
        "vocab_size": ir.logits_width if ir else None,
        "tokenizer_tokens": token.tokens if token else None,
        "tokenizer_hash": token.hash if token else None,
        "chat_template": token.chat_template if token else None,
        "stateful": ir.stateful if ir else None,
        "openvino_version": ir.openvino_version if ir else None,
        "tokenizers_version": facts.tokenizers_version,
        "recipe": ir.recipe if ir else None,
        "findings": [msgspec.to_builtins(finding) for finding in (*facts.findings, *npu)],
    }
    if pair_ is not None:
        out["pair"] = msgspec.to_builtins(pair_)
    return out


def _read_ir(folder: Path, name: str, consequence: str) -> tuple[list[Finding], Census | None]:
    """Findings about one IR's two files, and its census where the XML can be read."""
    xml = folder / name
    bin_ = weights_of(xml)
    absent = _present(xml, consequence)
    if absent is not None:
        return [absent], None
    absent = _present(bin_, consequence)
    findings = [absent] if absent is not None else []
    try:
        ir = census.read(xml)
    except (census.CensusError, OSError) as error:
        findings.append(
            Finding("refused", "broken_ir", f"{folder.name}: {error}", "copy or export the model again")
        )
        return findings, None
    length = 0 if findings else bin_.stat().st_size
    if not findings and length < ir.bin_bytes_needed:
        findings.append(
            Finding(
                "refused",
                "truncated_weights",
                f"{folder.name}/{bin_.name} is {human_bytes(length)} ({length} bytes) long, the IR needs "
                f"{ir.bin_bytes_needed} bytes: the download or copy was cut short",
                "copy or download the file again",
            )
        )
    return findings, ir


def _present(path: Path, consequence: str) -> Finding | None:
    where = f"{path.parent.name}/{path.name}"
    if not path.is_file():
        tokens = "tokenizer" in path.name
        return Finding(
            "refused",
            "missing_file",
            f"{where} is missing: {consequence}",
            "convert it: convert_tokenizer MODEL --with-detokenizer -o FOLDER"
            if tokens
            else "copy the whole folder again, or: specdec export MODEL FOLDER",
        )
    size = files.lfs_size(path)
    if size is None:
        return None
    return Finding(
        "refused",
        "lfs_pointer",
        f"{where} is a Git LFS pointer to {human_bytes(size)}, not the file itself",
        "fetch it: git lfs pull",
    )


def _vocabulary(folder: Path, width: int, token: TokenizerFacts) -> Iterator[Finding]:
    if token.largest_id >= width:
        yield Finding(
            "warned",
            "tokenizer_wider_than_model",
            f"{folder.name}: the tokenizer knows ids up to {token.largest_id}, the model scores {width}",
            "check that the tokenizer belongs to this model",
        )


def _pair_findings(target: ModelFacts, draft: ModelFacts) -> Iterator[Finding]:
    if target.tokenizer is not None and draft.tokenizer is not None:
        found = tokenizer.differences(target.tokenizer, draft.tokenizer)
        if found:
            yield Finding(
                "refused",
                "tokenizers_differ",
                f"{draft.name} and {target.name} have different tokenizers: {'; '.join(found)}",
                "take a draft of the target's own family",
            )
    widths = (_width(target), _width(draft))
    if None not in widths and widths[0] != widths[1]:
        yield Finding(
            "warned",
            "logits_widths_differ",
            f"{target.name} scores {widths[0]} tokens, {draft.name} {widths[1]}: continuous batching takes "
            "such a pair silently, the stateful path (any NPU) raises",
            "export both models with the same padded vocabulary",
        )
    mine, its = _parameters(target), _parameters(draft)
    if mine is not None and its is not None and its >= mine:
        yield Finding(
            "warned",
            "draft_not_smaller",
            f"the draft {draft.name} has {its / 1e6:.1f} M parameters, the target {target.name} "
            f"{mine / 1e6:.1f} M: such a draft cannot save time",
            "swap the two, or take a smaller draft",
        )


def _softened(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, level="warned") if finding.level == "refused" else finding


def _both(first: Any, second: Any, compare: Callable[[Any, Any], bool]) -> bool | None:
    return None if first is None or second is None else compare(first, second)


def _width(facts: ModelFacts) -> int | None:
    return facts.ir.logits_width if facts.ir is not None else None


def _parameters(facts: ModelFacts) -> int | None:
    return facts.ir.parameters if facts.ir is not None else None


def _json(path: Path) -> dict[str, Any]:
    """An optional settings file; a missing or unreadable one counts as empty, as it does for the library."""
    try:
        value = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return value if isinstance(value, dict) else {}
