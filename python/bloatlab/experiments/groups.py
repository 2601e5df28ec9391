"""The groups in which the catalogue is listed."""

from __future__ import annotations

from collections.abc import Iterable

GROUPS: dict[str, tuple[str, ...]] = {
    "Reproduced systems": ("deep-buffers", "aqm-survey", "nr-rlc", "mmwave-aqm", "home-router"),
    "Queues": ("aqm-comparison",),
    "Tests of a connection": ("rrul", "rrul_be", "tcp_nup", "tcp_ndown", "responsiveness"),
    "Congestion controls": ("coexistence", "congestion-control-behaviour"),
    "CCPerf, a benchmark of congestion controls": (
        "cc-benchmark",
        "steady-state",
        "synchronous-fairness",
        "start-time-fairness",
        "rtt-fairness",
        "responsiveness-step",
        "responsiveness-pulse",
        "loss-resilience",
        "shallow-buffers",
        "deep-buffers-sweep",
        "replay-rate-trace",
        "random-walk",
    ),
    "Radio": ("nr-dynamic-buffers",),
    "RFC 7928, scenarios for queues": ("rfc7928-",),
}
"""Titles, and names of experiments or the beginning of their names, which ends with a hyphen."""
OTHERS = "Others"
"""Title for experiments of the user."""


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """The experiments of each group, in the order of the groups and then of the names given."""
    found: dict[str, list[str]] = {title: [] for title in (*GROUPS, OTHERS)}
    for name in names:
        found[_group_of(name)].append(name)
    return {title: members for title, members in found.items() if members}


def _group_of(name: str) -> str:
    for title, members in GROUPS.items():
        if any(name == member or (member.endswith("-") and name.startswith(member)) for member in members):
            return title
    return OTHERS
