"""Computes the metrics of the survey from those of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bloatlab.experiments.aqm_survey.setup import CCP, TCP
from bloatlab.experiments.claim import Metrics

LINK = "bottleneck"
MEASURES: Mapping[str, str] = {
    "leff": "%",
    "tcp_share": "%",
    "qlen": "packets",
    "fair": "%",
    "fair_tcp": "%",
    "fair_ccp": "%",
    "drop": "%",
    "drop_tcp": "%",
    "drop_ccp": "%",
}
TITLES: Mapping[str, str] = {
    "leff": "LEFF", "tcp_share": "TCP%", "qlen": "QLEN", "fair": "FAIR", "fair_tcp": "F_TCP", "fair_ccp": "F_CCP",
    "drop": "DROP", "drop_tcp": "D_TCP", "drop_ccp": "D_CCP",
}  # fmt: skip
"""Names in the source."""
HEADINGS: Mapping[str, str] = {name: title.replace("_", " ") for name, title in TITLES.items()}
"""Names in tables, whose headings are words."""


def measure(metrics: Metrics) -> dict[str, float]:
    """LEFF, TCP%, QLEN, FAIR and DROP; FAIR and DROP also for each class.

    All data packets have the same size, so received packets measure the throughput including headers. Metrics without a
    value are left out, such as those of a class without flows.
    """
    link = metrics["link_metrics"][LINK]
    flows = metrics["flow_metrics"]
    tcp = [flow for name, flow in flows.items() if name.partition("_")[0] == TCP]
    ccp = [flow for name, flow in flows.items() if name.partition("_")[0] == CCP]
    received = [[float(flow["rx_packets"]) for flow in group] for group in (tcp, ccp)]
    every = [*received[0], *received[1]]
    found = {
        "leff": 100 * float(link["utilization"]),
        "tcp_share": _percent(sum(received[0]), sum(every)),
        "qlen": float(link["mean_queue_length"]),
        "fair": jain(every),
        "fair_tcp": jain(received[0]),
        "fair_ccp": jain(received[1]),
        "drop": _percent(link["drops"], link["arrivals"]),
        "drop_tcp": _lost(tcp),
        "drop_ccp": _lost(ccp),
    }
    return {name: value for name, value in found.items() if value is not None}


def jain(rates: Sequence[float]) -> float | None:
    """Jain's index of fairness in percent (Jain, Chiu and Hawe 1984); `None` if no flow received anything."""
    squares = sum(rate * rate for rate in rates)
    return _percent(sum(rates) ** 2, len(rates) * squares)


def _lost(flows: Sequence[Mapping[str, float]]) -> float | None:
    """Share of a class's packets that the queue dropped, percent; all sent packets reach the queue at once."""
    dropped = sum(flow["dropped_aqm"] + flow["dropped_overflow"] for flow in flows)
    return _percent(dropped, sum(flow["tx_packets"] for flow in flows))


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None
