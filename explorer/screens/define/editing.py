"""What the form's keys do: ask where a value is needed, then change the text in one place."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from explorer.screens.define import textedit
from explorer.screens.define.dialogs import Ask, Choice, Confirm
from explorer.screens.define.fields import (
    EMULATED_NPU,
    KIND_NAMES,
    Field,
    axes_of,
    axis,
    parse,
    parse_list,
)
from explorer.screens.define.form import Row, shown
from explorer.screens.define.textedit import Change
from sweeps import paths
from sweeps.spec.keys import DEVICE_AXES, KINDS
from sweeps.spec.keys import NAME_AXES as MODEL_AXES
from sweeps.spec.model import DEMO_PREFIX

if TYPE_CHECKING:
    from explorer.screens.define.screen import DefineScreen


class FormEditor:
    """Carries out the wishes of the form on the screen's text."""

    def __init__(self, screen: DefineScreen) -> None:
        self._screen = screen

    @property
    def _content(self) -> dict[str, Any]:
        return self._screen.content or {}

    async def _ask(
        self,
        title: str,
        value: str = "",
        hint: str = "",
        choices: Sequence[Choice] = (),
        check: Callable[[str], object] | None = None,
    ) -> str | None:
        return await self._screen.app.push_screen_wait(Ask(title, value, hint, choices, check))

    def _do(self, *changes: Callable[[str], Change]) -> None:
        for change in changes:
            self._screen.toml.apply(change(self._screen.toml.text))

    async def choose(self, row: Row) -> None:
        """Enter on a row: edit its value."""
        if row.kind == "add":
            await self.add(row)
        elif row.kind == "grid":
            await self._kind(row)
        elif row.kind == "model":
            await self._model(row)
        elif row.kind == "prompt":
            await self._prompt(row)
        elif row.kind == "property":
            await self._property(row)
        elif row.kind == "axis" and row.field:
            field = row.field
            typed = await self._ask(
                row.label,
                "; ".join(row.chips) if any(":" in chip for chip in row.chips) else ", ".join(row.chips),
                f"{row.about}. Several values between commas.",
                self._choices(field, row),
                lambda text: parse_list(field, text),
            )
            if typed is not None:
                values = parse_list(field, typed)
                value = values[0] if len(values) == 1 and len(row.chips) < 2 else values
                self._do(lambda text: textedit.set_value(text, row.path, value))
                self._emulate(row.label, values)
        elif row.field and row.field.value in ("toggle", "choice"):
            self.toggle(row)
        elif row.field:
            await self._value(row, row.field)

    async def _value(self, row: Row, field: Field) -> None:
        choices = [Choice(choice) for choice in field.choices]
        typed = await self._ask(row.label, row.value, row.about, choices, lambda text: parse(field, text))
        if typed is not None:
            self._do(lambda text: textedit.set_value(text, row.path, parse(field, typed)))

    def _choices(self, field: Field, row: Row) -> list[Choice]:
        """What can be picked for an axis: models of the file with their facts, devices of the machine."""
        if field.name in MODEL_AXES:
            return [Choice(name, self._about(name, row)) for name in self._content.get("models", {})]
        if field.name in DEVICE_AXES:
            return self._devices()
        return [Choice(choice) for choice in field.choices]

    def _about(self, name: str, row: Row) -> str:
        """Facts of a model of this file; on a draft's axis first whether it is a pair with the target."""
        known = self._screen.known
        about = known.facts.get(name, "")
        if row.label != "draft" or len(row.path) < 2:
            return about
        targets = self._content["grid"][row.path[1]].get("target", "")
        target = str(targets[0] if isinstance(targets, list) and targets else targets)
        pair = known.pairs.get(target, {}).get(name, "")
        return f"{pair}; {about}" if pair else about

    @property
    def _npu_is_missing(self) -> bool:
        """Whether the machine is known to have no NPU."""
        return bool(self._screen.known.devices) and "NPU" not in self._screen.known.devices

    def _devices(self) -> list[Choice]:
        """The machine's devices, and the emulated NPU where there is none."""
        found = [Choice(name, "on this machine") for name in self._screen.known.devices or ("CPU",)]
        if self._npu_is_missing:
            found.append(Choice("NPU", "emulated: the NPU code path computing on the CPU"))
        return found

    def _emulate(self, name: str, values: Sequence[Any]) -> None:
        """A machine without an NPU gets the properties that run its code path on the CPU."""
        given = self._content.get("devices", {})
        if name in DEVICE_AXES and "NPU" in values and self._npu_is_missing and "NPU" not in given:
            self.emulate_npu()

    def emulate_npu(self) -> None:
        """Write the three properties into [devices.NPU]."""
        for key, value in EMULATED_NPU.items():
            self._do(partial(textedit.set_value, path=("devices", "NPU", key), value=value))
        self._screen.notify("[devices.NPU] now runs the NPU's code path on the CPU (emulated).")

    async def add(self, row: Row) -> None:
        """Add to the row's axis, or to the table it stands in."""
        head = row.path[:1]
        if row.kind == "axis" and row.field:
            field = row.field
            typed = await self._ask(
                f"{row.label}: add a value",
                "",
                row.about,
                self._choices(field, row),
                lambda t: parse(field, t),
            )
            if typed is not None:
                value = parse(field, typed)
                self._do(lambda text: textedit.add_item(text, row.path, value))
                self._emulate(row.label, [value])
        elif head == ("models",):
            await self._model(None)
        elif head == ("prompts",):
            await self._prompt(None)
        elif head == ("devices",):
            await self._property(None)
        elif row.kind in ("add", "grid") and len(row.path) == 2:
            await self._axis(int(row.path[1]))
        elif head == ("grid",):
            await self._grid()
        elif row.kind == "value":
            await self.choose(row)

    async def _axis(self, index: int) -> None:
        grid = self._content["grid"][index]
        free = [name for name in axes_of(str(grid.get("kind"))) if name not in grid]
        choices = [Choice(name, axis(name).about) for name in free]
        name = await self._ask(f"Grid {index + 1}: add an axis", "", "Pick one, or type its name.", choices)
        if not name:
            return
        path = ("grid", index, name.strip())
        field = axis(name.strip())
        row = Row("axis", path, field.name, about=field.about, field=field)
        typed = await self._ask(
            field.name, "", f"{field.about}. Several values between commas.", self._choices(field, row),
            lambda text: parse_list(field, text),
        )  # fmt: skip
        if typed is not None:
            self._do(lambda text: textedit.set_value(text, path, parse_list(field, typed)))
            self._emulate(field.name, parse_list(field, typed))

    async def _grid(self) -> None:
        abouts = {
            "plain": "a model alone: a baseline, or a draft by itself",
            "speculative": "a target with a draft",
            "prompt-lookup": "proposals copied from the text so far",
            "agreement": "how often the draft's choice is the target's, in one pass",
        }
        choices = [Choice(kind, abouts.get(kind, "")) for kind in KIND_NAMES]
        kind = await self._ask("Add a grid", "", "What kind of run?", choices, _one_of(KIND_NAMES))
        if kind is None:
            return
        models = list(self._content.get("models", {})) or ["target"]
        sample = {"model": models[0], "target": models[0], "draft": models[-1]}
        sample |= dict.fromkeys(DEVICE_AXES, "CPU")
        pairs: dict[str, Any] = {"kind": kind}
        for name in KINDS[kind].required:
            pairs[name] = sample.get(name, [3] if name == "num_assistant_tokens" else 3)
        if kind == "speculative":
            pairs["num_assistant_tokens"] = [1, 3, 5]
        self._do(lambda text: textedit.add_grid(text, pairs))

    async def _kind(self, row: Row) -> None:
        choices = [Choice(kind) for kind in KIND_NAMES]
        current = str(self._content["grid"][row.path[1]].get("kind", ""))
        kind = await self._ask(row.label, current, "The kind of its runs.", choices, _one_of(KIND_NAMES))
        if kind is not None and kind != current:
            self._do(lambda text: textedit.set_value(text, (*row.path, "kind"), kind))

    async def _model(self, row: Row | None) -> None:
        found = self._screen.models
        hint = "A folder with an OpenVINO IR, relative to the sweep file, or demo:NAME."
        current = row.value if row else ""
        folder = await self._ask(
            f"Model {row.label}" if row else "Add a model", current, hint, found, _filled
        )
        if folder is None:
            return
        if row is not None:
            self._do(lambda text: textedit.set_value(text, row.path, folder.strip()))
            return
        proposed = folder.strip().removeprefix(DEMO_PREFIX).replace("\\", "/").rstrip("/").rpartition("/")[2]
        name = await self._ask("Add a model", proposed, "Its name in this sweep.", (), _filled)
        if name is not None:
            self._do(lambda text: textedit.set_value(text, ("models", name.strip()), folder.strip()))

    async def _prompt(self, row: Row | None) -> None:
        bundled = sorted(path.stem for path in paths.bundled("prompts").glob("*.txt"))
        choices = [Choice(f"file {DEMO_PREFIX}{name}", "bundled") for name in bundled]
        hint = "The prompt's text; or `file PATH` for a text file beside the sweep file."
        name: str | None = row.label if row else await self._ask("Add a prompt", "", "Its name.", (), _filled)
        if name is None:
            return
        typed = await self._ask(f"Prompt {name}", row.value if row else "", hint, choices, _filled)
        if typed is None or (row is not None and typed == row.value):
            return
        file = typed.removeprefix("file ").strip() if typed.startswith("file ") else ""
        value: Any = {"file": file} if file else typed
        self._do(lambda text: textedit.set_value(text, ("prompts", name.strip()), value))

    async def _property(self, row: Row | None) -> None:
        if row is not None:
            path: tuple[str | int, ...] = row.path
        else:
            devices = [Choice(choice.value, choice.about) for choice in self._devices()]
            device = await self._ask("Add a device property", "", "Of which device?", devices, _filled)
            name = device and await self._ask(
                f"Property of {device}", "", "Such as PERFORMANCE_HINT.", (), _filled
            )
            if not device or not name:
                return
            path = ("devices", device.strip(), name.strip())
        hint = "A text, a number, true or false; handed to the device as it stands."
        typed = await self._ask(" ".join(map(str, path[1:])), row.value if row else "", hint, (), _filled)
        if typed is not None:
            self._do(lambda text: textedit.set_value(text, path, scalar(typed)))

    async def remove(self, row: Row, chip: int) -> None:
        """Take a value, or a whole table, away; a grid only after a question."""
        if row.kind == "axis":
            self._do(lambda text: textedit.remove_item(text, row.path, chip))
        elif row.kind == "grid":
            if await self._screen.app.push_screen_wait(Confirm(f"Remove {' '.join(row.label.split())}?")):
                self._do(lambda text: textedit.remove_grid(text, int(row.path[1])))
        elif row.kind != "add" and row.is_set:
            self._do(lambda text: textedit.unset(text, row.path))

    def toggle(self, row: Row) -> None:
        """The other of two, or the next of several."""
        if row.field is None:
            return
        if row.field.value == "toggle":
            value: Any = row.value != "true"
        else:
            choices = row.field.choices
            here = choices.index(row.value) if row.value in choices else -1
            value = choices[(here + 1) % len(choices)]
        self._do(lambda text: textedit.set_value(text, row.path, value))

    def duplicate(self, row: Row) -> None:
        """The grid of this row again, after itself."""
        self._do(lambda text: textedit.duplicate_grid(text, int(row.path[1])))


def scalar(typed: str) -> Any:
    """`3`, `true` and `"3"` as TOML reads them; everything else is a text."""
    try:
        value = tomllib.loads(f"k = {typed.strip()}")["k"]
    except tomllib.TOMLDecodeError:
        return typed.strip()
    return value if isinstance(value, str | int | float | bool) else typed.strip()


def _filled(text: str) -> None:
    if not text.strip():
        raise ValueError("this must not be empty")


def _one_of(words: Sequence[str]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if text not in words:
            raise ValueError(f"one of {shown(list(words))}")

    return check
