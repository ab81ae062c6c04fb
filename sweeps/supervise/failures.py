"""From exit status, phase and last lines to a failure class: pure, so that each class has a test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sweeps.supervise.exits import CRASHES, exit_name


class Failure(NamedTuple):
    """A class and one line on why."""

    name: str
    reason: str


_SIGNS: Final[tuple[tuple[str, str], ...]] = (
    ("device_lost", r"ZE_RESULT_ERROR_DEVICE_LOST|0x70000001|device lost|CL_DEVICE_NOT_AVAILABLE"),
    (
        "environment",
        r"undefined symbol: \S+|libopenvino\S*\.so\S*: cannot open|No module named|DLL load failed|"
        r"ImportError|ModuleNotFoundError",
    ),
    (
        "out_of_memory",
        r"budget_in_bytes <= total_available_memory|Exceeded max size of memory object allocation|"
        r"did not fit in the available cache budget|std::bad_alloc|[Cc]annot allocate memory|"
        r"CL_OUT_OF_(?:RESOURCES|HOST_MEMORY)|CL_MEM_OBJECT_ALLOCATION_FAILURE|MemoryError|"
        r"ZE_RESULT_ERROR_OUT_OF_(?:HOST|DEVICE)_MEMORY|out of memory",
    ),
    (
        "prompt_too_long",
        r'may only process prompts up to \d+ tokens|Set the "MAX_PROMPT_LEN"|'
        r"Input prompt length is greater than output|prompt (?:is|was) too long",
    ),
    (
        "bad_pair",
        r"Vocab sizes should be the same|Tokenizers for draft and main models are different|"
        r"[Vv]ocab(?:ulary)? sizes?\b.*\bdiffer",
    ),
    (
        "device_unavailable",
        r"libOpenCL\.so\S*: cannot open|Context was not initialized for \d+ device|"
        r"Device with \"[^\"]*\" name is not registered|is not registered in the OpenVINO Runtime|"
        r"No available devices|Device \S+ is not (?:available|supported)|failed to create plugin|"
        r"Cannot find device",
    ),
    (
        "missing_file",
        r"openvino_tokenizer\.xml was not provided|Could not find a model in the directory|"
        r"Incorrect weights in bin file|Empty weights data in bin file|bin file cannot be found|"
        r"(?:Could not|Cannot|Can't|can not) open (?:the )?(?:model )?file|Model file .* cannot be opened|"
        r"No such file or directory|does not exist|FileNotFoundError|openvino_model\.xml",
    ),
    (
        "bad_property",
        r"Option not found: \S+|Unsupported property \S+|NotFound: .*property|Unsupported configuration key|"
        r"incompatible (?:function|constructor) arguments|Failed to .*propert(?:y|ies)",
    ),
    (
        "bad_options",
        r"Speculative decoding with the SDPA|assistant_confidence_threshold|num_assistant_tokens|"
        r"max_ngram_size|prompt_lookup|"
        r"batch size|do_sample|is not supported (?:for|with|by)|mutually exclusive|"
        r"[Bb]eam search|greedy|not compatible with",
    ),
    (
        "compile_failed",
        r"Failed to compile|No more devices are left|Failed Pass|NPUW: Assertion|compiled_model\.cpp",
    ),
)
"""Class and what its texts look like, the more telling first."""


def classify(
    code: int | None,
    phase: str,
    text: str,
    *,
    error: str = "",
    timed_out: bool = False,
    killed_by_kernel: bool = False,
) -> Failure:
    """The class of a dead worker.

    `code` is its exit status (None: it never started), `text` the last lines it printed, `error` the
    exception of Python that it reported. What fits no class stays `unknown`; the tail is kept beside it.
    """
    if timed_out:
        return Failure("timeout", f"no progress in phase {phase}")
    name = exit_name(code) if code is not None else ""
    for signs, said in _evidence(name, error, text):
        for failure, pattern in signs:
            found = re.search(pattern, said)
            if found:
                return Failure(failure, _telling_line(said, found.group(0)))
    if name == "SIGKILL" and killed_by_kernel:
        return Failure("out_of_memory", "killed by the kernel for its memory (SIGKILL)")
    if name in CRASHES:
        return Failure("native_crash", f"{name} in phase {phase}: a crash that Python cannot catch")
    if name == "SIGKILL":
        return Failure("killed", f"SIGKILL in phase {phase}: from outside, or by the kernel for its memory")
    if name in {"SIGTERM", "SIGINT", "SIGHUP", "STATUS_CONTROL_C_EXIT"}:
        return Failure("killed", f"{name} in phase {phase}: from outside")
    if name in {"STATUS_DLL_NOT_FOUND", "STATUS_ENTRYPOINT_NOT_FOUND", "STATUS_DLL_INIT_FAILED"}:
        return Failure("environment", f"{name} in phase {phase}: a library is missing or of another version")
    if name == "STATUS_NO_MEMORY":
        return Failure("out_of_memory", f"{name} in phase {phase}")
    last = next((row for row in reversed((text.strip() or error).splitlines()) if row.strip()), "")
    return Failure("unknown", _one_line(last) or f"exit {name or code} in phase {phase}, nothing printed")


def _evidence(name: str, error: str, text: str) -> Iterator[tuple[Iterable[tuple[str, str]], str]]:
    """Signs to look for and the text to look in, the more reliable first. What was printed before a signal
    ended the process is no explanation, unless it says what can itself end one."""
    yield _SIGNS, error
    if not name:
        yield _SIGNS, text
        return
    uncaught = text.find("terminate called")
    if uncaught >= 0:
        yield _SIGNS, text[uncaught:]
    yield (sign for sign in _SIGNS if sign[0] in ("device_lost", "out_of_memory")), text


def _telling_line(text: str, sign: str) -> str:
    """The line that holds the sign; after a bare `Check '...' failed` the next line says it for people."""
    rows = [row for row in text.splitlines() if row.strip()]
    at = next((number for number, row in enumerate(rows) if sign in row), None)
    if at is None:
        return _one_line(sign)
    if "Check '" in rows[at] and at + 1 < len(rows):
        return _one_line(rows[at + 1])
    return _one_line(rows[at])


def _one_line(text: str, limit: int = 240) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
