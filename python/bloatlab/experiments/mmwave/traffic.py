"""What crosses the link: the source's long flows, or users who load pages, watch videos and download files.

The authors name realistic traffic as their future work. The numbers here are ours: users of a link of 3 Gbit/s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.experiments import answering, criteria, phrases, quantities
from bloatlab.experiments.answering import Quantity
from bloatlab.experiments.criteria import Metrics
from bloatlab.experiments.mmwave.setup import FLOW

BULK = "bulk"
WEB, VIDEO, DOWNLOAD = "web", "video", "download"
PAGE, SEGMENT, FILE = 2_500_000, 25_000_000, 100_000_000
"""Bytes of a page with all its parts, of a second of video at 200 Mbit/s (8K or 360 degrees), and of a file."""
PLAYS_S = 1.0
"""Seconds that a segment of the video plays."""

CLIENTS: Mapping[str, Mapping[str, Any]] = {
    WEB: {"kind": "fetch", "response": f"{PAGE}B", "interval": "1s"},
    # A segment takes about 0.2 s, so the client asks for about one per second.
    VIDEO: {"kind": "fetch", "response": f"{SEGMENT}B", "interval": "800ms", "connection": "persistent"},
    DOWNLOAD: {"kind": "fetch", "response": f"{FILE}B", "interval": "1s"},
}
"""Traffic of a client by its name."""
KINDS: Mapping[str, tuple[str, ...]] = {
    BULK: (),
    "web": (WEB,),
    "video": (VIDEO,),
    "downloads": (DOWNLOAD,),
    "mixed": (WEB, VIDEO, DOWNLOAD),
}
"""The clients of each value of the parameter `traffic`."""
HELP = (
    "what crosses the link; `bulk`: long flows, as in the source; `web`: `flows` clients that load pages of 2.5 MB; `video`: "
    "clients that play segments of 25 MB per second (200 Mbit/s); `downloads`: clients that download files of 100 MB; "
    "`mixed`: the clients are shared evenly between these three"
)


def flows(kind: str, count: int, common: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The flows of this traffic, without the ping.

    Args:
        kind: A value of the parameter `traffic`.
        count: Number of long flows or clients.
        common: Keys of each flow.
    """
    clients = KINDS[kind]
    if not clients:
        # iperf3 starts all flows at once. A random millisecond makes runs with other seeds differ.
        return [{"name": FLOW, "count": count, **common, "start_jitter": "1ms"}]
    counts = {name: len(range(place, count, len(clients))) for place, name in enumerate(clients)}
    return [
        {"name": name, "count": of, **common, "traffic": dict(CLIENTS[name]), "start_jitter": "1s"}
        for name, of in counts.items()
        if of
    ]


def _worst(metrics: Metrics) -> float | None:
    """The longest time of a segment, ms."""
    return max(criteria.values(metrics, "probe", VIDEO, "max_rtt"), default=None)


def _sustained(metrics: Metrics) -> float | None:
    """The rate at which 95 % of the segments arrive, Mbit/s."""
    slow = criteria.mean_of("probe", VIDEO, "p95_rtt")(metrics)
    return 8e-3 * SEGMENT / slow if slow else None


def _stall(metrics: Metrics) -> float | None:
    """How much longer than it plays the slowest segment took, ms."""
    worst = _worst(metrics)
    return None if worst is None else max(0.0, worst - 1e3 * PLAYS_S)


@dataclass(frozen=True)
class Measure:
    """A number that users of such traffic care about."""

    title: str
    unit: str
    read: Callable[[Metrics], float | None]


MEASURES: Mapping[str, Measure] = {
    "page_p50": Measure("page load p50", "ms", criteria.mean_of("probe", WEB, "p50_rtt")),
    "page_p95": Measure("page load p95", "ms", criteria.mean_of("probe", WEB, "p95_rtt")),
    "video_rate": Measure("video rate p95", "Mbit/s", _sustained),
    "video_stall": Measure("longest stall", "ms", _stall),
    "download_p50": Measure("download p50", "ms", criteria.mean_of("probe", DOWNLOAD, "p50_rtt")),
    "download_p95": Measure("download p95", "ms", criteria.mean_of("probe", DOWNLOAD, "p95_rtt")),
}


def measured(metrics: Metrics) -> dict[str, float]:
    """The measures that a run has."""
    found = {name: one.read(metrics) for name, one in MEASURES.items()}
    return {name: value for name, value in found.items() if value is not None}


SAID: Mapping[str, tuple[Quantity, ...]] = {
    WEB: (quantities.page(WEB),),
    VIDEO: (
        Quantity("video rate that 95 % of the segments reach", _sustained, phrases.mbps),
        Quantity("longest stall of a video with one segment in its buffer", _stall, words=answering.WAIT),
    ),
    DOWNLOAD: (
        Quantity("median time of a download", criteria.mean_of("probe", DOWNLOAD, "p50_rtt"), words=answering.WAIT),
    ),
}
"""What the answer tells about each kind of client."""
