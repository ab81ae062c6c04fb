"""The bundled data: models, prompts, presets, and what must not be in them."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from sweeps import paths
from sweeps.spec.model import DEMO_PREFIX, Grid, PromptFile, Sweep

MODELS = ("target", "draft-m", "draft-s")
PRESETS = ("demo", "lunar-lake", "nat-scan", "npu-both", "prompt-lookup")
NPU_PROMPT_BUDGET = 1024
# A path of the machine that an export or a training run happened on.
MACHINE_PATH = re.compile(
    rb"(?:^|[\"'\s=:(])/(?:home|root|tmp|work|mnt|Users)/|[A-Za-z]:\\\\?Users", re.MULTILINE
)


def preset(name: str) -> Sweep:
    content = (paths.presets() / f"{name}.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(content), Sweep)


def listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def grids(sweep: Sweep, kind: str) -> list[Grid]:
    return [grid for grid in sweep.grid if grid.kind == kind]


@pytest.mark.parametrize("name", MODELS)
def test_model_folder_is_complete(name: str) -> None:
    folder = paths.bundled("models") / name
    for stem in ("openvino_model", "openvino_tokenizer", "openvino_detokenizer"):
        assert (folder / f"{stem}.xml").is_file()
        assert not (folder / f"{stem}.bin").read_bytes().startswith(b"version https://git-lfs")
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["vocab_size"] == 8192


def test_models_stay_under_32_mb() -> None:
    files = [
        path
        for path in paths.bundled("models").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert sum(path.stat().st_size for path in files) <= 32_000_000


def test_models_share_one_vocabulary() -> None:
    digests = {
        hashlib.sha256((paths.bundled("models") / name / f"openvino_{part}.bin").read_bytes()).hexdigest()
        for name in MODELS
        for part in ("tokenizer", "detokenizer")
    }
    assert len(digests) == 2


@pytest.mark.parametrize("kind", ["models", "prompts", "published"])
def test_no_path_of_a_machine_is_in_the_data(kind: str) -> None:
    for path in sorted(paths.bundled(kind).rglob("*")):
        if path.suffix in {".xml", ".json", ".jsonl", ".csv", ".txt", ".md", ".py", ".toml"}:
            found = MACHINE_PATH.search(path.read_bytes())
            assert found is None, f"{path}: {found!r}"


def test_the_search_for_machine_paths_finds_one() -> None:
    assert MACHINE_PATH.search(b'"tokenizer": "/home/somebody/models/target"')
    assert MACHINE_PATH.search(rb'"cache": "C:\\Users\\somebody"')


def test_prompt_set_has_the_shapes_it_promises() -> None:
    files = sorted(paths.bundled("prompts").glob("*.txt"))
    card = (paths.bundled("prompts") / "README.md").read_text(encoding="utf-8")
    assert len(files) >= 6
    for path in files:
        content = path.read_bytes()
        assert f"| `{path.stem}` |" in card, "every prompt is described"
        assert b"\r" not in content and content.endswith(b"\n"), "tokens must not depend on the system"


@pytest.mark.models
def test_prompt_card_states_the_true_token_counts() -> None:
    import openvino_genai

    tokenizer = openvino_genai.Tokenizer(str(paths.bundled("models") / "target"))
    card = (paths.bundled("prompts") / "README.md").read_text(encoding="utf-8")
    stated = {name: int(count) for name, count in re.findall(r"^\| `(\S+)` \| (\d+) \|", card, re.MULTILINE)}
    counted = {
        path.stem: int(tokenizer.encode(path.read_text(encoding="utf-8")).input_ids.shape[1])
        for path in paths.bundled("prompts").glob("*.txt")
    }
    assert stated == counted
    assert min(counted.values()) < 20, "a short one"
    assert 600 <= max(counted.values()) <= NPU_PROMPT_BUDGET - 128, "a long one that fits"


def test_presets_are_the_five() -> None:
    assert sorted(path.stem for path in paths.presets().glob("*.toml")) == sorted(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_names_what_it_has(name: str) -> None:
    sweep = preset(name)
    assert sweep.name == name and sweep.description
    for model in sweep.models.values():
        if model.startswith(DEMO_PREFIX):
            assert (
                paths.bundled("models") / model.removeprefix(DEMO_PREFIX) / "openvino_model.xml"
            ).is_file()
    for prompt in sweep.prompts.values():
        if isinstance(prompt, PromptFile):
            assert prompt.file.startswith(DEMO_PREFIX)
            assert (paths.bundled("prompts") / f"{prompt.file.removeprefix(DEMO_PREFIX)}.txt").is_file()
    for grid in sweep.grid:
        for used in (grid.model, grid.target, grid.draft):
            assert all(one is None or one in sweep.models for one in listed(used))


def test_demo_runs_what_it_must() -> None:
    sweep = preset("demo")
    plain = {
        (model, device, backend)
        for grid in grids(sweep, "plain")
        for model in listed(grid.model)
        for device in listed(grid.device)
        for backend in listed(grid.attention_backend)
    }
    assert {("target", "CPU", "PA"), ("target", "CPU", "SDPA"), ("target", "CPU", None)} <= plain
    places = (("CPU", "PA"), ("NPU", None))
    assert {(draft, *place) for draft in ("draft-s", "draft-m") for place in places} <= plain
    pairs = {
        (draft, device, nat)
        for grid in grids(sweep, "speculative")
        for draft in listed(grid.draft)
        for device in listed(grid.draft_device)
        for nat in listed(grid.num_assistant_tokens)
    }
    assert {(draft, "CPU", nat) for draft in ("draft-s", "draft-m") for nat in (1, 3, 5)} <= pairs
    assert {("draft-s", "NPU", nat) for nat in (1, 3, 5)} <= pairs
    assert grids(sweep, "prompt-lookup")
    assert sweep.devices["NPU"] == {
        "NPU_USE_NPUW": "YES",
        "NPUW_DEVICES": "CPU",
        "NPUW_ONLINE_PIPELINE": "NONE",
    }
    assert len(sweep.prompts) >= 3
    assert (sweep.protocol.warmup, sweep.protocol.reps, sweep.protocol.max_new_tokens) == (1, 3, 128)


def test_lunar_lake_preset_is_the_published_experiment() -> None:
    from sweeps.exchange import published

    sweep, runs = preset("lunar-lake"), published.load()
    setup = json.loads((paths.bundled("published") / "lunar-lake" / "setup.json").read_text(encoding="utf-8"))
    assert sweep.prompts == {setup["prompt"]["name"]: setup["prompt"]["text"]}
    pairs = {
        (grid.target, grid.target_device, grid.draft, grid.draft_device, nat)
        for grid in grids(sweep, "speculative")
        for nat in listed(grid.num_assistant_tokens)
    }
    columns = ("target", "target_device", "draft", "draft_device", "num_assistant_tokens")
    assert pairs == set(runs.filter(kind="speculative").select(columns).iter_rows())
    alone = {(grid.model, device) for grid in grids(sweep, "plain") for device in listed(grid.device)}
    assert alone == set(runs.filter(kind="plain").select("target", "target_device").iter_rows())


@pytest.mark.models
@pytest.mark.parametrize("name", MODELS)
def test_model_completes_python(name: str) -> None:
    import openvino_genai

    pipeline = openvino_genai.LLMPipeline(str(paths.bundled("models") / name), "CPU")
    config = openvino_genai.GenerationConfig(max_new_tokens=24, do_sample=False, apply_chat_template=False)
    prompt = Path(paths.bundled("prompts") / "class.txt").read_text(encoding="utf-8")
    written = pipeline.generate([prompt], config).texts[0]
    assert written.startswith("        "), "the body of a method is indented"
    assert re.search(r"\b(return|if|self|try|for)\b", written)
