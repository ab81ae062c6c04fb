"""Each failure class from the texts and statuses that were really seen."""

from __future__ import annotations

import pytest

from sweeps.supervise.exits import exit_name
from sweeps.supervise.failures import classify


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-11, "SIGSEGV"),
        (139, "SIGSEGV"),
        (-6, "SIGABRT"),
        (134, "SIGABRT"),
        (-9, "SIGKILL"),
        (-1073741819, "STATUS_ACCESS_VIOLATION"),
        (3221225477, "STATUS_ACCESS_VIOLATION"),
        (-1073740791, "STATUS_STACK_BUFFER_OVERRUN"),
        (-1073740940, "STATUS_HEAP_CORRUPTION"),
        (-1073741515, "STATUS_DLL_NOT_FOUND"),
        (-1073700000, "0xC000A360"),
        (0, ""),
        (1, ""),
        (2, ""),
        (75, ""),
    ],
)
def test_statuses_have_names(code: int, name: str) -> None:
    assert exit_name(code) == name


@pytest.mark.parametrize(
    ("failure", "phase", "text"),
    [
        ("bad_property", "construct", "Exception: Option not found: scheduler_config"),
        ("bad_property", "construct", "[ NOT_FOUND ] Unsupported property scheduler_config by CPU plugin."),
        ("bad_property", "construct", "Unsupported property MAX_PROMPT_LEN by CPU plugin"),
        (
            "device_lost",
            "decode",
            "L0 zeFenceHostSynchronize result: ZE_RESULT_ERROR_DEVICE_LOST, code 0x70000001",
        ),
        ("device_unavailable", "construct", "libOpenCL.so.1: cannot open shared object file"),
        ("device_unavailable", "construct", "Context was not initialized for 0 device"),
        (
            "device_unavailable",
            "construct",
            'Device with "cpu" name is not registered in the OpenVINO Runtime',
        ),
        ("compile_failed", "construct", "Failed to compile. No more devices are left!"),
        ("compile_failed", "construct", "NPUW: Assertion from_shape.back() % 64 == 0 failed"),
        ("out_of_memory", "construct", "Check 'budget_in_bytes <= total_available_memory' failed"),
        ("out_of_memory", "construct", "Exceeded max size of memory object allocation"),
        ("out_of_memory", "decode", "the prompt did not fit in the available cache budget"),
        ("missing_file", "construct", "Either openvino_tokenizer.xml was not provided or it was not loaded"),
        ("missing_file", "construct", "Incorrect weights in bin file!"),
        ("bad_pair", "construct", "Vocab sizes should be the same for the main and draft models"),
        ("bad_pair", "construct", "Tokenizers for draft and main models are different!"),
        (
            "bad_options",
            "first_token",
            "Parameters assistant_confidence_threshold and num_assistant_tokens both set",
        ),
        (
            "prompt_too_long",
            "first_token",
            'may only process prompts up to 1024 tokens. Set the "MAX_PROMPT_LEN"',
        ),
        ("environment", "import", "ImportError: undefined symbol: _ZN2ov3AnyC1Ev"),
        ("environment", "import", "libopenvino.so.2541: cannot open shared object file"),
    ],
)
def test_texts_have_classes(failure: str, phase: str, text: str) -> None:
    found = classify(1, phase, "a line before\n" + text + "\na line after")
    assert found.name == failure
    assert found.reason in text.splitlines() or found.reason in text + "\na line after"


def test_statuses_without_text() -> None:
    assert classify(-11, "construct", "").name == "native_crash"
    assert classify(-1073741819, "decode", "").name == "native_crash"
    assert classify(-9, "decode", "").name == "killed"
    assert classify(-9, "decode", "", killed_by_kernel=True).name == "out_of_memory"
    assert classify(-15, "decode", "").name == "killed"
    assert classify(None, "construct", "", timed_out=True) == ("timeout", "no progress in phase construct")


def test_what_fits_no_class_stays_unknown_with_its_last_words() -> None:
    assert classify(1, "decode", "one\nRuntimeError: something new\n\n") == (
        "unknown",
        "RuntimeError: something new",
    )
    assert classify(3, "decode", "").name == "unknown"
