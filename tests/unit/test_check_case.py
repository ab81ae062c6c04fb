"""Device names, properties and options, one run at a time. What is refused here, the library refuses too."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.check.case import Case, Machine, Side
from sweeps.check.devices import is_available, members
from sweeps.check.files import is_newer
from sweeps.check.machine import this_machine
from sweeps.check.preflight import check
from sweeps.models.inspect import ModelFacts, inspect
from sweeps.plan.model import Config, Run
from sweeps.plan.routing import path_of
from sweeps.spec.model import Protocol, Scalar
from tests.unit.tiny_models import DEMO

EMULATED: dict[str, Scalar] = {"NPU_USE_NPUW": "YES", "NPUW_DEVICES": "CPU", "NPUW_ONLINE_PIPELINE": "NONE"}
HERE = Machine(
    devices=("CPU", "GPU.0", "GPU.1"),
    properties={"CPU": frozenset({"CPU_DENORMALS_OPTIMIZATION"})},
    memory_total=10**11,
    memory_available=10**11,
    device_memory={},
    openvino_version="2026.4.1",
    tokenizers_version="2026.4.1.0",
)


@cache
def facts(name: str) -> ModelFacts:
    return inspect(DEMO / name)


def case(
    *,
    kind: Any = "speculative",
    target: str = "draft-s",
    draft: str | None = "draft-s",
    target_device: str = "CPU",
    draft_device: str = "CPU",
    target_properties: dict[str, Scalar] | None = None,
    draft_properties: dict[str, Scalar] | None = None,
    tokens: int = 10,
    machine: Machine = HERE,
    **axes: Any,
) -> Case:
    if kind != "speculative":
        draft = None
    config = Config(kind, target, target_device, draft, draft_device if draft else None, **axes)
    mine, its = target_properties or {}, draft_properties or {}
    return Case(
        run=Run("0" * 10, config, path_of(config), False, target, mine, draft, its),
        protocol=Protocol(),
        prompts=(),
        target=Side("target", target_device, mine, facts(target)),
        draft=Side("draft", draft_device, its, facts(draft)) if draft else None,
        machine=machine,
        prompt_tokens={"p": tokens},
    )


def codes(one: Case) -> dict[str, str]:
    """Findings but the one that every model has as its own draft."""
    return {finding.code: finding.level for finding in check(one) if finding.code != "draft_not_smaller"}


@pytest.mark.parametrize(
    "device",
    ["CPU", "GPU", "GPU.0", "GPU.1", "HETERO:GPU.0,GPU.1", "AUTO", "AUTO:GPU,CPU", "MULTI:GPU.1,CPU"],
)
def test_devices_that_are_there(device: str) -> None:
    assert codes(case(target_device=device)) == {}


@pytest.mark.parametrize(
    ("device", "missing"),
    [
        ("GPU.2", "GPU.2"),
        ("HETERO:GPU.0,GPU.2", "GPU.2"),
        ("AUTO:NPU,CPU", "NPU"),
        ("NPU", "NPU"),
        ("CPU.0", "CPU.0"),
    ],
)
def test_devices_that_are_not(device: str, missing: str) -> None:
    found = [f for f in check(case(draft_device=device)) if f.code == "device_unavailable"]
    assert [f.level for f in found] == ["refused"]
    assert missing in found[0].message and "CPU, GPU.0, GPU.1" in found[0].message


@pytest.mark.parametrize(("device", "right"), [("cpu", "CPU"), ("Gpu.0", "GPU.0"), ("npu", "NPU")])
def test_wrong_case_is_answered_with_the_right_name(device: str, right: str) -> None:
    found = [f for f in check(case(target_device=device)) if f.level == "refused"]
    assert [f.code for f in found] == ["bad_device"]
    assert f"say {right}" in found[0].message


def test_members_are_never_split_into_runs() -> None:
    assert members("HETERO:GPU.0,GPU.1") == ("GPU.0", "GPU.1")
    assert members("AUTO:-GPU.1,CPU") == ("CPU",)
    assert members("MULTI:GPU(4),CPU") == ("GPU", "CPU")
    assert members("AUTO") == ()
    assert members("GPU.0") == ("GPU.0",)


def test_one_gpu_has_two_names() -> None:
    assert is_available("GPU", ("CPU", "GPU.0", "GPU.1"))
    assert is_available("GPU.0", ("CPU", "GPU"))
    assert not is_available("GPU.1", ("CPU", "GPU"))
    assert not is_available("GPU", ("CPU",))


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({"num_assistant_tokens": 3}, {}),
        ({"num_assistant_tokens": 0}, {"nat_range": "refused"}),
        ({"assistant_confidence_threshold": 0.4}, {}),
        ({"assistant_confidence_threshold": 40.0}, {"threshold_range": "refused"}),
        ({"assistant_confidence_threshold": 0.4, "num_assistant_tokens": 3}, {"bad_options": "refused"}),
        ({"num_assistant_tokens": 3, "tree_depth": 2}, {"tree_needs_eagle": "refused"}),
        ({"num_assistant_tokens": 3, "max_ngram_size": 2}, {"ignored_without_lookup": "noted"}),
        ({"kind": "prompt-lookup", "num_assistant_tokens": 3, "max_ngram_size": 2}, {}),
        ({"kind": "prompt-lookup", "num_assistant_tokens": 3}, {"lookup_incomplete": "refused"}),
        ({"kind": "plain", "num_assistant_tokens": 3}, {"ignored_without_draft": "noted"}),
        ({"kind": "plain", "assistant_confidence_threshold": 0.4}, {"threshold_without_draft": "refused"}),
        ({"attention_backend": "SDPA"}, {"bad_options": "refused"}),
    ],
)
def test_options(axes: dict[str, Any], expected: dict[str, str]) -> None:
    assert codes(case(**axes)) == expected


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        ({"target_properties": {"MAX_PROMPT_LEN": 128}}, {"property_wrong_side": "refused"}),
        ({"draft_properties": {"NPUW_DEVICES": "CPU"}}, {"property_wrong_side": "refused"}),
        ({"draft_properties": {"ATTENTION_BACKEND": "PA"}}, {"backend_on_draft": "refused"}),
        ({"target_properties": {"ATTENTION_BACKEND": "FLASH"}}, {"backend_unknown": "refused"}),
        ({"target_properties": {"KV_CACHE_PRECISION": "u7"}}, {"kv_precision_unknown": "refused"}),
        ({"target_properties": {"scheduler_config": "x"}}, {"bad_options": "refused"}),
        ({"target_properties": {"INFERENCE_NUM_THREADS": 2}}, {}),
        ({"target_properties": {"CPU_DENORMALS_OPTIMIZATION": True}}, {}),
        ({"target_properties": {"inference_num_threads": 2}}, {"property_case": "refused"}),
        ({"target_properties": {"FOO_BAR": 2}}, {"property_unknown": "warned"}),
        ({"target_device": "GPU", "target_properties": {"FOO_BAR": 2}}, {"property_unknown": "noted"}),
        (
            {"draft_device": "NPU", "draft_properties": {**EMULATED, "FOO_BAR": 2}},
            {"property_unknown": "noted"},
        ),
        (
            {"draft_device": "NPU", "draft_properties": {**EMULATED, "scheduler_config": "x"}},
            {"bad_options": "refused"},
        ),
    ],
)
def test_properties(sides: dict[str, Any], expected: dict[str, str]) -> None:
    assert codes(case(**sides)) == expected


def test_a_model_that_is_its_own_draft_reports_a_fault_once() -> None:
    found = [f for f in check(case()) if f.code == "draft_not_smaller"]
    assert [f.level for f in found] == ["warned"]


@given(st.text(max_size=40))
def test_any_device_text_is_judged_without_an_error(device: str) -> None:
    for finding in check(case(target_device=device)):
        assert finding.message and "\n" not in finding.message


@given(st.text(alphabet="0123456789.-x", max_size=12), st.text(alphabet="0123456789.-x", max_size=12))
def test_of_two_releases_at_most_one_is_newer(one: str, other: str) -> None:
    assert not (is_newer(one, other) and is_newer(other, one))


def test_this_machine_has_a_cpu_that_lists_its_properties() -> None:
    here = this_machine()
    assert "CPU" in here.devices
    assert "INFERENCE_NUM_THREADS" in here.properties["CPU"]
    assert 0 < here.memory_available <= here.memory_total
    assert here.openvino_version.startswith("20")


REFUSED_BY_THE_LIBRARY: dict[str, tuple[dict[str, Any], str]] = {
    "lower case": ({"target_device": "cpu"}, "not registered"),
    "numbered CPU": ({"target_device": "CPU.0"}, "device id"),
    "NPU property on the CPU": ({"target_properties": {"MAX_PROMPT_LEN": 128}}, "Unsupported property"),
    "backend on the draft": ({"draft_properties": {"ATTENTION_BACKEND": "PA"}}, "Unsupported property"),
    "KV precision": ({"target_properties": {"KV_CACHE_PRECISION": "u7"}}, "Wrong value"),
    "window": (
        {"target_device": "NPU", "target_properties": EMULATED, "num_assistant_tokens": 8},
        "MAX_GENERATION_TOKEN_LEN",
    ),
    "prompt": ({"draft_device": "NPU", "draft_properties": EMULATED, "tokens": 1100}, "MAX_PROMPT_LEN"),
    "tree": ({"tree_depth": 2, "branching_factor": 2, "num_assistant_tokens": 3}, "content_length"),
}

_PIPELINE = """
import json, sys
import numpy, openvino, openvino_genai as genai
a = json.loads(sys.argv[1])
draft = genai.draft_model(a["draft"], a["draft_device"], **a["draft_properties"])
pipe = genai.LLMPipeline(a["target"], a["target_device"], draft_model=draft, **a["target_properties"])
config = genai.GenerationConfig()
config.max_new_tokens = 100
config.ignore_eos = True
config.eos_token_id = 2**31
config.stop_token_ids = {2**31}
for name, value in a["axes"].items():
    setattr(config, name, value)
ids = openvino.Tensor(numpy.full((1, a["tokens"]), 300, dtype=numpy.int64))
mask = openvino.Tensor(numpy.ones((1, a["tokens"]), dtype=numpy.int64))
pipe.generate(genai.TokenizedInputs(ids, mask), config)
"""


@pytest.mark.models
@pytest.mark.parametrize("name", REFUSED_BY_THE_LIBRARY)
def test_what_is_refused_here_the_library_refuses(name: str) -> None:
    """Guards against refusing what a later release takes. A model as its own draft accepts everything."""
    import json

    given_, sign = REFUSED_BY_THE_LIBRARY[name]
    one = case(**{"num_assistant_tokens": 3, **given_})
    assert "refused" in codes(one).values()
    config = one.run.config
    assert one.draft is not None
    axes = {
        axis: value
        for axis in ("num_assistant_tokens", "branching_factor", "tree_depth")
        if (value := getattr(config, axis)) is not None
    }
    job = {
        "target": one.target.model.folder,
        "draft": one.draft.model.folder,
        "target_device": one.target.device,
        "draft_device": one.draft.device,
        "target_properties": one.target.properties,
        "draft_properties": one.draft.properties,
        "tokens": one.prompt_tokens["p"],
        "axes": axes,
    }
    child = subprocess.run(
        [sys.executable, "-c", _PIPELINE, json.dumps(job)], capture_output=True, timeout=120, check=False
    )
    assert child.returncode != 0
    assert sign in child.stderr.decode("utf-8", "replace")
