"""Programs as the traffic of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bloatlab import language


class Started(NamedTuple):
    """A flow whose traffic is a program."""

    path: str
    """Of its traffic in the document, such as `flows.0.traffic`."""
    kind: str
    """`iperf3`, `http` or `command`."""
    client: Sequence[str]
    """The client of a `command` with its arguments; else empty."""
    server: Sequence[str]
    """The server of a `command` with its arguments; empty if it has none."""


def programs(document: Mapping[str, Any]) -> Iterator[Started]:
    """The flows of a document that start programs, those that its timeline adds included."""
    kinds = frozenset(language.program_kinds())
    for path, flow in _flows(document):
        traffic = flow.get("traffic")
        kind = traffic.get("kind") if isinstance(traffic, Mapping) else traffic
        if kind in kinds:
            table = traffic if isinstance(traffic, Mapping) else {}
            client, server = _words(table.get("client")), _words(table.get("server"))
            yield Started(f"{path}.traffic", str(kind), client, server)


def _words(value: Any) -> tuple[str, ...]:
    """The words of a command. A value that is no list is refused later, by the check of the whole scenario."""
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def _flows(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    flows, timeline = document.get("flows"), document.get("timeline")
    if isinstance(flows, Sequence):
        yield from ((f"flows.{place}", flow) for place, flow in enumerate(flows) if isinstance(flow, Mapping))
    if isinstance(timeline, Sequence):
        for place, change in enumerate(timeline):
            value = change.get("value") if isinstance(change, Mapping) else None
            if isinstance(value, Mapping):
                yield f"timeline.{place}.value", value
