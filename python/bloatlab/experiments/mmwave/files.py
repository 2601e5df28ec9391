"""Files in the form of the authors' commands: what ping, ss, tc and iperf3 printed, and the tables made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from bloatlab.experiments.mmwave import samples
from bloatlab.experiments.mmwave.setup import PING
from bloatlab.experiments.mmwave.traffic import BULK
from bloatlab.experiments.naming import safe
from bloatlab.experiments.prints import file_of, iperf, ping, ss, stamp, tc

if TYPE_CHECKING:
    from bloatlab.experiments.base import FileMaker
    from bloatlab.result import Result

SENDER, RECEIVER = "10.0.1.1", "10.0.3.1"
"""Addresses of the hosts."""
PORTS = 40000
"""The sender's port of a stream is this plus its number."""
TTL = 63
"""Time to live of a reply: one router is on the path."""


def name(scenario: str, queue: Any, number: int | str, mark: str) -> str:
    """The authors' EXPID, such as `sl-largefifo-1`.

    Args:
        scenario: The link scenario.
        queue: The queue as it was given.
        number: The run's seed, and its repetition if it has one.
        mark: Text that distinguishes a run with other settings; empty if there are none.
    """
    kind = queue.get("kind", "queue") if isinstance(queue, Mapping) else str(queue).split()[0].rpartition(":")[2]
    return "-".join(part for part in (scenario, safe(kind), mark, str(number)) if part)


def of_run(run: Result, expid: str) -> Mapping[str, FileMaker]:
    """The writer of each file, by name. Clients that fetch have no iperf3, and leave their fetches instead."""
    makers: dict[str, Callable[[Result], Iterator[str]]] = {
        "ping.txt": ping_text, "ss.txt": ss_text, "queue.txt": queue_text, "queue.csv": queue_csv, "ss.csv": ss_csv,
    }  # fmt: skip
    if run.parameters["traffic"] == BULK:
        makers |= {"iperf.txt": iperf_text, "iperf.csv": iperf_csv}
    else:
        makers["fetch.csv"] = fetch_csv
    return {f"{expid}-{what}": file_of(partial(lines, run)) for what, lines in makers.items()}


def ping_text(run: Result) -> Iterator[str]:
    """The lines of `ping -i 0.1`, each after the time at which it was read."""
    for time, line in ping.of_run(run, PING, host=RECEIVER, ttl=TTL):
        yield f"{stamp(time, 9)} - {line}".rstrip()


def ss_text(run: Result) -> Iterator[str]:
    """Two lines of `ss -eipn` per connection and sample, each after its time."""
    program = "iperf3" if run.parameters["traffic"] == BULK else "server"
    for time, one in samples.established(run):
        local, remote = f"{SENDER}:{PORTS + one.fd}", f"{RECEIVER}:{iperf.PORT}"
        for line in ss.lines(one, local=local, remote=remote, program=program):
            yield f"{stamp(time)} {line}"


def ss_csv(run: Result) -> Iterator[str]:
    """Timestamp, file descriptor, window (segments), sRTT (ms) of each connection at each sample."""
    for time, one in samples.established(run):
        yield f"{stamp(time)},{one.fd},{one.cwnd},{one.srtt_ms:g}"


def queue_text(run: Result) -> Iterator[str]:
    """The lines of `tc -p -s -d qdisc show`, joined without a separator: one line per sample, after its time."""
    leaf = tc.described(run.scenario["dumbbell"]["queue"])
    for time, counted in samples.queue(run):
        yield f"{stamp(time)} {''.join(tc.lines(leaf, counted))}"


def queue_csv(run: Result) -> Iterator[str]:
    """Timestamp, drops so far, backlog in bytes, backlog in packets at each sample."""
    for time, counted in samples.queue(run):
        yield f"{stamp(time)},{counted.drops},{counted.backlog_bytes},{counted.backlog_packets}"


def iperf_text(run: Result) -> Iterator[str]:
    """The lines of `iperf3 -f m -i 0.1`, each after its time."""
    found = list(samples.intervals(run))
    ports = {one.fd: PORTS + one.fd for one in (found[0] if found else ())}
    for time, line in iperf.lines(found, local=SENDER, host=RECEIVER, ports=ports):
        yield f"{stamp(time)} {line}"


def iperf_csv(run: Result) -> Iterator[str]:
    """File descriptor, start and end (s), throughput (Mbit/s), retransmissions of each stream in each interval."""
    for streams in samples.intervals(run):
        for one in streams:
            rate = iperf.number(one.mbps).strip()
            yield f"{one.fd},{one.start:.2f},{one.end:.2f},{rate},{one.retransmissions}"


def fetch_csv(run: Result) -> Iterator[str]:
    """Client, start and end (s), time (ms) of each complete page, segment or file."""
    for client, start, end in samples.fetches(run):
        yield f"{client},{start:.6f},{end:.6f},{1e3 * (end - start):.3f}"
