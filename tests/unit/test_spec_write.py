"""Sweeps written and read back are equal, prompts keep their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.paths import presets
from sweeps.spec.keys import KINDS
from sweeps.spec.load import load_sweep, parse_sweep
from sweeps.spec.model import Grid, Limits, PromptFile, Protocol, Sweep
from sweeps.spec.write import dump_sweep

FILES = [Path(__file__).parents[1] / "data" / "sweeps" / "full.toml", *sorted(presets().glob("*.toml"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_real_files_survive(file: Path) -> None:
    sweep = load_sweep(file)
    again = parse_sweep(dump_sweep(sweep))
    assert again == sweep
    assert list(again.prompts) == list(sweep.prompts)
    assert list(again.models) == list(sweep.models)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FILLED = TEXT.filter(lambda text: bool(text.strip()))
NAMES = st.text(st.sampled_from("abAB01 ._-é\"'#="), min_size=1, max_size=8).filter(
    lambda name: name == name.strip()
)
PROPERTIES = st.dictionaries(
    NAMES, TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9), max_size=2
)
DEVICES = st.sampled_from(["CPU", "GPU", "NPU", "GPU.0", "HETERO:GPU.0,GPU.1", "AUTO"])
TIMES = st.floats(0.001, 1e6)


def axis(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values | st.lists(values, min_size=1, max_size=3, unique_by=repr)


@st.composite
def grids(draw: st.DrawFn, models: list[str]) -> Grid:
    kind = draw(st.sampled_from(sorted(KINDS)))
    wanted = KINDS[kind]
    values: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("model", "target", "draft"), st.sampled_from(models)),
        **dict.fromkeys(("device", "target_device", "draft_device"), DEVICES),
        **dict.fromkeys(
            (
                "num_assistant_tokens",
                "max_ngram_size",
                "branching_factor",
                "tree_depth",
                "inference_num_threads",
            ),
            st.integers(1, 9),
        ),
        "assistant_confidence_threshold": st.floats(0.01, 0.99),
        "attention_backend": st.sampled_from(["PA", "SDPA"]),
        "kv_cache_precision": st.sampled_from(["u8", "f16"]),
        "properties": PROPERTIES,
    }
    optional = [key for key in wanted.optional if draw(st.booleans())]
    needed = ["num_assistant_tokens"] if kind == "speculative" else []
    keys = dict.fromkeys([*wanted.required, *needed, *optional])
    return Grid(kind=kind, **{key: draw(axis(values[key])) for key in keys})  # type: ignore[arg-type]


@st.composite
def sweeps(draw: st.DrawFn) -> Sweep:
    models = draw(st.dictionaries(NAMES, FILLED, min_size=1, max_size=3))
    protocol = Protocol(
        max_new_tokens=draw(st.integers(1, 4096)),
        ignore_eos=draw(st.booleans()),
        warmup=draw(st.integers(0, 3)),
        reps=draw(st.integers(1, 9)),
        order=draw(st.sampled_from(["grouped", "interleaved", "paired"])),
        cooldown_s=draw(st.floats(0, 60)),
        limits_s=Limits(draw(TIMES), draw(TIMES), draw(TIMES), draw(TIMES)),
    )
    return Sweep(
        name=draw(st.from_regex(r"[a-zA-Z][a-z0-9_-]{4,9}", fullmatch=True)),
        description=draw(TEXT),
        models=models,
        prompts=draw(st.dictionaries(NAMES, FILLED | st.builds(PromptFile, FILLED), min_size=1, max_size=4)),
        grid=draw(st.lists(grids(list(models)), min_size=1, max_size=3)),
        protocol=protocol,
        devices=draw(st.dictionaries(DEVICES, PROPERTIES, max_size=2)),
    )


@settings(max_examples=200, deadline=None)
@given(sweeps())
def test_any_sweep_survives(sweep: Sweep) -> None:
    again = parse_sweep(dump_sweep(sweep))
    assert again == sweep
    assert list(again.prompts) == list(sweep.prompts)
