"""`specdec inspect`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from explorer.cli.errors import Problem
from explorer.cli.options import format_option

_MARKS = {"refused": "REFUSED", "warned": "warned ", "noted": "noted  "}


@click.command(name="inspect")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("folder2", type=click.Path(path_type=Path), required=False)
@format_option
@click.pass_context
def command(ctx: click.Context, folder: Path, folder2: Path | None, format_: str) -> None:
    """Look into a model folder without compiling it; with FOLDER2, is that a draft for it?

    Exit 1 when a folder cannot be used at all, or the two are no pair.
    """
    from sweeps.models.inspect import inspect, pair, row
    from sweeps.spec.resolve import UnresolvedError, model_folder

    try:
        folders = [model_folder(str(each), Path()) for each in (folder, folder2) if each is not None]
    except UnresolvedError as error:
        raise Problem(str(error)) from None
    facts = [inspect(each) for each in folders]
    pair_ = pair(*facts) if len(facts) == 2 else None
    show_objects([row(one, pair_) for one in facts], format_, describe)
    refused = any(one.broken for one in facts) or (
        pair_ is not None and any(finding.level == "refused" for finding in pair_.findings)
    )
    ctx.exit(1 if refused else 0)


def describe(rows: list[dict[str, Any]]) -> list[str]:
    """Lines of text about one or two inspected folders."""
    lines: list[str] = []
    for row in rows:
        lines += [*_model(row), ""]
    pair = rows[-1].get("pair")
    if pair is not None:
        lines += _pair(rows[0]["model"], rows[-1]["model"], pair)
    return lines if lines[-1] else lines[:-1]


def describe_findings(findings: list[dict[str, str]], indent: str = "  ") -> list[str]:
    """One line a finding, its remedy below it."""
    lines = []
    for finding in findings:
        lines.append(f"{indent}{_MARKS[finding['level']]} {finding['message']} [{finding['code']}]")
        if finding["remedy"]:
            lines.append(f"{indent}        -> {finding['remedy']}")
    return lines


def show_objects(rows: list[dict[str, Any]], format_: str, describe: Any) -> None:
    """Print a list of objects: as they are in JSON, nested values as JSON texts in flat formats."""
    import msgspec

    if format_ == "text":
        for line in describe(rows):
            click.echo(line)
    elif format_ == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
    elif format_ == "jsonl":
        for row in rows:
            click.echo(msgspec.json.encode(row).decode())
    else:
        import polars as pl

        from explorer.cli.render import print_frame

        flat = [
            {
                key: msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else value
                for key, value in row.items()
            }
            for row in rows
        ]
        print_frame(pl.DataFrame(flat, infer_schema_length=None), format_)
    sys.stdout.flush()


def _model(row: dict[str, Any]) -> list[str]:
    lines = [f"{row['model']}  ({row['folder']})"]
    if row["precisions"] is not None:
        millions = f"{row['parameters'] / 1e6:,.1f} M parameters"
        lines.append(
            f"  {row['model_type'] or 'unknown architecture'}, {row['layers'] or '?'} layers, {millions}, "
            f"{row['weights_mb']:,.1f} MB of weights, context {row['context_length'] or '?'} tokens"
        )
        groups = ", ".join(
            f"{count} in groups of {size}" if size != "0" else f"{count} with one scale a row"
            for size, count in row["group_sizes"].items()
        )
        lines.append(
            f"  weights: {row['i4_weights']} i4, {row['u4_weights']} u4, {row['int8_weights']} int8; "
            f"{row['u4_zero_points']} u4 zero points" + (f"; int4: {groups}" if groups else "")
        )
        counts = ", ".join(f"{kind} {count}" for kind, count in row["precisions"].items())
        lines.append(f"  constants: {counts}")
        lines.append(f"  NPU: {_npu_word(row['npu_fit'])}")
        lines.append(
            f"  vocabulary: {row['vocab_size'] or '?'} logits, {row['tokenizer_tokens'] or '?'} tokens"
        )
    if row["tokenizer_hash"] is not None:
        template = "a chat template" if row["chat_template"] else "no chat template"
        lines.append(f"  tokenizer: {row['tokenizer_hash']}, {template}")
    lines.append(
        f"  written by OpenVINO {row['openvino_version'] or '?'}, "
        f"openvino-tokenizers {row['tokenizers_version'] or '?'}"
    )
    return lines + describe_findings(row["findings"])


def _npu_word(fit: bool | None) -> str:
    return "?" if fit is None else "fit" if fit else "unfit (see below)"


def _pair(target: str, draft: str, pair: dict[str, Any]) -> list[str]:
    def word(value: bool | None) -> str:
        return "?" if value is None else "yes" if value else "NO"

    widths = " and ".join(str(width or "?") for width in pair["logits_widths"])
    return [
        f"{target} with {draft} as its draft",
        f"  same tokenizer: {word(pair['same_tokenizer'])}",
        f"  same logits width: {word(pair['same_logits_width'])} ({widths})",
        f"  draft smaller: {word(pair['draft_smaller'])}",
        *describe_findings(pair["findings"]),
    ]
