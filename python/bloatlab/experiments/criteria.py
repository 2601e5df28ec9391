"""Criteria of rankings: each is one number of a run, read from its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

Metrics = Mapping[str, Any]
"""Metrics of one run in the form of `--json`."""
Better = Literal["lower", "higher"]
BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Criterion:
    """One number of a run by which contenders are ranked."""

    name: str
    title: str
    unit: str
    better: Better
    group: str
    """Each group of criteria has the same weight, unless the user weighs them."""
    formula: str
    read: Callable[[Metrics], float | None]
    """Returns the number, or `None` if the run has no such value."""
    minor: bool = False
    """Whether the terminal's table leaves it out, because it has no room for all."""
    share: bool = False
    """Whether it is a share of a whole, which people read in percent. Data has it between 0 and 1."""

    @property
    def shown_unit(self) -> str:
        """The unit for people."""
        return "%" if self.share else self.unit

    @property
    def heading(self) -> str:
        """The title with the unit for people."""
        return f"{self.title} ({self.shown_unit})" if self.shown_unit else self.title

    def shown(self, value: float | None) -> float | None:
        """A value in the unit for people."""
        return 100 * value if self.share and value is not None else value


def plane(criteria: Sequence[Criterion]) -> tuple[Criterion, Criterion] | None:
    """The delay and the throughput that contenders trade against each other; `None` if one of them is missing."""
    named = {one.name: one for one in criteria}
    found = plane_of((one.name, one.group) for one in criteria)
    return (named[found[0]], named[found[1]]) if found else None


def plane_of(criteria: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """As `plane`, of names and groups of criteria.

    The delay is the first 95th percentile of a group of delays, and the throughput the first criterion of its group.
    """
    known = list(criteria)
    delay = next((name for name, group in known if "delay" in group.split() and name.endswith("_p95")), None)
    throughput = next((name for name, group in known if group == "throughput"), None)
    return (delay, throughput) if delay and throughput else None


def _of(entities: Mapping[str, Mapping[str, float]], name: str) -> list[Mapping[str, float]]:
    """Metrics of the flows or probes of this name, one or `NAME_1`, `NAME_2`, ..."""
    return [values for entity, values in entities.items() if entity == name or entity.startswith(f"{name}_")]


def alike(names: Iterable[str]) -> dict[str, list[str]]:
    """Names in groups: `NAME_1`, `NAME_2`, ... of a flow with a count are one group `NAME`, others are a group each.

    Args:
        names: Names of flows, probes or links; each once.
    """
    stems: dict[str, list[str]] = {}
    every = list(names)
    for name in every:
        stem, _, number = name.rpartition("_")
        stems.setdefault(stem if stem and number.isdecimal() else name, []).append(name)
    found: dict[str, list[str]] = {}
    for stem, members in stems.items():
        # A user may call single flows `ping` and `ping_1`.
        counted = len(members) > 1 and stem not in members
        found |= {stem: members} if counted else {name: [name] for name in members}
    return found


def values(metrics: Metrics, scope: str, name: str, metric: str) -> list[float]:
    """One metric of all flows (or probes, or links) of this name that have it."""
    return [float(of[metric]) for of in _of(metrics.get(f"{scope}_metrics", {}), name) if metric in of]


def mean_of(scope: str, name: str, metric: str) -> Callable[[Metrics], float | None]:
    """Mean over the entities of this name."""

    def read(metrics: Metrics) -> float | None:
        found = values(metrics, scope, name, metric)
        return fmean(found) if found else None

    return read


def sum_of(scope: str, name: str, metric: str) -> Callable[[Metrics], float | None]:
    """Sum over the entities of this name."""

    def read(metrics: Metrics) -> float | None:
        found = values(metrics, scope, name, metric)
        return sum(found) if found else None

    return read


def jain(name: str) -> Callable[[Metrics], float | None]:
    """Jain's index of the goodputs of the flows of this name (Jain, Chiu and Hawe 1984)."""

    def read(metrics: Metrics) -> float | None:
        found = values(metrics, "flow", name, "mean_throughput_l7")
        squares = sum(value * value for value in found)
        return sum(found) ** 2 / (len(found) * squares) if len(found) > 1 and squares > 0 else None

    return read


def _those(flows: str) -> str:
    """Name of these flows in formulas; `flow` means all flows."""
    return "the flows" if flows == "flow" else f"the {flows} flows"


def delay(flows: str = "bulk", *, title: str = "queueing delay", group: str = "bulk delay") -> tuple[Criterion, ...]:
    """Queueing delay of long flows at the median and in the tail."""
    return tuple(
        Criterion(
            f"{flows}_delay_p{percentile}", f"{title} p{percentile}", "ms", "lower", group,
            f"mean over {_those(flows)} of p{percentile}_sojourn_l4",
            mean_of("flow", flows, f"p{percentile}_sojourn_l4"), percentile < 99,
        )
        for percentile in (50, 95, 99)
    )  # fmt: skip


def goodput(flows: str = "bulk", *, title: str = "goodput", group: str = "throughput") -> Criterion:
    """Total goodput of long flows."""
    formula = f"sum over {_those(flows)} of mean_throughput_l7"
    read = sum_of("flow", flows, "mean_throughput_l7")
    return Criterion(f"{flows}_goodput", title, "Mbit/s", "higher", group, formula, read)


def fairness(flows: str = "bulk", *, group: str = "fairness") -> Criterion:
    """Fairness between long flows."""
    formula = f"(sum x)^2 / (n sum x^2) over mean_throughput_l7 of {_those(flows)}"
    return Criterion(f"{flows}_fairness", "fairness (Jain)", "", "higher", group, formula, jain(flows))


def loss() -> Criterion:
    """Loss at the bottleneck."""
    read = mean_of("link", BOTTLENECK, "loss_rate")
    return Criterion(
        "loss", "loss at the bottleneck", "", "lower", "loss", "loss_rate of the bottleneck", read, share=True
    )


def utilization(*, group: str = "throughput") -> Criterion:
    """Utilization of the bottleneck, for flows that are not active at the same time."""
    read = mean_of("link", BOTTLENECK, "utilization")
    return Criterion(
        "utilization", "utilization", "", "higher", group, "utilization of the bottleneck", read, share=True
    )


def _of_loss_events(metric: str) -> Callable[[Metrics], float | None]:
    """A metric of the bottleneck's loss events; 0 if there were none."""

    def read(metrics: Metrics) -> float | None:
        link = metrics.get("link_metrics", {}).get(BOTTLENECK, {})
        return 0.0 if link.get("loss_events") == 0 else link.get(metric)

    return read


def synchronization() -> Criterion:
    """How many flows lose together (RFC 7928 section 2.4)."""
    read = _of_loss_events("loss_synchronization")
    formula = "loss_synchronization of the bottleneck; 0 where nothing was lost"
    return Criterion("synchronization", "loss synchronization", "", "lower", "loss", formula, read, share=True)


def loss_bursts() -> Criterion:
    """How many packets are lost together (RFC 7928 section 2.3)."""
    read = _of_loss_events("mean_loss_event_size")
    formula = "mean_loss_event_size of the bottleneck; 0 where nothing was lost"
    return Criterion("loss_bursts", "losses in an event", "packets", "lower", "loss", formula, read, minor=True)


def start_up(flows: str = "bulk") -> Criterion:
    """Time to the first byte (RFC 7928 section 2.2)."""
    read = mean_of("flow", flows, "flow_start_up_time_l4")
    formula = f"mean over {_those(flows)} of flow_start_up_time_l4"
    return Criterion(f"{flows}_start_up", f"start-up of {flows} flows", "ms", "lower", "start-up", formula, read)


def completion(flows: str, *, group: str = "completion") -> Criterion:
    """Completion time of finite flows (RFC 7928 section 2.1)."""
    read = mean_of("flow", flows, "flow_completion_time_l4")
    formula = f"mean over {_those(flows)} of flow_completion_time_l4"
    return Criterion(f"{flows}_completion", f"completion of {flows} flows", "s", "lower", group, formula, read)


def voip(flows: str = "voip", *, title: str = "VoIP", group: str = "sparse flows") -> tuple[Criterion, ...]:
    """One-way delay, jitter and loss of a call."""
    delays = tuple(
        Criterion(
            f"{flows}_delay_p{percentile}", f"{title} one-way delay p{percentile}", "ms", "lower", group,
            f"mean over {_those(flows)} of p{percentile}_one_way_delay_l4",
            mean_of("flow", flows, f"p{percentile}_one_way_delay_l4"), percentile < 99,
        )
        for percentile in (50, 95, 99)
    )  # fmt: skip
    jitter = Criterion(
        f"{flows}_jitter", f"{title} jitter", "ms", "lower", group,
        f"mean over {_those(flows)} of mean_jitter_l4", mean_of("flow", flows, "mean_jitter_l4"), minor=True,
    )  # fmt: skip
    lost = Criterion(
        f"{flows}_loss", f"{title} loss", "", "lower", group,
        f"mean over {_those(flows)} of loss_rate_l4", mean_of("flow", flows, "loss_rate_l4"), share=True,
    )  # fmt: skip
    return (*delays, jitter, lost)


def ping(*, group: str = "sparse flows") -> tuple[Criterion, ...]:
    """RTT of a ping at the median and in the tail."""
    return tuple(
        Criterion(
            f"ping_p{percentile}", f"ping RTT p{percentile}", "ms", "lower", group,
            f"p{percentile}_rtt of the ping", mean_of("probe", "ping", f"p{percentile}_rtt"), percentile < 99,
        )
        for percentile in (50, 95, 99)
    )  # fmt: skip


def web(*, group: str = "sparse flows") -> tuple[Criterion, ...]:
    """Time to fetch a page at the median and in the tail."""
    return tuple(
        Criterion(
            f"web_p{percentile}", f"page fetch p{percentile}", "ms", "lower", group,
            f"mean over the web clients of p{percentile}_rtt", mean_of("probe", "web", f"p{percentile}_rtt"), percentile < 99,
        )
        for percentile in (50, 95, 99)
    )  # fmt: skip
