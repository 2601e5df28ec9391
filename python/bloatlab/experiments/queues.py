"""What experiments ask of the registry of queues: which can be compared, and how one is given a limit or ECN."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bloatlab import language, units
from bloatlab.experiments import parameters as read

MTU = 1500
"""Bytes that a packet is taken for where a queue counts its limit in bytes."""
SMALLEST = 100
"""Packets below which no buffer is scaled: what remains must hold a few initial windows."""


@lru_cache(maxsize=4)
def _described(_engine_version: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Parameters by name of every kind; read once an engine, not once a run of a sweep."""
    queues = json.loads(language.algorithms())["queues"]
    return {queue["kind"]: {parameter["name"]: parameter for parameter in queue["parameters"]} for queue in queues}


def described() -> dict[str, dict[str, dict[str, Any]]]:
    """Kinds of the registry, each with its parameters by name."""
    return _described(language.version())


def comparable() -> list[str]:
    """Kinds that stand by themselves, in the registry's order.

    Left out are wrappers, which hold queues of the user's choice, and queues that bound nothing: with greedy flows
    their delay says how long the run was.
    """
    return [
        kind
        for kind, parameters in described().items()
        if not any(parameter["type"].endswith("queue") for parameter in parameters.values()) and _bounded(parameters)
    ]


def _bounded(parameters: Mapping[str, Mapping[str, Any]]) -> bool:
    return any("limit" in name for name in parameters)


def with_limit(queue: Any, limit: str | None) -> Any:
    """The queue with this limit, if its kind has one and the user's table or tc's words do not set it."""
    if read.is_tc(queue) and (limit is None or _says(queue, "limit", "latency")):
        return queue
    table = _table(queue)
    if table is None or "limit" in table:
        return queue
    parameter = described().get(table["kind"], {}).get("limit")
    return table if parameter is None else {**table, "limit": _in_its_unit(limit, parameter["type"])}


def _in_its_unit(limit: str | None, kind: str) -> Any:
    """A limit as a queue counts it: some count bytes alone, some packets alone."""
    if limit is None or kind not in ("bytes", "integer") or not limit.endswith("p"):
        return limit
    packets = int(limit.removesuffix("p"))
    return packets if kind == "integer" else f"{packets * MTU}B"


def with_ecn(queue: Any, mode: str) -> Any:
    """The queue told to mark (`on`) or not to (`off`), if its kind has the choice and the user does not make it.

    Some kinds have the choice only beside other parameters, as sfq with RED: without them they stay as they are.
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
    """Whether the engine takes a queue."""
    try:
        language.queue(json.dumps(table))
    except ValueError:
        return False
    return True


def _table(queue: Any) -> dict[str, Any] | None:
    """The queue as a table of what the user chose; `None`: a user's own class, which knows its parameters itself."""
    if read.is_tc(queue):
        # Every parameter is in it, also those that no word set.
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
    """So many bandwidth-delay products in full packets, rounded up."""
    bits = times * units.rate(rate) * units.duration(rtt)
    return max(1, -int(-bits // (8 * MTU)))
