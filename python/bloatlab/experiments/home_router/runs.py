"""Groups of runs of the home router that differ only in their seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bloatlab.experiments.home_router.readings import of_run
from bloatlab.experiments.home_router.setup import router

if TYPE_CHECKING:
    from bloatlab.result import Result

VARIED = ("preset", "direction", "segments_per_buffer", "maxq", "queue", "cca")
"""Parameters that the questions compare; all others must be equal."""


@dataclass(frozen=True)
class Run:
    """A run with the numbers that the questions need."""

    parameters: Mapping[str, Any]
    readings: Mapping[str, float]
    flows: Mapping[str, Mapping[str, float]]
    links: Mapping[str, Mapping[str, float]]
    probes: Mapping[str, Mapping[str, float]]

    @property
    def router(self) -> str:
        """The reading of the assignment."""
        return router(self.parameters["direction"], self.parameters["segments_per_buffer"])


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed."""

    router: str
    maxq: int
    queue: str
    cca: str
    runs: tuple[Run, ...]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the first run; all others are equal."""
        return self.runs[0].parameters

    def values(self, read: Callable[[Run], float | None]) -> list[float]:
        """A number of each run that has it."""
        return [value for run in self.runs if (value := read(run)) is not None]

    def readings(self, name: str) -> list[float]:
        """A reading of each run that has it."""
        return self.values(lambda run: run.readings.get(name))

    def flow(self, flow: str, metric: str) -> list[float]:
        """A metric of a flow."""
        return self.values(lambda run: run.flows.get(flow, {}).get(metric))

    def link(self, link: str, metric: str) -> list[float]:
        """A metric of a link."""
        return self.values(lambda run: run.links.get(link, {}).get(metric))

    def probe(self, probe: str, metric: str) -> list[float]:
        """A metric of a probe."""
        return self.values(lambda run: run.probes.get(probe, {}).get(metric))


def groups(results: Sequence[Result]) -> list[Group]:
    """Groups the largest set of runs that are equal in all parameters that the questions do not compare.

    The groups are sorted by router, queue, congestion control and size; frequent queues and congestion controls come
    first.
    """
    families = Counter(_rest(result) for result in results)
    if not families:
        return []
    usual = families.most_common(1)[0][0]
    found: dict[tuple[str, int, str, str], list[Run]] = {}
    for result in results:
        if _rest(result) != usual:
            continue
        run = Run(result.parameters, of_run(result), result.flow_metrics, result.link_metrics, result.probe_metrics)
        key = (run.router, run.parameters["maxq"], name_of(run.parameters["queue"]), name_of(run.parameters["cca"]))
        found.setdefault(key, []).append(run)
    often = [Counter(key[place] for key in found) for place in (2, 3)]
    order = list(dict.fromkeys(key[0] for key in found))
    ordered = sorted(
        found, key=lambda key: (order.index(key[0]), -often[0][key[2]], key[2], -often[1][key[3]], key[3], key[1])
    )
    return [Group(*key, tuple(found[key])) for key in ordered]


def plain(found: Sequence[Group]) -> list[Group]:
    """The reference groups: those with a FIFO and the most frequent congestion control of each router."""
    fifo = [group for group in found if group.queue == "fifo"] or list(found)
    if not fifo:
        return []
    cca = Counter(group.cca for group in fifo).most_common(1)[0][0]
    queue = fifo[0].queue
    return [group for group in fifo if (group.queue, group.cca) == (queue, cca)]


def name_of(algorithm: Any) -> str:
    """Name of a queue or congestion control; a table with its parameters."""
    if not isinstance(algorithm, Mapping):
        return str(algorithm)
    rest = ", ".join(f"{name} {value}" for name, value in algorithm.items() if name != "kind")
    return f"{algorithm.get('kind', '')} ({rest})" if rest else str(algorithm.get("kind", ""))


def _rest(result: Result) -> str:
    rest = {name: value for name, value in result.parameters.items() if name not in VARIED}
    return json.dumps(rest, sort_keys=True)
