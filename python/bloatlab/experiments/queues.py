"""The queues of the registry that experiments compare, and how they get a limit or ECN."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bloatlab import language, units
from bloatlab.experiments import parameters as read

MTU = 1500
"""Bytes per packet, for queues with a limit in bytes."""
SMALLEST = 100
"""Smallest limit in packets of a scaled buffer: room for a few initial windows."""


@lru_cache(maxsize=4)
def _described(_engine_version: str) -> dict[str, dict[str, dict[str, Any]]]:
    """As `described`, cached for each engine."""
    queues = json.loads(language.algorithms())["queues"]
    return {queue["kind"]: {parameter["name"]: parameter for parameter in queue["parameters"]} for queue in queues}


def described() -> dict[str, dict[str, dict[str, Any]]]:
    """Kinds of the registry with their parameters by name."""
    return _described(language.version())


def comparable() -> list[str]:
    """Kinds that can be compared, in the order of the registry.

    Wrappers are left out, because they hold queues of the user's choice. Queues without a limit are left out, because
    with greedy flows their delay only depends on the length of the run. netem is left out, because it emulates a path.
    """
    return [
        kind
        for kind, parameters in described().items()
        if kind != "netem"
        and not any(parameter["type"].endswith("queue") for parameter in parameters.values())
        and _bounded(parameters)
    ]


def _bounded(parameters: Mapping[str, Mapping[str, Any]]) -> bool:
    return any("limit" in name for name in parameters)


def with_limit(queue: Any, limit: str | None) -> Any:
    """The queue with this limit, if its kind has a limit that the user's table or tc text does not set."""
    if read.is_tc(queue) and (limit is None or _says(queue, "limit", "latency")):
        return queue
    table = _table(queue)
    if table is None or "limit" in table:
        return queue
    parameter = described().get(table["kind"], {}).get("limit")
    return table if parameter is None else {**table, "limit": _in_its_unit(limit, parameter["type"])}


def _in_its_unit(limit: str | None, kind: str) -> Any:
    """A limit in the unit of the queue: some queues count only bytes, some only packets."""
    if limit is None or kind not in ("bytes", "integer") or not limit.endswith("p"):
        return limit
    packets = int(limit.removesuffix("p"))
    return packets if kind == "integer" else f"{packets * MTU}B"


def with_ecn(queue: Any, mode: str) -> Any:
    """The queue with marking switched on or off, if its kind has this parameter and the user does not set it.

    Some kinds have the parameter only together with others, such as sfq with RED. Without these the queue is not
    changed.
    """
    table = None if mode == "auto" else _table(queue)
    if table is None or "ecn" in table:
        return queue
    parameter = described().get(table["kind"], {}).get("ecn")
    if parameter is None or parameter["type"] != "boolean":
        return queue
    told = {**table, "ecn": mode == "on"}
    return told if is_accepted(told) else queue


def is_accepted(table: Mapping[str, Any]) -> bool:
    """Whether the engine accepts a queue."""
    try:
        language.queue(json.dumps(table))
    except ValueError:
        return False
    return True


def _table(queue: Any) -> dict[str, Any] | None:
    """The queue as a table of the parameters that the user chose; `None` for a user's own class."""
    if read.is_tc(queue):
        # The table has every parameter, also those that the text does not set.
        unsaid = {
            *(() if _says(queue, "limit", "latency") else ("limit",)),
            *(() if _says(queue, "ecn", "noecn") else ("ecn",)),
        }
        found = json.loads(language.queue(json.dumps(queue)))
        return {name: value for name, value in found.items() if name not in unsaid}
    if isinstance(queue, str) and ":" not in queue:
        return {"kind": queue}
    return dict(queue) if isinstance(queue, Mapping) else None


def _says(queue: str, *words: str) -> bool:
    return not set(words).isdisjoint(queue.split())


def bdp_packets(rate: str, rtt: str, times: float = 1) -> int:
    """`times` bandwidth-delay products in full packets, rounded up."""
    bits = times * units.rate(rate) * units.duration(rtt)
    return max(1, -int(-bits // (8 * MTU)))
