"""Samples of the queue and of the connections, in the units of the authors' programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from bloatlab.experiments.mmwave.setup import BOTTLENECK, PING
from bloatlab.experiments.prints.iperf import Interval
from bloatlab.experiments.prints.ss import Connection
from bloatlab.experiments.prints.tc import Counters

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.result import Result

_INFINITE = 0xFFFF
"""Segments from which ss does not print ssthresh."""


def connections(series: pl.DataFrame) -> pl.DataFrame:
    """Rows of the TCP flows in `flow_series`, sorted by time."""
    import polars as pl

    names = pl.col("flow").cast(pl.String)
    return series.with_columns(names).filter(names != PING).sort("time_s", maintain_order=True)


def descriptors(run: Result) -> dict[str, int]:
    """The file descriptor of each flow's socket, as in iperf3: 5, 7, 9 and so on.

    iperf3 has two descriptors per stream. Those below 5 are standard streams and the connection that controls the test.
    """
    flows = run.flows.to_polars()["flow"].to_list()
    return {flow: 2 * place + 5 for place, flow in enumerate(flow for flow in flows if flow != PING)}


def fetches(run: Result) -> Iterator[tuple[str, float, float]]:
    """Client, start and end (s) of each fetch, sorted by its end."""
    series = run.probe_series.to_polars().sort("time_s", maintain_order=True)
    for probe, time, rtt in series.select("probe", "time_s", "rtt_ms").iter_rows():
        if probe != PING:
            yield probe, time - rtt / 1e3, time


def queue(run: Result) -> Iterator[tuple[float, Counters]]:
    """Time (s) and counters of the bottleneck's queue at each sample."""
    import polars as pl

    series = run.link_series.to_polars()
    own = series.filter(pl.col("link").cast(pl.String) == BOTTLENECK).sort("time_s")
    columns = ("time_s", "throughput_mbps", "drops", "marks", "queue_bytes", "queue_packets")
    rows = own.select(pl.col(column).fill_null(0.0) for column in columns).rows()
    size = _mean_size(run, rows)
    before = sent = drops = marks = 0.0
    for time, mbps, dropped, marked, held, packets in rows:
        sent += 1e6 * mbps * (time - before) / 8
        drops, marks, before = drops + dropped, marks + marked, time
        sent_packets = round(sent / size) if size else 0
        yield time, Counters(round(sent), sent_packets, round(drops), round(marks), round(held), round(packets))


def _mean_size(run: Result, rows: list[tuple[float, ...]]) -> float:
    """Mean bytes of a packet that was sent, from the totals of the run; 0 if there was none."""
    metrics = run.link_metrics.get(BOTTLENECK, {})
    packets = metrics.get("arrivals", 0.0) - metrics.get("drops", 0.0) - metrics.get("backlog_packets", 0.0)
    times = [0.0, *(row[0] for row in rows)]
    sent = sum(1e6 * row[1] * (row[0] - before) / 8 for before, row in zip(times, rows, strict=False))
    return sent / packets if packets > 0 else 0.0


def established(run: Result) -> Iterator[tuple[float, Connection]]:
    """Time (s) and state of each connection at each sample, once it has measured an RTT."""
    mss = dict(run.flows.to_polars().select("flow", "mss").iter_rows())
    cca = dict(run.flows.to_polars().select("flow", "cca").iter_rows())
    numbers = descriptors(run)
    columns = ("time_s", "flow", "cwnd", "srtt_ms", "ssthresh", "in_flight", "delivery_rate_mbps")
    rows = connections(run.flow_series.to_polars()).drop_nulls(["srtt_ms", "cwnd"]).select(columns).iter_rows()
    for time, flow, cwnd, srtt, ssthresh, in_flight, rate in rows:
        yield (
            time,
            Connection(
                fd=numbers[flow],
                cca=cca[flow],
                mss=mss[flow],
                cwnd=round(cwnd),
                srtt_ms=srtt,
                ssthresh=None if ssthresh is None or ssthresh >= _INFINITE else round(ssthresh),
                in_flight=round(in_flight or 0),
                delivery_mbps=rate,
            ),
        )


def intervals(run: Result) -> Iterator[list[Interval]]:
    """What each flow moved in each sample interval. The payload is what arrived."""
    mss = dict(run.flows.to_polars().select("flow", "mss").iter_rows())
    numbers = descriptors(run)
    columns = ("time_s", "flow", "throughput_mbps", "retransmissions", "cwnd")
    rows = connections(run.flow_series.to_polars()).select(columns).iter_rows()
    resent: dict[str, int] = {}
    start = 0.0
    for end, group in groupby(rows, key=lambda row: row[0]):
        found = []
        for _, flow, mbps, total, cwnd in group:
            before, now = resent.get(flow, 0), round(total or 0)
            resent[flow] = now
            size = 1e6 * (mbps or 0) * (end - start) / 8
            window = (cwnd or 0) * mss[flow]
            found.append(Interval(numbers[flow], start, end, size, mbps or 0.0, now - before, window))
        yield found
        start = end
