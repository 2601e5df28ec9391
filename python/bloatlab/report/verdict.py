"""The verdict of a page in one sentence: the standing queue and the throughput."""

from dataclasses import dataclass

import polars as pl

from bloatlab.figures import network, prepare
from bloatlab.figures.sweep import Sweep, metrics_by_run
from bloatlab.report import text

# RTT increase under load, ms: the grades of the public bufferbloat tests.
GRADES = ((5.0, "A+"), (30.0, "A"), (60.0, "B"), (200.0, "C"), (400.0, "D"))
MEANING = "Grades by RTT increase: A+ below 5 ms, A below 30 ms, B below 60 ms, C below 200 ms, D below 400 ms, else F."


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run or a sweep.

    Attributes:
        grade: Grade by the increase of the RTT. Empty if no RTT was measured.
        sentence: The verdict with its numbers.
        numbers: Name and value of the main numbers.
    """

    grade: str
    sentence: str
    numbers: list[tuple[str, str]]


def grade(increase_ms: float | None) -> str:
    """The grade of an RTT increase in ms. Empty without a value."""
    if increase_ms is None:
        return ""
    return next((name for limit, name in GRADES if increase_ms < limit), "F")


def of_run(tables: network.Tables, metrics: pl.DataFrame) -> Verdict:
    """Judges one run: the flows whose data crosses the bottleneck. Throughput the other way is told apart.

    Args:
        tables: The tables of the run.
        metrics: Rows of the run in `metrics` of the store.
    """
    path = network.path(tables)
    flows, others = _through(network.table(tables, "flows"), path.link)
    every, metrics = metrics, _of_flows(metrics, flows)
    found = metrics_by_run(metrics)
    row = found.row(0, named=True) if found.height else dict.fromkeys(found.columns)
    row["throughput_mbps"] = rate = carried_mbps(metrics, flows)
    srtt = row["srtt_ms"]
    increase = standing_queue(metrics)
    if increase is None and row["delay_ms"] is None:
        return Verdict("", "No RTT and no sojourn time was measured in this run.", _numbers(row, None))
    if increase is None:
        sentence = (
            f"Packets wait {text.with_unit(row['delay_ms'], 'ms')} in the queue on average; no flow measured an RTT."
        )
        return Verdict("", sentence, _numbers(row, None))
    parts = [
        f"A standing queue of {text.with_unit(increase, 'ms')}: the mean sRTT is {text.with_unit(srtt, 'ms')}"
        + (f" over a base RTT of {text.with_unit(srtt - increase, 'ms')}" if srtt is not None else "")
    ]
    if rate is not None:
        carried = f"{_who(flows)} {text.with_unit(rate, 'Mbit/s', 4)}"
        if path.capacity_mbps:
            share = text.percent(rate / path.capacity_mbps)
            carried += f" of payload, {share} of the bottleneck's {text.with_unit(path.capacity_mbps, 'Mbit/s')}"
        parts.append(carried)
    sentence = " while ".join(parts) + "."
    other_rate = carried_mbps(_of_flows(every, others), others) if others.height else None
    if other_rate is not None:
        sentence += f" In the other direction, {_who(others)} {text.with_unit(other_rate, 'Mbit/s', 4)}."
    return Verdict(grade(increase), sentence, _numbers(row, increase))


def _through(flows: pl.DataFrame, link: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The flows whose data crosses a link, and the others. All flows, and no others, if that is not known."""
    none = flows.clear()
    if link is None or "links" not in flows.columns or flows["links"].null_count():
        return flows, none
    crosses = pl.col("links").list.contains(link)
    mine = flows.filter(crosses)
    return (mine, flows.filter(~crosses)) if mine.height else (flows, none)


def _of_flows(metrics: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """The metrics of these flows, and all metrics of other scopes."""
    if "flow" not in flows.columns:
        return metrics
    names = flows["flow"].cast(pl.String).to_list()
    return metrics.filter((pl.col("scope") != "flow") | pl.col("entity").is_in(names))


def standing_queue(metrics: pl.DataFrame) -> float | None:
    """Mean over flows of the mean sRTT minus propagation, ms."""
    return _mean_of_flows(metrics, "mean_est_qdelay_l4")


def waiting(metrics: pl.DataFrame) -> dict[str, float]:
    """Standing queue of each run in ms. Without an sRTT, the mean sojourn time of its flows."""
    names = ("mean_est_qdelay_l4", "mean_sojourn_l4")
    of_flows = metrics.filter((pl.col("scope") == "flow") & pl.col("metric").is_in(names))
    means = [pl.col("value").filter(pl.col("metric") == name).mean().alias(name) for name in names]
    found = of_flows.group_by("run_id", maintain_order=True).agg(means)
    return dict(found.select("run_id", pl.coalesce(names)).drop_nulls().iter_rows())


def _mean_of_flows(metrics: pl.DataFrame, name: str) -> float | None:
    values = metrics.filter((pl.col("scope") == "flow") & (pl.col("metric") == name))["value"]
    return prepare.mean(values) if len(values) else None


def carried_mbps(metrics: pl.DataFrame, flows: pl.DataFrame) -> float | None:
    """Payload of all flows over the length of the run, Mbit/s.

    The throughput of a flow is over its lifetime, so throughputs of flows with different lifetimes cannot be added.
    """
    rates = metrics.filter((pl.col("scope") == "flow") & (pl.col("metric") == "mean_throughput_l4"))
    if rates.is_empty():
        return None
    if not {"start_s", "stop_s"} <= set(flows.columns) or flows["stop_s"].null_count():
        return float(rates["value"].sum())
    length = prepare.high(flows["stop_s"]) - prepare.low(flows["start_s"])
    lived = flows.select(
        pl.col("flow").cast(pl.String).alias("entity"), (pl.col("stop_s") - pl.col("start_s")).alias("s")
    )
    joined = rates.join(lived, on="entity", how="left")
    return float((joined["value"] * joined["s"].fill_null(length)).sum()) / length if length > 0 else None


def _who(flows: pl.DataFrame) -> str:
    ccas = flows["cca"].drop_nulls().unique(maintain_order=True).to_list() if "cca" in flows.columns else []
    # Datagrams have no congestion control.
    names = "/".join(filter(None, ccas)) if len(ccas) <= 3 else ""
    if flows.height == 1:
        return f"one {names} flow carries".replace("  ", " ")
    return f"{flows.height} {names} flows carry".replace("  ", " ")


def _numbers(row: dict[str, float | None], increase: float | None) -> list[tuple[str, str]]:
    found = [
        ("standing queue", text.with_unit(increase, "ms") if increase is not None else None),
        ("throughput", text.with_unit(row["throughput_mbps"], "Mbit/s", 4)),
        ("link utilisation", text.percent(row["utilization"])),
        ("sojourn, 95th percentile", text.with_unit(row["delay_p95_ms"], "ms")),
        ("retransmissions", text.number(row["retransmissions"])),
    ]
    return [(name, value) for name, value in found if value is not None and not value.startswith(text.NONE)]


def of_sweep(swept: Sweep, queues: dict[str, float]) -> Verdict:
    """Judges many runs: the shortest and the longest standing queue, and the parameters of these runs.

    Args:
        swept: The runs.
        queues: Standing queue of each run, ms.
    """
    runs = text.plural(swept.frame.height, "run")
    if not queues:
        return Verdict("", f"{runs}; no RTT is stored for them.", [])
    best, worst = min(queues, key=queues.__getitem__), max(queues, key=queues.__getitem__)
    sentence = (
        f"{runs}: the standing queue ranges from {text.with_unit(queues[best], 'ms')} "
        f"(grade {grade(queues[best])}; {label(swept, best)}) to {text.with_unit(queues[worst], 'ms')} "
        f"(grade {grade(queues[worst])}; {label(swept, worst)})."
    )
    lowest, highest = grade(queues[best]), grade(queues[worst])
    return Verdict(lowest if lowest == highest else f"{lowest} to {highest}", sentence, [])


def label(swept: Sweep, run_id: str) -> str:
    """A run by the parameters that vary, such as `cca = cubic, qlen = 80p`."""
    row = swept.frame.row(by_predicate=pl.col("run_id") == run_id, named=True)
    names = [swept.coloured_by, *(axis.name for axis in swept.axes)]
    apart = [f"{name} = {row[name]}" for name in names if name]
    if swept.replications > 1:
        apart.append(f"seed {row['seed']}")
    return ", ".join(apart) or f"run {run_id}"
