"""What a search optimises unless the user says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bloatlab.analysis.bottleneck import Bottleneck
from bloatlab.analysis.front import Objective
from bloatlab.analysis.readings import Reading


def objectives_of(
    document: Mapping[str, Any], bottleneck: Bottleneck, read: Callable[[str], Reading]
) -> list[Objective]:
    """The default objectives: minimal delay of bulk flows and of a ping, and maximal throughput.

    A queue that separates flows keeps a ping short whatever the bulk flows wait. Therefore the delay of the bulk flows
    counts too: the 95th percentile of the sojourn times at the bottleneck, which are mostly those of bulk flows; of
    several links, that of the flow that waits longest.

    Args:
        document: The canonical scenario.
        bottleneck: The links whose queue is tuned.
        read: Reads the text of a metric.
    """
    links = bottleneck.links
    bulk = f"link.{links[0]}.p95_sojourn" if len(links) == 1 else "max:flow.p95_sojourn_l4"
    found = [Objective(read(bulk), True), Objective(read("network.agg_throughput"), False)]
    ping = next((flow for flow in document["flows"] if flow["traffic"]["kind"] == "ping"), None)
    if ping is not None:
        found.append(Objective(read(f"probe.{_probes(ping)}.p95_rtt"), True))
    return found


def _probes(ping: Mapping[str, Any]) -> str:
    """Pattern for the names of a ping flow's probes; a flow without a name matches all probes."""
    name = ping.get("name", "")
    return f"{name}*" if not name or ping["count"] > 1 else str(name)
