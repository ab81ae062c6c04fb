"""What an IR holds, read from its XML alone: nothing is compiled and no weight is loaded.

The XML is streamed (a 14 B model's is some 10 MB), so a folder is inspected in well under a second.
Quantized weights look alike in every exporter's output::

    Const(i4) -> Convert -> Multiply(scale) -> Reshape                       symmetric
    Const(u4) -> Convert -> Subtract(Convert(Const(u4) zero point)) -> Multiply(scale)   asymmetric

so zero points and scales are told from weights by where they are plugged in, not by their names.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import msgspec

INT4 = frozenset({"i4", "u4"})
INT8 = frozenset({"i8", "u8"})
FLOATS = frozenset({"f16", "bf16", "f32", "f64", "nf4", "f8e4m3", "f8e5m2", "f4e2m1"})
PER_CHANNEL = 0
"""The group size of weights that have one scale a row."""


class CensusError(Exception):
    """The XML is no readable IR. One line: what, and where in the file."""


class Census(msgspec.Struct, frozen=True):
    """Counts and sizes of one IR."""

    precisions: dict[str, int]
    """Element type -> number of constants, as the IR names them (`i4`, `u8`, `f16`, ...)."""
    parameters: int
    """Elements of all weights: quantized and floating-point constants without scales and zero points."""
    u4_weights: int
    u4_zero_points: int
    u4_grouped_zero_points: int
    """Of these, the ones with more than one group a row: what the NPU compiler dies of."""
    i4_weights: int
    int8_weights: int
    float_weights: int
    weight_elements: dict[str, int]
    """Elements held as `int4`, `int8` and `float`: small float tables do not make a float model."""
    group_sizes: dict[int, int]
    """Group size of int4 weights -> number of constants; 0 is one scale a row."""
    int4_rows: dict[int, int]
    """Length of the innermost dimension of int4 weights -> number of constants."""
    bin_bytes_needed: int
    """Length that the `.bin` must have for every constant to lie in it."""
    logits_width: int | None
    """Last dimension of the output `logits`: the vocabulary the model scores."""
    stateful: bool
    layers: int
    """Pairs of key and value states, 0 when the cache is not kept in states."""
    kv_elements_per_token: int
    """Numbers kept for each token of context, keys and values of all layers together."""
    inputs: tuple[str, ...]
    openvino_version: str | None
    """The release that wrote the IR, such as `2026.4.1`."""
    tokenizers_version: str | None
    """The openvino-tokenizers release, in tokenizer IRs only."""
    recipe: dict[str, str]
    """What the exporter wrote down of the compression: mode, ratio, group_size, backup_mode, ..."""


class _Constant(msgspec.Struct):
    type: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


class _Layer(msgspec.Struct):
    kind: str
    constant: _Constant | None = None


class _Scope:
    """One graph: the model's own, or the body of an If or a Loop (whose layer ids start anew)."""

    def __init__(self) -> None:
        self.layers: dict[str, _Layer] = {}
        self.edges: dict[tuple[str, str], str] = {}

    def source(self, layer: str, port: str) -> str | None:
        return self.edges.get((layer, port))

    def constant_behind(self, layer: str | None) -> str | None:
        """Id of the constant that feeds `layer`, straight or through one Convert."""
        if layer is None:
            return None
        node = self.layers[layer]
        if node.kind == "Convert":
            layer = self.source(layer, "0")
            node = self.layers[layer] if layer is not None else node
        return layer if node.constant is not None else None


class _Reader:
    """Takes the IR in element by element and adds up what `Census` reports."""

    def __init__(self) -> None:
        self.precisions: Counter[str] = Counter()
        self.weights: Counter[str] = Counter()
        self.groups: Counter[int] = Counter()
        self.rows: Counter[int] = Counter()
        self.elements: Counter[str] = Counter()
        self.zero_points = self.grouped_zero_points = 0
        self.needed = self.kv_states = self.kv_elements = 0
        self.logits: int | None = None
        self.result_width: int | None = None
        self.stateful = False
        self.inputs: list[str] = []
        self.info: dict[str, str] = {}
        self.scopes: list[_Scope] = []

    def layer(self, element: ET.Element) -> None:
        kind = element.get("type", "")
        data = element.find("data")
        attributes = data.attrib if data is not None else {}
        self.scopes[-1].layers[element.get("id", "")] = _Layer(kind, self._constant(kind, attributes))
        outer = len(self.scopes) == 1
        if kind == "Parameter" and outer:
            port = element.find("output/port")
            names = port.get("names") if port is not None else None
            self.inputs.append(names or element.get("name") or "?")
        elif kind in ("ReadValue", "Assign"):
            self.stateful = True
            if kind == "ReadValue":
                self._state(attributes)
        elif kind == "Result" and outer:
            self.result_width = _last_dimension(element.find("input/port")) or self.result_width
        for port in element.iterfind("output/port"):
            if outer and "logits" in (port.get("names") or "").split(","):
                self.logits = _last_dimension(port)

    def _constant(self, kind: str, data: dict[str, str]) -> _Constant | None:
        if kind != "Const":
            return None
        type_ = data.get("element_type", "?")
        self.precisions[type_] += 1
        self.needed = max(self.needed, int(data.get("offset", "0")) + int(data.get("size", "0")))
        return _Constant(type_, _dimensions(data.get("shape", "")))

    def _state(self, data: dict[str, str]) -> None:
        shape = [word.strip() for word in data.get("variable_shape", "").split(",")]
        # A key or value state is [batch, heads, tokens, head size] with batch and tokens open.
        if len(shape) == 4 and shape.count("?") == 2:
            self.kv_states += 1
            self.kv_elements += math.prod(int(word) for word in shape if word != "?")

    def close_graph(self) -> None:
        """The edges of a graph are complete: tell weights, zero points and scales apart."""
        scope = self.scopes.pop()
        helpers: set[str] = set()  # scales and zero points: constants, but no weights
        for id_, layer in scope.layers.items():
            if layer.kind == "Subtract":
                self._zero_point(scope, id_, helpers)
            elif layer.kind == "Multiply":
                self._scale(scope, id_, helpers)
        for id_, layer in scope.layers.items():
            if layer.constant is not None and id_ not in helpers:
                self._weight(layer.constant)

    def _zero_point(self, scope: _Scope, id_: str, helpers: set[str]) -> None:
        weight = scope.constant_behind(scope.source(id_, "0"))
        point = scope.constant_behind(scope.source(id_, "1"))
        if weight is None or point is None:
            return
        found, held = scope.layers[point].constant, scope.layers[weight].constant
        if found is None or held is None or held.type not in INT4 | INT8:
            return
        helpers.add(point)
        if found.type == "u4":
            self.zero_points += 1
            self.grouped_zero_points += len(held.shape) >= 3 and found.elements > held.shape[0]

    def _scale(self, scope: _Scope, id_: str, helpers: set[str]) -> None:
        source = scope.source(id_, "0")
        if source is not None and scope.layers[source].kind == "Subtract":
            source = scope.source(source, "0")
        weight, scale = scope.constant_behind(source), scope.constant_behind(scope.source(id_, "1"))
        if weight is None or scale is None:
            return
        held = scope.layers[weight].constant
        if held is not None and held.type in INT4 | INT8:
            helpers.add(scale)

    def _weight(self, constant: _Constant) -> None:
        if constant.type in INT4:
            family = "int4"
            self.weights[constant.type] += 1
            # [rows, groups, group size]; with one scale a row the weights stay [rows, columns].
            self.groups[constant.shape[-1] if len(constant.shape) >= 3 else PER_CHANNEL] += 1
            if constant.shape:
                self.rows[constant.shape[-1]] += 1
        elif constant.type in INT8 and len(constant.shape) >= 2:
            family = "int8"
            self.weights[family] += 1
        elif constant.type in FLOATS:
            family = "float"
            self.weights[family] += len(constant.shape) >= 2
        else:
            return
        self.elements[family] += constant.elements

    def census(self) -> Census:
        recipe = {
            key: self.info[f"weight_compression/{key}"]
            for key in ("mode", "ratio", "group_size", "backup_mode")
            if f"weight_compression/{key}" in self.info
        }
        recipe |= {
            key: self.info[key] for key in ("optimum_intel_version", "nncf_version") if key in self.info
        }
        return Census(
            precisions=dict(sorted(self.precisions.items())),
            parameters=self.elements.total(),
            u4_weights=self.weights["u4"],
            u4_zero_points=self.zero_points,
            u4_grouped_zero_points=self.grouped_zero_points,
            i4_weights=self.weights["i4"],
            int8_weights=self.weights["int8"],
            float_weights=self.weights["float"],
            weight_elements=dict(sorted(self.elements.items())),
            group_sizes=dict(sorted(self.groups.items())),
            int4_rows=dict(sorted(self.rows.items())),
            bin_bytes_needed=self.needed,
            logits_width=self.logits or self.result_width,
            stateful=self.stateful,
            layers=self.kv_states // 2,
            kv_elements_per_token=self.kv_elements,
            inputs=tuple(self.inputs),
            openvino_version=_release(self.info.get("Runtime_version") or self.info.get("OpenVINO Runtime")),
            tokenizers_version=_release(self.info.get("openvino_tokenizers_version")),
            recipe=recipe,
        )


def read(xml: Path) -> Census:
    """Count what the IR in `xml` holds. The `.bin` is not touched.

    Raises CensusError for a file that is no IR (cut short, empty, not XML), OSError when it cannot be read.
    """
    reader = _Reader()
    path: list[str] = []
    try:
        for event, element in ET.iterparse(xml, events=("start", "end")):
            if event == "start":
                path.append(element.tag)
                if element.tag == "layers":
                    reader.scopes.append(_Scope())
                continue
            path.pop()
            if element.tag == "layer":
                reader.layer(element)
                element.clear()
            elif element.tag == "edge":
                key = (element.get("to-layer", ""), element.get("to-port", ""))
                reader.scopes[-1].edges[key] = element.get("from-layer", "")
                element.clear()
            elif element.tag == "edges":
                reader.close_graph()
                element.clear()
            elif "rt_info" in path and "layers" not in path and "value" in element.attrib:
                name = element.get("name") if element.tag == "info" else element.tag
                value = element.get("value", "")
                reader.info[str(name)] = value
                reader.info[f"{path[-1]}/{name}"] = value
    except ET.ParseError as error:
        raise CensusError(f"{xml.name} is not a complete IR: {error}") from error
    except (ValueError, KeyError, IndexError) as error:
        raise CensusError(f"{xml.name} is not an OpenVINO IR: {error!r}") from error
    if not reader.precisions and not reader.inputs:
        raise CensusError(f"{xml.name} is not an OpenVINO IR: it holds no layers")
    return reader.census()


def _dimensions(shape: str) -> tuple[int, ...]:
    return tuple(int(word) for word in shape.split(",") if word.strip())


def _last_dimension(port: ET.Element | None) -> int | None:
    dimensions = port.findall("dim") if port is not None else []
    if not dimensions:
        return None
    width = int(dimensions[-1].text or "-1")
    return width if width > 0 else None


def _release(version: str | None) -> str | None:
    """`2026.4.1-22982-e213a147257-releases/2026/4` -> `2026.4.1`."""
    return version.split("-", 1)[0] if version else None
