"""The language of scenarios: its schema, its checks, its algorithms, its metrics and the plans of its documents.

It is always the extension module's, whichever engine runs a scenario (`bloatlab.engines`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab import _core
from bloatlab._core import (
    ScenarioError,
    algorithms,
    metric_definitions,
    program_kinds,
    queue,
    sysctl,
    tc,
)
from bloatlab._core import engine_version as version

__all__ = [
    "EXPECT",
    "EXPECTATION",
    "Box",
    "Change",
    "Delay",
    "Effect",
    "Flow",
    "Impairment",
    "Limit",
    "Link",
    "Plan",
    "ScenarioError",
    "algorithms",
    "metric_definitions",
    "normalise",
    "plan",
    "program_kinds",
    "queue",
    "schema",
    "stored_plan",
    "sysctl",
    "tc",
    "version",
]


EXPECT = "expect"
"""Key of a scenario for what its runs must achieve. Only `bloatlab check` reads it; it changes no run."""

_BOUND: dict[str, Any] = {"type": ["string", "number"]}
EXPECTATION: dict[str, Any] = {
    "type": "object",
    "description": "What a metric of every run must be, as `bloatlab check` judges it.",
    "additionalProperties": False,
    "required": ["metric"],
    "properties": {
        "metric": {
            "type": "string",
            "description": "The metric, such as `probe.ping.p95_rtt` or `link.*.mean_sojourn`. Every flow, link or probe "
            "that matches must hold. With `sum:`, `mean:`, `min:` or `max:` before it, one number is judged.",
        },
        "at_most": {**_BOUND, "description": "Upper bound with its unit, such as `30ms`."},
        "at_least": {**_BOUND, "description": "Lower bound with its unit, such as `9Mbit/s`."},
        "equals": {**_BOUND, "description": "Expected value, within `tolerance`."},
        "tolerance": {
            **_BOUND,
            "description": "Largest difference from `equals`: a quantity, or a percentage such as `5%`. Without it, the "
            "value must be exact.",
        },
        "statistic": {
            "type": "string",
            "enum": ["worst", "mean"],
            "default": "worst",
            "description": "Over the replications of a point: each must hold (`worst`), or their mean must.",
        },
        "where": {
            "type": "string",
            "description": "Condition on the parameters of a point, as in a plan. Other points are not judged.",
        },
        "name": {"type": "string", "minLength": 1, "description": "Name of the expectation in tables and JUnit files."},
    },
}
"""JSON Schema of an entry of `expect`."""


def schema() -> str:
    """The JSON Schema of a scenario document, with `expect`."""
    whole = json.loads(_core.schema())
    whole["$defs"]["Expectation"] = EXPECTATION
    whole["properties"][EXPECT] = {
        "type": "array",
        "items": {"$ref": "#/$defs/Expectation"},
        "description": "What the runs must achieve (`bloatlab check`). It changes no run.",
    }
    return json.dumps(whole, ensure_ascii=False)


def normalise(document: str) -> str:
    """The canonical form of a scenario, from which the identity of a run is computed. It has no `expect`.

    Args:
        document: The scenario as JSON.

    Raises:
        ScenarioError: The scenario is not valid; the text is `path: message`.
    """
    return _core.normalise(_without_expectations(document))


def _without_expectations(document: str) -> str:
    """The document as an engine reads it. Every document passes here or through a document that did."""
    if f'"{EXPECT}"' not in document:
        return document
    try:
        read = json.loads(document)
    except ValueError:
        return document  # The core says what is wrong with it.
    if not isinstance(read, dict) or EXPECT not in read:
        return document
    return json.dumps({key: value for key, value in read.items() if key != EXPECT})


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit of a queue; one of the three is set."""

    packets: int | None = None
    bytes: int | None = None
    """Bytes on the wire."""
    buffers: int | None = None
    """Buffers of several packets each."""


@dataclass(frozen=True, slots=True)
class Link:
    """A queue, a transmitter and propagation."""

    name: str
    queue_path: str | None
    """Path of the queue in the document, such as `boxes.3.queue`; `None`: the document cannot set this queue."""
    queue: Mapping[str, Any]
    """The queue discipline with its parameters, as in the document."""
    limit: Limit | None
    """The limit that the queue's parameters state; `None`: it has none, or derives it from the rate."""
    rate_bps: int
    """The constant rate in bit/s."""
    greatest_rate_bps: int | None
    """The greatest rate that the link can have, bit/s; `None`: only the contents of a file tell it."""
    rate_varies: bool
    delay_ns: int
    """Propagation, one way."""
    delay_varies: bool
    header: int
    """Bytes of link-layer header that the queue counts."""
    overhead: int
    """Bytes per packet that the link layer adds on the wire."""
    device_packets: int
    """Packets that the device holds behind the queue discipline."""
    air: str | None
    """For a bearer of a cell: the direction whose symbols it shares with the other bearers, `downlink` or `uplink`."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Holds packets for a time."""

    name: str
    delay_ns: int
    varies: bool
    """Whether the time varies, or differs from packet to packet."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """Drops, damages or duplicates packets."""

    name: str
    parameters: Mapping[str, Any]
    """The table of the box as in the document, with its `kind`."""


Box = Link | Delay | Impairment
"""Something that packets pass through."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow; a `count` in the document is expanded."""

    name: str
    start_ns: int
    """When it starts, without its random jitter."""
    stop_ns: int
    """When its application stops."""
    base_rtt_ns: int
    """Propagation both ways, without variations."""
    forward: tuple[str, ...]
    """Names of the boxes from the sender of data to its receiver."""
    reverse: tuple[str, ...]
    """Names of the boxes from the receiver back to the sender."""
    dscp: int
    """Differentiated services code point, 0 to 63."""
    traffic: str
    """Kind of its traffic."""
    cca: Mapping[str, Any]
    """The congestion control with its parameters, as in the document."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of a change. Only the values that its kind has are set."""

    kind: str
    """`rate`, `delay`, `queue` or `probability` of a box; `start` or `stop` of a flow."""
    name: str
    """Name of the box or flow."""
    rate_bps: int | None = None
    """The new rate of a link, bit/s."""
    delay_ns: int | None = None
    """The new propagation, one way."""
    queue: Mapping[str, Any] | None = None
    """The new queue discipline."""
    limit: Limit | None = None
    """The limit of the new queue."""
    probability: float | None = None
    """The new probability."""
    flow: Flow | None = None
    """The flow that is added."""
    stop_ns: int | None = None
    """When the application of the flow stops."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an entry of the timeline does."""

    at_ns: int
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled scenario: boxes, and flows whose paths are names of boxes."""

    name: str
    duration_ns: int
    warmup_ns: int
    """Metrics count from here on."""
    sample_interval_ns: int
    """Time between two samples of a series."""
    boxes: tuple[Box, ...]
    flows: tuple[Flow, ...]
    """The flows from the start of the run; those that the timeline adds are in `timeline`."""
    timeline: tuple[Change, ...]

    @property
    def links(self) -> dict[str, Link]:
        """The links by name."""
        return {box.name: box for box in self.boxes if isinstance(box, Link)}

    @property
    def queues(self) -> dict[str, Link]:
        """The links whose queue the document can set, by name."""
        return {name: link for name, link in self.links.items() if link.queue_path is not None}

    @property
    def every_flow(self) -> tuple[Flow, ...]:
        """The flows from the start of the run, and those that the timeline adds."""
        return (
            *self.flows,
            *(new for change in self.timeline for of in change.effects if (new := of.flow) is not None),
        )

    def across(self, link: str) -> list[str]:
        """Names of the flows whose data crosses a link.

        The bearers of a cell divide the symbols of their direction. So for a bearer, these are the flows across any bearer
        in its direction.

        Args:
            link: Name of the link.
        """
        air = self.links[link].air
        links = {name for name, other in self.links.items() if name == link or (air is not None and other.air == air)}
        return [flow.name for flow in self.every_flow if not links.isdisjoint(flow.forward)]

    @property
    def replaced_queues(self) -> frozenset[str]:
        """Names of the links whose queue changes during the run."""
        return frozenset(effect.name for change in self.timeline for effect in change.effects if effect.kind == "queue")


def plan(document: Mapping[str, Any] | str) -> Plan:
    """Compiles a scenario. The files that it names are not read, so they need not exist.

    Args:
        document: The scenario as a table or as JSON. Plugins in it are tables of kind `python`.

    Raises:
        ScenarioError: The scenario is not valid; the text is `path: message`.
    """
    read = json.loads(
        _core.plan(_without_expectations(document if isinstance(document, str) else json.dumps(document)))
    )
    return Plan(
        **read
        | {
            "boxes": tuple(_box(**box) for box in read["boxes"]),
            "flows": tuple(_flow(flow) for flow in read["flows"]),
            "timeline": tuple(
                Change(change["at_ns"], tuple(_effect(**effect) for effect in change["effects"]))
                for change in read["timeline"]
            ),
        }
    )


def stored_plan(document: Mapping[str, Any] | str) -> Plan | None:
    """The plan of a stored run. None if this version does not accept the document, as another version may have done."""
    try:
        return plan(document)
    except ScenarioError:
        return None


def _box(kind: str, limit: Mapping[str, int] | None = None, **values: Any) -> Box:
    if kind == "link":
        return Link(limit=_limit(limit), **values)
    return Delay(**values) if kind == "delay" else Impairment(**values)


def _limit(limit: Mapping[str, int] | None) -> Limit | None:
    return None if limit is None else Limit(**limit)


def _flow(flow: Mapping[str, Any]) -> Flow:
    return Flow(**{**flow, "forward": tuple(flow["forward"]), "reverse": tuple(flow["reverse"])})


def _effect(
    kind: str, limit: Mapping[str, int] | None = None, flow: Mapping[str, Any] | None = None, **values: Any
) -> Effect:
    if flow is not None:
        return Effect(kind, flow["name"], flow=_flow(flow))
    return Effect(kind, limit=_limit(limit), **values)
