"""The dumbbell of a cell, with hosts that are set as Linux sets its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.engines import DEFAULT
from bloatlab.experiments import parameters as read
from bloatlab.experiments import shared
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.queues import with_ecn

TCP: Mapping[str, Any] = {
    "mss": 1448,
    "quick_acks": 16,
    # CONFIG_HZ=1000.
    "ack_tick": "1ms",
    "sack_compression": "1ms",
    "send_buffer": "64MB",
    "receive_buffer": "32MiB",
    "receive_window": "growing",
    # Receivers of the references read when this much waits.
    "read_size": "64KiB",
    # One segment per buffer, so that limits in packets mean the same on both sides.
    "gso_max_segs": 1,
}
LINK_MBIT = 100_000
"""Rate of the simulator's link, whose queue is a class of HTB, as every link of the kernel is. HTB lets a packet go as a whole.
A link of 10 Mbit/s takes 1.2 ms to send it, so without HTB every RTT would be longer."""
PING = {"name": "ping", "traffic": {"kind": "ping", "interval": "20ms", "interval_spread": 0.1, "size": "84B"}}
WARMUP = 1 / 3
"""Metrics are over the rest of the run."""


class Parity(Experiment):
    """Bulk flows and a ping through one queue. It is no experiment of the catalogue: it asks about the simulator."""

    name = "parity"
    title = "Simulator and Linux"
    summary = "Bulk flows and a ping through one queue, by the simulator and by a Linux kernel."
    source = "bloatlab"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "queue", "fq_codel", "", allowed="a queue of Linux as tc writes it, such as `fq_codel limit 1000`",
            help="queue discipline of the bottleneck", read=read.algorithm("queues"),
        ),
        shared.cca("cubic"),
        shared.rate("10Mbit/s"),
        shared.rtt("20ms"),
        shared.count("flows", 4, "flows", "bulk flows", low=1, high=1000),
        Parameter(
            "ecn", "off", "", allowed="on, off", help="on: flows negotiate ECN, and queues that can mark do so",
            read=read.choice("on", "off"),
        ),
        Parameter(
            "loss", 0.0, "", allowed="from 0 to 0.5", help="probability that a packet of data is lost behind the queue",
            read=read.number(0, 0.5),
        ),
        Parameter(
            "duplicate", 0.0, "", allowed="from 0 to 0.5", help="probability that a packet of data arrives twice",
            read=read.number(0, 0.5),
        ),
        Parameter(
            "jitter", "0s", "s", allowed="0s to 2s", read=read.between(units.duration, "0s", "2s"),
            help="standard deviation of the forward delay; packets may overtake others",
        ),
        Parameter(
            "duration", "30s", "s", allowed=shared.A_DURATION, help="length of a run; metrics leave out the first third",
            read=read.duration,
        ),
    )  # fmt: skip

    def __init__(self, *, shaped: bool = False) -> None:
        """The dumbbell.

        Args:
            shaped: Whether its link is shaped by HTB in the scenario. The kernel shapes every link so.
        """
        self.shaped = shaped

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """A small grid of common queues, with one flow and with several."""
        return {
            "queue": ["pfifo limit 100", "codel", "fq_codel", "pie", "cake"],
            "rtt": ["20ms", "80ms"],
            "flows": [1, 4],
        }

    def for_engine(self, engine: str) -> Parity:
        """The dumbbell for the simulator or for a kernel."""
        return Parity(shaped=engine == DEFAULT)

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The flows start 0.1 s apart, each up to 50 ms later at random, so that seeds differ without a random queue."""
        bulk = {
            "count": params["flows"],
            "start_interval": "100ms",
            "start_jitter": "50ms",
            "cca": shared.as_in_linux(params["cca"]),
            "tcp": {**TCP, "ecn": params["ecn"] == "on"},
        }
        queue, rate = with_ecn(params["queue"], params["ecn"]), params["rate"]
        if self.shaped:
            queue = {"kind": "htb", "rate": rate, "burst": "1600B", "cburst": "1600B", "queue": queue}
            rate = f"{LINK_MBIT}Mbit/s"
        device = {"device_packets": shared.DEVICE_PACKETS} if self.shaped else {}
        return {
            "name": self.name,
            "duration": params["duration"],
            "warmup": f"{units.duration(params['duration']) * WARMUP:.9g}s",
            # A packet has the 14 bytes of Ethernet's header in Linux's queues.
            "dumbbell": {
                "rate": rate,
                "rtt": params["rtt"],
                "queue": queue,
                "header": 14,
                **device,
                **_impairments(params),
            },
            "flows": [bulk, PING],
        }


def _impairments(params: Mapping[str, Any]) -> dict[str, Any]:
    """What happens to packets of data behind the queue."""
    given: dict[str, Any] = {"loss": params["loss"]} if params["loss"] else {}
    impair: dict[str, Any] = {"duplicate": params["duplicate"]} if params["duplicate"] else {}
    if units.duration(params["jitter"]):
        impair["jitter"] = {"size": params["jitter"], "distribution": "normal", "reorder": True}
    return {**given, "impair": impair} if impair else given
