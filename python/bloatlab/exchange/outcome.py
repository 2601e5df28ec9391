"""Tables and metrics of a measurement, by the definitions that all engines share (`bloatlab.metrics`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from bloatlab.exchange.measurement import Flow, Measurement, Probe, Sample

if TYPE_CHECKING:
    import polars as pl

BINS_PER_OCTAVE = 128
"""A bin of the histogram of RTTs is at most 0.6 % wide."""
Values = dict[str, float]


def tables(of: Measurement) -> dict[str, pl.DataFrame]:
    """The tables of docs/architecture.md. Those of links are empty, because a tool at an end sees no link."""
    import polars as pl

    text, number = pl.String, pl.Float64
    flows = [
        (flow.name, flow.cca, "greedy" if flow.transport == "tcp" else "cbr", *flow.span, flow.base_rtt_ms, flow.mss)
        for flow in of.flows
    ]
    probes = [(probe.name, probe.interval_ms, probe.size) for probe in of.probes]
    echoes = [
        (one.sent_s + one.rtt_ms / 1e3, probe.name, one.rtt_ms, one.up_ms, one.down_ms)
        for probe in of.probes
        for one in probe.echoes
        if one.rtt_ms is not None
    ]
    columns = ("flow", "cca", "traffic", "start_s", "stop_s", "base_rtt_ms", "mss")
    types = (text, text, text, number, number, number, pl.UInt32)
    link_series = (
        "queue_packets",
        "queue_bytes",
        "sojourn_ms",
        "throughput_mbps",
        "utilization",
        "drops",
        "marks",
        "rate_mbps",
    )
    return {
        "flows": pl.DataFrame(flows, dict(zip(columns, types, strict=True)), orient="row"),
        "links": pl.DataFrame(schema={"link": text, "rate_mbps": number, "delay_ms": number, "queue": text}),
        "probes": pl.DataFrame(probes, {"probe": text, "interval_ms": number, "size": pl.Int64}, orient="row"),
        "flow_series": _flow_series(of.flows),
        "link_series": pl.DataFrame(
            schema={"time_s": number, "link": pl.Categorical, **dict.fromkeys(link_series, number)}
        ),
        "probe_series": pl.DataFrame(
            echoes,
            {"time_s": number, "probe": pl.Categorical, **dict.fromkeys(("rtt_ms", "up_ms", "down_ms"), number)},
            orient="row",
        ).sort("time_s", maintain_order=True),
        "histograms": _histograms(of.probes),
    }  # fmt: skip


def _flow_series(flows: Sequence[Flow]) -> pl.DataFrame:
    import polars as pl

    def segments(value: float | None, mss: int | None) -> float | None:
        return None if value is None or not mss else value / mss

    rows = [
        (
            one.end_s, flow.name, one.mbps, None, one.delivery_mbps, segments(one.cwnd_bytes, flow.mss),
            segments(one.ssthresh_bytes, flow.mss), segments(one.in_flight_bytes, flow.mss), one.srtt_ms,
            one.retransmissions, None,
        )
        for flow in flows
        for one in flow.samples
    ]  # fmt: skip
    values = (
        "throughput_mbps", "sending_rate_mbps", "delivery_rate_mbps", "cwnd", "ssthresh", "in_flight", "srtt_ms",
        "retransmissions", "sojourn_ms",
    )  # fmt: skip
    schema = {"time_s": pl.Float64, "flow": pl.Categorical, **dict.fromkeys(values, pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row").sort("time_s", maintain_order=True)


def _histograms(probes: Sequence[Probe]) -> pl.DataFrame:
    import polars as pl

    rows: list[tuple[str, str, str, float, float, float]] = []
    for probe in probes:
        counted = Counter(_bin(rtt) for rtt in rtts(probe))
        rows += (("probe", probe.name, "rtt", *edges, float(count)) for edges, count in sorted(counted.items()))
    types = {
        **dict.fromkeys(("scope", "name", "quantity"), pl.Categorical),
        **dict.fromkeys(("lower", "upper", "weight"), pl.Float64),
    }
    return pl.DataFrame(rows, types, orient="row")  # fmt: skip


def _bin(value: float) -> tuple[float, float]:
    """The bin of a positive value: an octave is divided into bins of equal width."""
    octave = 2.0 ** math.floor(math.log2(value))
    width = octave / BINS_PER_OCTAVE
    lower = octave + width * math.floor((value - octave) / width)
    return lower, lower + width


def rtts(probe: Probe) -> list[float]:
    """RTTs of the replies, ms."""
    return [one.rtt_ms for one in probe.echoes if one.rtt_ms is not None]


def metrics(of: Measurement) -> dict[str, dict[str, object]]:
    """The metrics that the data gives, in the form of `--json`."""
    flows = {flow.name: _of_flow(flow) for flow in of.flows}
    return {
        "flow_metrics": dict(flows),
        "link_metrics": {},
        "network_metrics": dict(_of_network(of.flows, flows)),
        "probe_metrics": {probe.name: _of_probe(probe) for probe in of.probes},
    }


def _of_flow(flow: Flow) -> Values:
    carried = [one for one in flow.samples if one.mbps is not None]
    found: Values = {}
    mean = flow.mean_mbps if flow.mean_mbps is not None else _over_time(carried, [one.mbps for one in carried])
    if mean is not None and flow.transport == "tcp":
        # What the application got has reached the transport.
        found |= {"mean_throughput_l4": mean, "mean_throughput_l7": mean}
    elif mean is not None:
        found["throughput"] = mean
    rates = [one.mbps for one in carried if one.mbps is not None]
    if len(rates) > 1 and fmean(rates) > 0:
        found["cov_throughput_l4"] = pstdev(rates) / fmean(rates)
    series = {"mean_srtt_l4": [one.srtt_ms for one in flow.samples]}
    if flow.mss:
        series["mean_cwnd_l4"] = [None if one.cwnd_bytes is None else one.cwnd_bytes / flow.mss for one in flow.samples]
    for name, values in series.items():
        if (over_time := _over_time(flow.samples, values)) is not None:
            found[name] = over_time
    sent_again = [one.retransmissions for one in flow.samples if one.retransmissions is not None]
    stated = {
        "total_retransmissions_l4": sent_again[-1] if sent_again else None,
        "loss_rate_l4": flow.loss_rate,
        "mean_jitter_l4": flow.jitter_ms,
    }
    return found | {name: value for name, value in stated.items() if value is not None}


def _over_time(samples: Sequence[Sample], values: Sequence[float | None]) -> float | None:
    """Mean over time of the values that are there."""
    pairs = [(one.end_s - one.start_s, value) for one, value in zip(samples, values, strict=True) if value is not None]
    time = math.fsum(length for length, _ in pairs)
    return math.fsum(length * value for length, value in pairs) / time if time > 0 else None


def _of_network(flows: Sequence[Flow], metrics: Mapping[str, Values]) -> Values:
    """Sums over flows, if all go in one direction: those of both directions do not share a bottleneck."""
    rates = [rate for flow in flows if (rate := metrics[flow.name].get("mean_throughput_l4")) is not None]
    if not rates or len({flow.direction for flow in flows}) > 1:
        return {}
    found = {"agg_throughput": math.fsum(rates)}
    if math.fsum(rates) > 0:
        found["jain_index"] = math.fsum(rates) ** 2 / (len(rates) * math.fsum(rate * rate for rate in rates))
        found["min_max_ratio"] = min(rates) / max(rates)
    waits = [wait for values in metrics.values() if (wait := values.get("mean_srtt_l4")) is not None]
    if waits:
        found["mean_srtt"] = fmean(waits)
    if all("total_retransmissions_l4" in values for values in metrics.values()):
        found["total_retransmissions"] = math.fsum(of["total_retransmissions_l4"] for of in metrics.values())
    return found


def _of_probe(probe: Probe) -> Values:
    times = sorted(rtts(probe))
    found: Values = {"transactions": float(len(times))}
    if probe.counts_losses:
        found["lost"] = float(len(probe.echoes) - len(times))
    if times:
        found |= {"mean_rtt": fmean(times), "max_rtt": times[-1]}
        found |= {f"p{share}_rtt": percentile(times, share) for share in (50, 95, 99)}
    return found


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of sorted values such that `share` percent of them are at most as large, as engines count."""
    return ordered[max(math.ceil(len(ordered) * share / 100), 1) - 1]


def unique(names: Iterable[str]) -> list[str]:
    """The names, with a number behind each that is taken already."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in range(2, 10_000))
        found.append(name if name not in found else next(one for one in numbered if one not in found))
    return found
