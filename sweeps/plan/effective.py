"""Which properties each side of a run is built with.

Target side, later ones win: the `[devices.X]` section of exactly its device string, the axes
`kv_cache_precision` and `inference_num_threads`, the axis `properties`, and `attention_backend`
(ATTENTION_BACKEND, which the library takes off before the device sees it).

Draft side: the section of its own device, and `inference_num_threads`. The other axes are about the target,
so that a row and its baseline differ in the draft alone.

`inference_num_threads` goes to a side only when its device is exactly `CPU`: other plugins have no such
property, and a virtual device gets what its own section says.
"""

from __future__ import annotations

from collections.abc import Mapping

from sweeps.plan.model import Config
from sweeps.spec.keys import PROPERTY_OF
from sweeps.spec.model import Scalar

Properties = dict[str, Scalar]
Sections = Mapping[str, Mapping[str, Scalar]]


def target_properties(config: Config, sections: Sections) -> Properties:
    """Effective properties of the target (or of the model that runs alone)."""
    found: Properties = dict(sections.get(config.target_device, {}))
    if config.kv_cache_precision is not None:
        found[PROPERTY_OF["kv_cache_precision"]] = config.kv_cache_precision
    found.update(_threads(config, config.target_device))
    found.update(config.properties)
    if config.attention_backend is not None:
        found[PROPERTY_OF["attention_backend"]] = config.attention_backend
    return found


def draft_properties(config: Config, sections: Sections) -> Properties:
    """Effective properties of the draft; empty when there is none."""
    if config.draft_device is None:
        return {}
    return {**sections.get(config.draft_device, {}), **_threads(config, config.draft_device)}


def takes_threads(device: str | None) -> bool:
    """Whether `inference_num_threads` has a meaning on a device."""
    return device == "CPU"


def _threads(config: Config, device: str) -> Properties:
    if config.inference_num_threads is None or not takes_threads(device):
        return {}
    return {PROPERTY_OF["inference_num_threads"]: config.inference_num_threads}
