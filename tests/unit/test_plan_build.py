"""From a sweep to its runs: what is added, merged, dropped, and in which order."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sweeps.paths import presets
from sweeps.plan.build import build_plan, plan_file
from sweeps.plan.model import Plan, Run
from sweeps.spec.errors import SpecError
from sweeps.spec.load import parse_sweep

HEAD = """
name = "s"
[models]
big = "big"
small = "small"
[prompts]
a = "hello"
b = "world\\r\\n"
"""
PAIR = '[[grid]]\nkind = "speculative"\ntarget = "big"\ndraft = "small"\n'
EMULATED = '[devices.NPU]\nNPU_USE_NPUW = "YES"\nNPUW_DEVICES = "CPU"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("big", "small"):
        (tmp_path / name).mkdir()
    return tmp_path


def planned(folder: Path, grids: str, before: str = "") -> Plan:
    return build_plan(parse_sweep(HEAD + before + grids), folder, hasher=lambda path: f"hash of {path.name}")


def short(run: Run) -> str:
    """`target@device+draft@device/NAT path`, with a mark for added runs."""
    config = run.config
    draft = f"+{config.draft}@{config.draft_device}/{config.num_assistant_tokens}" if config.draft else ""
    mark = "*" if run.added else ""
    return f"{config.target}@{config.target_device}{draft} {run.path}{mark}"


def shorts(plan: Plan) -> list[str]:
    return [short(run) for run in timed(plan)]


def timed(plan: Plan) -> list[Run]:
    """Runs that are measured, agreement passes left out."""
    return [run for run in plan.runs if run.config.kind != "agreement"]


def test_a_row_on_continuous_batching_gets_its_plain_runs_first(folder: Path) -> None:
    plan = planned(
        folder, PAIR + 'target_device = "GPU"\ndraft_device = "CPU"\nnum_assistant_tokens = [1, 3]\n'
    )
    assert shorts(plan) == [
        "big@GPU cb*",
        "big@GPU default*",
        "small@CPU cb*",
        "big@GPU+small@CPU/1 cb",
        "big@GPU+small@CPU/3 cb",
    ]
    pinned, default, alone, row, _ = timed(plan)
    assert (row.baseline, row.baseline_default, row.draft_alone) == (pinned.id, default.id, alone.id)
    assert pinned.target_properties == {"ATTENTION_BACKEND": "PA"}
    assert default.target_properties == {}
    assert alone.target_properties == {"ATTENTION_BACKEND": "PA"}
    assert row.target_properties == {}


def test_a_row_with_a_draft_on_the_npu_is_compared_with_sdpa(folder: Path) -> None:
    plan = planned(folder, PAIR + 'target_device = "GPU"\ndraft_device = "NPU"\nnum_assistant_tokens = 3\n')
    assert shorts(plan) == [
        "big@GPU sdpa*",
        "big@GPU default*",
        "small@NPU npu*",
        "big@GPU+small@NPU/3 stateful",
    ]


def test_a_target_on_the_npu_has_one_baseline(folder: Path) -> None:
    plan = planned(
        folder, PAIR + 'target_device = "NPU"\ndraft_device = ["NPU", "CPU"]\nnum_assistant_tokens = 3\n'
    )
    assert shorts(plan) == [
        "big@NPU npu*",
        "small@NPU npu*",
        "big@NPU+small@NPU/3 stateful",
        "small@CPU sdpa*",
        "big@NPU+small@CPU/3 stateful",
    ]
    row = plan.runs[2]
    assert row.baseline == row.baseline_default == plan.runs[0].id


def test_plain_runs_of_the_file_are_used_and_not_added_again(folder: Path) -> None:
    plan = planned(
        folder,
        PAIR
        + 'target_device = "CPU"\ndraft_device = "CPU"\nnum_assistant_tokens = 3\n'
        + '[[grid]]\nkind = "plain"\nmodel = ["big", "small"]\ndevice = "CPU"\n'
        + 'attention_backend = ["PA", "SDPA"]\n',
    )
    assert shorts(plan) == [
        "big@CPU cb",
        "big@CPU default*",
        "small@CPU cb",
        "big@CPU+small@CPU/3 cb",
        "big@CPU sdpa",
        "small@CPU sdpa",
    ]


def test_grids_are_united_and_equal_points_are_one_run(folder: Path) -> None:
    grid = '[[grid]]\nkind = "plain"\nmodel = "big"\ndevice = ["GPU", "CPU"]\n'
    other = '[[grid]]\nkind = "plain"\nmodel = "big"\ndevice = ["CPU"]\n'
    spelled = 'kv_cache_precision = "u8"\n', 'properties = { KV_CACHE_PRECISION = "u8" }\n'
    plan = planned(folder, grid + other + other + spelled[0] + other + spelled[1])
    assert shorts(plan) == ["big@GPU default", "big@CPU default", "big@CPU default"]
    assert [run.target_properties for run in timed(plan)] == [{}, {}, {"KV_CACHE_PRECISION": "u8"}]


def test_models_of_equal_content_are_one_model(folder: Path) -> None:
    sweep = parse_sweep(HEAD + '[[grid]]\nkind = "plain"\nmodel = ["big", "small"]\ndevice = "CPU"\n')
    plan = build_plan(sweep, folder, hasher=lambda path: "same")
    assert shorts(plan) == ["big@CPU default"]


def test_prompt_lookup_needs_no_draft_alone(folder: Path) -> None:
    grid = '[[grid]]\nkind = "prompt-lookup"\ntarget = "big"\ntarget_device = "CPU"\n'
    plan = planned(folder, grid + "num_assistant_tokens = 3\nmax_ngram_size = 2\n")
    assert shorts(plan) == ["big@CPU cb*", "big@CPU default*", "big@CPU cb"]
    assert timed(plan)[2].draft_alone is None


def test_agreement_needs_the_target_s_text_only(folder: Path) -> None:
    grid = PAIR.replace("speculative", "agreement") + 'target_device = "CPU"\ndraft_device = "NPU"\n'
    plan = planned(folder, grid)
    assert [short(run) for run in plan.runs] == ["big@CPU cb*", "big@CPU+small@NPU/None default"]
    assert plan.runs[1].baseline == plan.runs[0].id


def test_a_row_is_foretold_from_the_text_of_its_own_baseline(folder: Path) -> None:
    """Both the draft and the target score the target's text; no baseline is added for their sake."""
    for device, backend in (("CPU", "PA"), ("NPU", "SDPA")):
        grid = PAIR + f'target_device = "GPU"\ndraft_device = "{device}"\nnum_assistant_tokens = [1, 3]\n'
        plan = planned(folder, grid)
        scores = [run for run in plan.runs if run.config.kind == "agreement"]
        assert [(run.config.draft, run.config.draft_device) for run in scores] == [
            ("small", "CPU"),
            ("big", "GPU"),
        ]
        row = next(run for run in plan.runs if run.config.kind == "speculative")
        assert {run.baseline for run in scores} == {row.baseline}
        assert all(run.added and run.config.attention_backend == backend for run in scores)
        order = [run.id for run in plan.runs]
        assert order.index(scores[0].baseline or "") < order.index(scores[0].id)


def test_the_axes_go_to_the_sides_that_have_them(folder: Path) -> None:
    axes = 'num_assistant_tokens = 1\ninference_num_threads = 2\nkv_cache_precision = "u8"\n'
    sections = (
        '[devices.CPU]\nPERFORMANCE_HINT = "LATENCY"\nINFERENCE_NUM_THREADS = 8\n[devices.GPU]\nG = 1\n'
    )
    grid = PAIR + 'target_device = "GPU"\ndraft_device = "CPU"\nproperties = { G = 2 }\n' + axes
    pinned, default, alone, row = timed(planned(folder, grid, sections))
    assert row.target_properties == {"G": 2, "KV_CACHE_PRECISION": "u8"}
    assert row.draft_properties == {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 2}
    assert default.target_properties == row.target_properties
    assert pinned.target_properties == {**row.target_properties, "ATTENTION_BACKEND": "PA"}
    assert alone.target_properties == {**row.draft_properties, "ATTENTION_BACKEND": "PA"}


def test_threads_make_one_baseline_each_where_they_count(folder: Path) -> None:
    grid = PAIR + 'target_device = "CPU"\ndraft_device = "GPU"\nnum_assistant_tokens = 1\n'
    plan = planned(folder, grid + "inference_num_threads = [1, 2]\n")
    rows = [run for run in timed(plan) if run.config.draft]
    assert len({run.baseline for run in rows}) == 2
    assert len({run.draft_alone for run in rows}) == 1


def test_axes_without_effect_leave_one_row_and_say_so(folder: Path) -> None:
    grid = '[[grid]]\nkind = "plain"\nmodel = "big"\ndevice = ["GPU", "NPU"]\n'
    plan = planned(folder, grid + 'attention_backend = ["PA", "SDPA"]\ninference_num_threads = [1, 2]\n')
    assert shorts(plan) == ["big@GPU cb", "big@GPU sdpa", "big@NPU npu"]
    assert {drop.place for drop in plan.dropped} == {
        "grid[0].inference_num_threads[0]",
        "grid[0].inference_num_threads[1]",
        "grid[0].attention_backend[0]",
        "grid[0].attention_backend[1]",
    }
    assert all("kept once without" in drop.reason for drop in plan.dropped)


@pytest.mark.parametrize(
    ("axes", "place", "part"),
    [
        (
            'target_device = "CPU"\ndraft_device = "CPU"\nassistant_confidence_threshold = [0.4]\n',
            "grid[0].assistant_confidence_threshold[0]",
            "not both",
        ),
        (
            'target_device = "CPU"\ndraft_device = "CPU"\nattention_backend = "SDPA"\n',
            "grid[0].attention_backend",
            "SDPA",
        ),
        ('target_device = "CPU"\ndraft_device = "NPU"\ntree_depth = 2\n', "grid[0].tree_depth", "greedy"),
        (
            'target_device = "CPU"\ndraft_device = "CPU"\ntree_depth = 4\n',
            "grid[0].num_assistant_tokens[0]",
            "depth 4",
        ),
        (
            'target_device = "CPU"\ndraft_device = "CPU"\nproperties = { scheduler_config = "x" }\n',
            "grid[0].properties",
            "not a device property",
        ),
        (
            'target_device = "CPU"\ndraft_device = "NPU"\nproperties = { cache_size = 1 }\n',
            "grid[0].properties",
            "no scheduler",
        ),
    ],
)
def test_pairs_that_cannot_be_are_dropped_with_their_place(
    folder: Path, axes: str, place: str, part: str
) -> None:
    plan = planned(folder, PAIR + "num_assistant_tokens = [3]\n" + axes)
    assert plan.runs == ()
    (drop,) = plan.dropped
    assert drop.place == place
    assert part in drop.reason


def test_a_threshold_stays_on_continuous_batching_only(folder: Path) -> None:
    grid = (
        PAIR + 'target_device = "CPU"\ndraft_device = ["CPU", "NPU"]\nassistant_confidence_threshold = 0.4\n'
    )
    plan = planned(folder, grid)
    assert [run.path for run in timed(plan) if run.config.draft] == ["cb"]
    assert [drop.place for drop in plan.dropped] == ["grid[0].assistant_confidence_threshold"]


def test_prompt_lookup_on_the_npu_or_with_sdpa_is_dropped(folder: Path) -> None:
    grid = '[[grid]]\nkind = "prompt-lookup"\ntarget = "big"\nnum_assistant_tokens = 3\nmax_ngram_size = 2\n'
    plan = planned(folder, grid + 'target_device = ["CPU", "NPU"]\nattention_backend = ["PA", "SDPA"]\n')
    assert [run.path for run in plan.runs if run.config.kind == "prompt-lookup"] == ["cb"]
    assert [drop.place for drop in plan.dropped] == [
        "grid[0].attention_backend[1]",
        "grid[0].target_device[1]",
        "grid[0].target_device[1]",
    ]


def test_a_branching_factor_alone_is_left_out(folder: Path) -> None:
    grid = (
        PAIR
        + 'target_device = "CPU"\ndraft_device = "CPU"\nnum_assistant_tokens = 3\nbranching_factor = [2, 3]\n'
    )
    plan = planned(folder, grid)
    rows = [run for run in timed(plan) if run.config.draft]
    assert [run.config.branching_factor for run in rows] == [None]
    assert len(plan.dropped) == 2


def test_emulated_is_read_from_the_npu_s_own_section(folder: Path) -> None:
    grid = PAIR + 'target_device = "CPU"\ndraft_device = ["NPU", "CPU"]\nnum_assistant_tokens = 3\n'
    marks = {short(run): run.emulated for run in planned(folder, grid, EMULATED).runs}
    assert [name for name, emulated in marks.items() if emulated] == [
        "small@NPU npu*",
        "big@CPU+small@NPU/3 stateful",
    ]
    assert not any(run.emulated for run in planned(folder, grid).runs)
    real = EMULATED.replace('"CPU"', '"NPU,CPU"')
    assert not any(run.emulated for run in planned(folder, grid, real).runs)


def test_rows_of_one_target_and_device_stay_together(folder: Path) -> None:
    grids = "".join(
        PAIR + f'target_device = "{device}"\ndraft_device = "CPU"\nnum_assistant_tokens = {nat}\n'
        for device, nat in (("CPU", 1), ("GPU", 1), ("CPU", 2), ("GPU", 2))
    )
    rows = [short(run) for run in timed(planned(folder, grids)) if run.config.draft]
    assert rows == [
        "big@CPU+small@CPU/1 cb",
        "big@CPU+small@CPU/2 cb",
        "big@GPU+small@CPU/1 cb",
        "big@GPU+small@CPU/2 cb",
    ]


def test_prompts_are_in_the_plan_with_their_hash(folder: Path) -> None:
    plan = planned(folder, '[[grid]]\nkind = "plain"\nmodel = "big"\ndevice = "CPU"\n')
    assert [(prompt.name, prompt.text) for prompt in plan.prompts] == [("a", "hello"), ("b", "world\n")]
    assert len({prompt.hash for prompt in plan.prompts}) == 2


def test_missing_models_are_one_error_with_place_and_line(folder: Path) -> None:
    (folder / "small").rmdir()
    file = folder / "s.toml"
    grid = PAIR + 'target_device = "CPU"\ndraft_device = "CPU"\nnum_assistant_tokens = 3\n'
    file.write_text(HEAD + grid, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        plan_file(file)
    assert str(caught.value).startswith(f'{file}:5: models.small: "small": no such folder')
    # A model that no grid uses may be absent.
    file.write_text(HEAD + '[[grid]]\nkind = "plain"\nmodel = "big"\ndevice = "CPU"\n', encoding="utf-8")
    assert len(plan_file(file, hasher=str).runs) == 1


def test_a_model_that_cannot_be_read_is_an_error_with_its_place(folder: Path) -> None:
    def broken(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    with pytest.raises(SpecError, match=r"models\.big: cannot be read"):
        build_plan(
            parse_sweep(HEAD + '[[grid]]\nkind = "plain"\nmodel = "big"\ndevice = "CPU"\n'), folder, broken
        )


@pytest.mark.parametrize("name", ["demo", "nat-scan", "prompt-lookup"])
def test_presets_on_the_bundled_models(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPECDEC_STATE", str(tmp_path))
    plan = plan_file(presets() / f"{name}.toml")
    ids = [run.id for run in plan.runs]
    assert len(set(ids)) == len(ids)
    assert plan.dropped == ()
    for index, run in enumerate(plan.runs):
        before = set(ids[:index])
        assert {run.baseline, run.baseline_default, run.draft_alone} <= before | {None}
        assert (run.baseline is None) == (run.config.kind == "plain")
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    assert plan_file(presets() / f"{name}.toml") == plan
