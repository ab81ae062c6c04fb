"""Every rule of a sweep file: what is said, and where."""

from __future__ import annotations

import pickle
from pathlib import Path

import msgspec
import pytest

from sweeps.spec import keys
from sweeps.spec.checks import document_faults
from sweeps.spec.errors import SpecError
from sweeps.spec.load import check_text, load_sweep, locate, parse_sweep
from sweeps.spec.model import Grid, Limits, Protocol, Sweep

SWEEPS = Path(__file__).parents[1] / "data" / "sweeps"

HEAD = 'name = "s"\n[models]\nbig = "b"\nsmall = "s"\n[prompts]\np = "hello"\n'
PLAIN = '[[grid]]\nkind = "plain"\nmodel = "big"\ndevice = "CPU"\n'
PAIR = """[[grid]]
kind = "speculative"
target = "big"
target_device = "GPU"
draft = "small"
draft_device = "CPU"
"""


def first(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        parse_sweep(text)
    return str(caught.value)


def said(text: str, place: str) -> tuple[str, int | None, int | None]:
    found = [issue for issue in check_text(text, None) if issue.place == place]
    assert len(found) == 1, check_text(text, None)
    return found[0].message, found[0].line, found[0].column


def test_a_file_with_every_table_and_axis_reads() -> None:
    sweep = load_sweep(SWEEPS / "full.toml")
    assert sweep.name == "full"
    assert sweep.protocol.limits_s.import_ == 60.0
    assert sweep.grid[0].draft_device == ["CPU", "GPU", "NPU"]
    assert sweep.devices["CPU"] == {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 4}
    assert sweep.grid[2].properties == [{"CACHE_DIR": ""}, {"DYNAMIC_QUANTIZATION_GROUP_SIZE": 32}]


def test_defaults_are_the_protocol_s() -> None:
    sweep = parse_sweep(HEAD + PLAIN)
    assert sweep.protocol == Protocol()
    assert sweep.devices == {}


def test_the_tables_of_keys_are_those_of_the_structs() -> None:
    def fields(struct: type[msgspec.Struct]) -> set[str]:
        return {field.encode_name for field in msgspec.structs.fields(struct)}

    assert fields(Sweep) == set(keys.TOP)
    assert fields(Protocol) == {*keys.PROTOCOL, "limits_s"}
    assert fields(Limits) == set(keys.LIMITS)
    assert fields(Grid) == {*keys.AXES, "kind"}


def test_the_first_fault_is_one_line_with_file_line_place_and_remedy(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(HEAD + PAIR + 'num_assistant_tokens = [1,\n 3,\n "5"]\n', encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_sweep(file)
    error = caught.value
    assert (error.place, error.line, error.column) == ("grid[0].num_assistant_tokens[2]", 15, 2)
    assert str(error) == (
        f'{file}:15: grid[0].num_assistant_tokens[2]: expected a whole number, 1 or more, got a text ("5")'
    )


def test_all_faults_are_collected() -> None:
    text = (
        HEAD
        + '[[grid]]\nkind = "plain"\nmodel = "bog"\ndevice = ["CPU", "gpu"]\nreps = 2\n[protocol]\nreps = 0\n'
    )
    places = {issue.place for issue in check_text(text, None)}
    assert places == {"grid[0].model", "grid[0].device[1]", "grid[0].reps", "protocol.reps"}
    with pytest.raises(SpecError) as caught:
        parse_sweep(text)
    assert len(caught.value.issues) == 4


@pytest.mark.parametrize(
    ("text", "place", "line", "parts"),
    [
        (
            HEAD + PAIR + "num_asistant_tokens = 3\n",
            "grid[0].num_asistant_tokens",
            13,
            ["num_assistant_tokens?"],
        ),
        ("reps = 3\n" + HEAD + PLAIN, "reps", 1, ["unknown key", "[protocol]"]),
        ("attention_backend = 1\n" + HEAD + PLAIN, "attention_backend", 1, ["belongs in [[grid]]"]),
        (HEAD + "[protocol]\nwarm = 1\n" + PLAIN, "protocol.warm", 8, ["warmup?"]),
        (HEAD + "[protocol]\nlimits_s = { stall = 0 }\n" + PLAIN, "protocol.limits_s.stall", 8, ["above 0"]),
        (
            HEAD + "[protocol]\nlimits_s = { imports = 1 }\n" + PLAIN,
            "protocol.limits_s.imports",
            8,
            ["import?"],
        ),
        (HEAD + "[protocol.limits_s]\nstall = nan\n" + PLAIN, "protocol.limits_s.stall", 8, ["nan"]),
        (HEAD + '[protocol]\norder = "group"\n' + PLAIN, "protocol.order", 8, ['"grouped"?']),
        (HEAD + "[protocol]\nmax_new_tokens = 0\n" + PLAIN, "protocol.max_new_tokens", 8, ["1 or more"]),
        (HEAD + "[protocol]\nwarmup = -1\n" + PLAIN, "protocol.warmup", 8, ["0 or more"]),
        (HEAD + "[protocol]\nreps = true\n" + PLAIN, "protocol.reps", 8, ["whole number"]),
        (HEAD + "[protocol]\nreps = 1e3\n" + PLAIN, "protocol.reps", 8, ["whole number", "1000.0"]),
        (HEAD + "[protocol]\nignore_eos = 1\n" + PLAIN, "protocol.ignore_eos", 8, ["true or false"]),
        (HEAD + "[protocol]\nreps = 99999999999999999999\n" + PLAIN, "protocol.reps", 8, ["too large"]),
        (HEAD + "[protocol]\nreps = 1979-05-27\n" + PLAIN, "protocol.reps", 8, ["a date or time"]),
        (HEAD + PAIR, "grid[0].num_assistant_tokens", 7, ["is missing", "[1, 3, 5]"]),
        (HEAD + PAIR + "num_assistant_tokens = []\n", "grid[0].num_assistant_tokens", 13, ["is empty"]),
        (
            HEAD + PAIR + "num_assistant_tokens = [1, 3, 1]\n",
            "grid[0].num_assistant_tokens[2]",
            13,
            ["twice"],
        ),
        (HEAD + PAIR + "num_assistant_tokens = 0\n", "grid[0].num_assistant_tokens", 13, ["1 or more"]),
        (
            HEAD + PAIR + "assistant_confidence_threshold = 1\n",
            "grid[0].assistant_confidence_threshold",
            13,
            ["below"],
        ),
        (HEAD + PAIR + "model = 'big'\nnum_assistant_tokens = 1\n", "grid[0].model", 13, ["say target"]),
        (
            HEAD + PAIR + "max_ngram_size = 2\nnum_assistant_tokens = 1\n",
            "grid[0].max_ngram_size",
            13,
            ["belong"],
        ),
        (HEAD + PLAIN + "target_device = 'GPU'\n", "grid[0].target_device", 11, ["say device"]),
        (HEAD + PLAIN + 'attention_backend = "pa"\n', "grid[0].attention_backend", 11, ['"PA"?']),
        (HEAD + PLAIN + 'kv_cache_precision = "fp16"\n', "grid[0].kv_cache_precision", 11, ['"f16"?']),
        (HEAD + PLAIN + "inference_num_threads = 0\n", "grid[0].inference_num_threads", 11, ["1 or more"]),
        (HEAD + PLAIN + "properties = [{ A = 1 }, { A = 1 }]\n", "grid[0].properties[1]", 11, ["same table"]),
        (HEAD + PLAIN + "properties = { A = { B = 1 } }\n", "grid[0].properties.A", 11, ["a table"]),
        (HEAD + PLAIN + "properties = { A = inf }\n", "grid[0].properties.A", 11, ["inf"]),
        (
            HEAD + PLAIN + "inference_num_threads = 1\nproperties = [{ INFERENCE_NUM_THREADS = 1 }]\n",
            "grid[0].properties[0].INFERENCE_NUM_THREADS",
            12,
            ["inference_num_threads"],
        ),
        (
            HEAD + '[devices.CPU]\nATTENTION_BACKEND = "PA"\n' + PLAIN,
            "devices.CPU.ATTENTION_BACKEND",
            8,
            ["attention_backend"],
        ),
        (HEAD + '[devices.npu]\nX = "1"\n' + PLAIN, "devices.npu", 7, ["say NPU"]),
        (HEAD + "[devices.NPU]\nX = [1]\n" + PLAIN, "devices.NPU.X", 8, ["a list"]),
        (HEAD + PLAIN.replace("CPU", "cpu"), "grid[0].device", 10, ["say CPU"]),
        (HEAD + PLAIN.replace("big", "bug"), "grid[0].model", 9, ["[models]", "big?"]),
        (HEAD + PLAIN.replace("plain", "plian"), "grid[0].kind", 8, ['"plain"?']),
        (HEAD + '[[grid]]\nmodel = "big"\n', "grid[0].kind", 7, ["is missing", "speculative"]),
        (HEAD + '[[grid]]\nkind = "plain"\nmodel = "big"\n', "grid[0].device", 7, ["is missing"]),
        (HEAD + "[grid]\nkind = 'plain'\n", "grid", 7, ["[[grid]]"]),
        (HEAD, "grid", None, ["is missing"]),
        (HEAD.replace('"hello"', '""') + PLAIN, "prompts.p", 6, ["is empty"]),
        (HEAD.replace('"hello"', "{ text = 'x' }") + PLAIN, "prompts.p.file", 6, ["is missing"]),
        (HEAD.replace('"hello"', "3") + PLAIN, "prompts.p", 6, ["{ file"]),
        (HEAD.replace('"s"\n[', '"a/b"\n[') + PLAIN, "name", 1, ["/"]),
        (HEAD.replace('"s"\n[', '"com1.x"\n[') + PLAIN, "name", 1, ["Windows"]),
        (HEAD.replace('"s"\n[', '"a."\n[') + PLAIN, "name", 1, ["dot"]),
        (HEAD.replace('"s"\n[', '" "\n[') + PLAIN, "name", 1, ["blanks"]),
        (HEAD.replace("small", '"a\\tb"') + PLAIN, 'models."a\\tb"', 4, ["cannot be shown"]),
    ],
)
def test_each_rule_names_its_place(text: str, place: str, line: int | None, parts: list[str]) -> None:
    message, where, _ = said(text, place)
    assert where == line
    for part in parts:
        assert part in message


def test_a_grid_that_would_run_for_months_is_refused() -> None:
    axis = str(list(range(1, 202)))
    text = HEAD + PAIR + f"num_assistant_tokens = {axis}\ntree_depth = {axis}\n"
    assert "40,401 runs" in said(text, "grid[0]")[0]


@pytest.mark.parametrize(
    ("device", "good"),
    [
        ("CPU", True),
        ("GPU", True),
        ("GPU.0", True),
        ("GPU.1.0", True),
        ("NPU", True),
        ("AUTO", True),
        ("AUTO:GPU,CPU", True),
        ("AUTO:-CPU", True),
        ("HETERO:GPU.0,GPU.1", True),
        ("MULTI:CPU(2),GPU(4)", True),
        ("BATCH:GPU(4)", True),
        ("gpu.0", False),
        ("HETERO:", False),
        ("HETERO", False),
        ("HETERO:gpu.0,CPU", False),
        ("GPU.0,GPU.1", False),
        ("NPU.0", False),
        ("XPU", False),
        ("CPUs", False),
        ("", False),
        (" CPU", False),
    ],
)
def test_device_strings(device: str, good: bool) -> None:
    issues = check_text(HEAD + PLAIN.replace('"CPU"', f'"{device}"'), None)
    assert [issue.place for issue in issues] == ([] if good else ["grid[0].device"])


def test_a_wrong_case_is_put_right_inside_a_list_of_devices() -> None:
    message = said(HEAD + PLAIN.replace("CPU", "HETERO:gpu.0, cpu"), "grid[0].device")[0]
    assert '"HETERO:GPU.0,CPU"' in message


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"\xef\xbb\xbfname = 'a'", "byte-order mark"),
        (b"\xff\xfen\x00", "UTF-16"),
        (b"name = 'a'\nx = '\xe4'\n", "0xe4"),
        (b"a = " + b"9" * 5000, "thousands of digits"),
        (b"a = 0x" + b"f" * 5000, "unknown key"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"a = " + b"[" * 50 + b"]" * 50, "nested too deeply"),
        (b"a" + b".a" * 500 + b" = 1", "nested too deeply"),
        (b"a = 1979-13-40", "TOML"),
        (b"name = 'a'\rb", "TOML"),
        (b"name = 'a\x00'", "TOML"),
        (b" " * (2 << 20), "1 MiB"),
        (b"", "is missing"),
    ],
)
def test_bytes_that_are_no_sweep_are_a_spec_error(tmp_path: Path, data: bytes, part: str) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(data)
    with pytest.raises(SpecError) as caught:
        load_sweep(file)
    assert part in str(caught.value)
    assert str(caught.value).isprintable()


def test_bytes_that_are_not_utf8_have_their_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(b"name = 'a'\nx = '\xe4'\n")
    with pytest.raises(SpecError) as caught:
        load_sweep(file)
    assert (caught.value.line, caught.value.column) == (2, 6)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path, part in ((tmp_path / "none.toml", "no such file"), (tmp_path, "")):
        with pytest.raises(SpecError) as caught:
            load_sweep(path)
        assert part in str(caught.value)
    with pytest.raises(SpecError):
        load_sweep("a\0b.toml")


def test_a_syntax_error_has_line_column_and_the_nearest_place() -> None:
    text = HEAD + PAIR + 'num_assistant_tokens = [1, 3\n[[grid]]\nkind = "plain"\n'
    with pytest.raises(SpecError) as caught:
        parse_sweep(text)
    assert caught.value.line == 14
    assert caught.value.place.startswith("grid[0].num_assistant_tokens")
    assert "TOML" in caught.value.message


def test_windows_line_ends_give_the_same_lines() -> None:
    text = HEAD + PLAIN.replace("CPU", "cpu")
    assert check_text(text.replace("\n", "\r\n"), None) == check_text(text, None)


def test_half_a_character_in_a_text_is_a_fault() -> None:
    assert "half a character" in first('name = "\ud800"\n')


def test_a_path_with_backslashes_says_what_to_write() -> None:
    assert "/ in paths" in first('name = "a"\n[models]\nx = "C:\\models\\big"\n')


def test_missing_prompt_files_are_found_next_to_the_sweep(tmp_path: Path) -> None:
    text = HEAD.replace('"hello"', '{ file = "p.txt" }') + PLAIN
    assert [issue.place for issue in check_text(text, tmp_path)] == ["prompts.p.file"]
    (tmp_path / "p.txt").write_text("hello", encoding="utf-8")
    assert check_text(text, tmp_path) == []
    assert check_text(text, None) == []


def test_missing_models_are_found_only_when_asked_for(tmp_path: Path) -> None:
    assert check_text(HEAD + PLAIN, tmp_path) == []
    issues = check_text(HEAD + PLAIN, tmp_path, models=True)
    assert [(issue.place, issue.line) for issue in issues] == [("models.big", 3)]


def test_an_issue_without_a_line_gets_it_from_the_text() -> None:
    text = HEAD + PLAIN.replace("CPU", "cpu")
    (issue,) = check_text(text, None)
    bare = msgspec.structs.replace(issue, line=None, column=None)
    assert locate(bare, text) == issue
    deeper = msgspec.structs.replace(bare, place="grid[0].device[7].x")
    assert locate(deeper, text).line == issue.line


def test_the_error_survives_a_process_boundary() -> None:
    with pytest.raises(SpecError) as caught:
        parse_sweep(HEAD)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.issues == caught.value.issues


def test_rules_are_at_least_as_strict_as_the_types() -> None:
    """What the rules pass, the structs take: a document of every wrong type is stopped by a rule."""
    assert document_faults({"name": 1, "models": [], "prompts": 2, "grid": "x", "devices": 3, "protocol": 4})
