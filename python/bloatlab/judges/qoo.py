"""Quality of Outcome (QoO): how close a network comes to what an application needs (draft-ietf-ippm-qoo)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bloatlab.judges.base import Evidence, Input, Judge, Missing, Score

PREFIX = "qoo_"
"""Begin of the names of these judges; the name of the profile follows."""
VERSION = "draft-ietf-ippm-qoo, profiles of LibreQoS"


@dataclass(frozen=True)
class Requirement:
    """Two edges for one measured value."""

    optimal: float
    """From here downwards the application works as intended."""
    unacceptable: float
    """From here upwards it does not work."""

    def share(self, measured: float) -> float:
        """1 if optimal, 0 if unacceptable, linear in between."""
        span = self.unacceptable - self.optimal
        return min(1.0, max(0.0, 1.0 - (measured - self.optimal) / span))


@dataclass(frozen=True)
class Profile:
    """What an application needs."""

    name: str
    title: str
    latency_ms: Mapping[int, Requirement]
    """RTT by percentile."""
    loss_percent: Requirement
    """Mean loss of packets."""
    throughput_mbps: float = 0.0
    """With less than this, the score is 0; 0: any throughput is enough."""


PROFILES = tuple(
    Profile(name, title, {percentile: Requirement(50.0, slowest)}, Requirement(least, most))
    for name, title, percentile, slowest, least, most in (
        ("web", "web browsing", 90, 150.0, 0.5, 1.0),
        ("conference", "video conferencing", 95, 100.0, 0.1, 0.5),
        ("gaming", "real-time gaming", 95, 100.0, 0.5, 1.0),
        ("streaming", "video streaming", 95, 100.0, 0.1, 1.0),
    )
)
"""LibreQoS's profiles (qoo_profiles.json, schema 2). They state round trips, and no throughput."""


def qoo(
    profile: Profile, latency_ms: Mapping[int, float], loss_percent: float, throughput_mbps: float | None = None
) -> float:
    """The score from 0 (unacceptable) to 100 (optimal): the worst of the profile's requirements.

    Args:
        profile: What the application needs.
        latency_ms: Measured RTT by percentile; must have the profile's percentiles.
        loss_percent: Measured loss.
        throughput_mbps: Measured throughput. None: it is not judged.

    Raises:
        KeyError: A percentile of the profile was not measured.
    """
    if throughput_mbps is not None and throughput_mbps < profile.throughput_mbps:
        return 0.0
    shares = [requirement.share(latency_ms[at]) for at, requirement in profile.latency_ms.items()]
    return 100.0 * min(*shares, profile.loss_percent.share(loss_percent))


def _judge(profile: Profile) -> Judge:
    wanted = " and ".join(f"P{at}" for at in profile.latency_ms)
    edges = "; ".join(
        f"P{at} of the RTT {of.optimal:g} to {of.unacceptable:g} ms" for at, of in profile.latency_ms.items()
    )
    loss = profile.loss_percent

    def score(evidence: Evidence) -> Score | Missing:
        ping = evidence.ping
        if ping is None:
            return Missing('a ping (`traffic = "ping"`)')
        if ping.loss is None:
            return Missing("the interval of the ping, which is in the table `probes` of the run")
        if any(at not in ping.percentiles_ms for at in profile.latency_ms):
            return Missing(f"{wanted} of the RTT, which is in the table `histograms` of the run")
        found = qoo(profile, ping.percentiles_ms, 100 * ping.loss)
        inputs = [Input(f"P{at} RTT", ping.percentiles_ms[at], "ms") for at in profile.latency_ms]
        inputs.append(Input("loss", 100 * ping.loss, "%"))
        return Score(
            found, f"{found:.0f} of 100", tuple(inputs), f"round trips of {ping.called}, {ping.replies} replies"
        )

    return Judge(
        f"{PREFIX}{profile.name}", f"QoO, {profile.title}", VERSION, "of 100",
        f"100 is optimal, 0 unacceptable: {edges}; loss {loss.optimal:g} to {loss.unacceptable:g} %; the worse counts.",
        score,
    )  # fmt: skip


JUDGES = tuple(_judge(profile) for profile in PROFILES)
