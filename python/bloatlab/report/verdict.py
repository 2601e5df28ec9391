"""The verdict of a page in one sentence: the standing queue and the throughput."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.figures import network, prepare
from bloatlab.figures.sweep import Sweep, metrics_by_run, of_long_flows
from bloatlab.judges.base import Evidence
from bloatlab.judges.grade import MEANING, grade
from bloatlab.report import text

__all__ = [
    "MEANING",
    "Verdict",
    "carried_mbps",
    "grade",
    "label",
    "of_run",
    "of_sweep",
    "waiting",
]


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


def of_run(tables: network.Tables, metrics: pl.DataFrame, evidence: Evidence | None = None) -> Verdict:
    """Judges one run: the flows whose data crosses the bottleneck. Throughput of other flows is told apart.

    Args:
        tables: The tables of the run.
        metrics: Rows of the run in `metrics` of the store.
        evidence: What judges read of the run. Its ping counts where no flow measured an RTT.
    """
    of_links = metrics.filter(pl.col("scope") == "link").rename({"entity": "link"})
    path = network.path({**tables, "link_metrics": of_links})
    flows, others = network.through(network.table(tables, "flows"), path.links)
    every, metrics = metrics, _of_link(_of_flows(metrics, flows), path.link)
    found = metrics_by_run(metrics)
    row = found.row(0, named=True) if found.height else dict.fromkeys(found.columns)
    row["throughput_mbps"] = rate = _joint_mbps(metrics, flows)
    srtt = _mean_of_flows(metrics, "mean_srtt_l4")
    increase = standing_queue(metrics)
    lasted = _transfer_s(metrics, flows)
    numbers = _numbers(row, increase, path.link, whole=lasted is not None)
    if increase is None:
        ping = _of_ping(evidence or Evidence())
        if row["delay_ms"] is not None:
            at = "" if path.link in (None, "bottleneck") else f" of the link `{path.link}`"
            wait = text.with_unit(row["delay_ms"], "ms")
            waits = f"Packets wait {wait} in the queue{at} on average. No long flow measured an RTT."
            return replace(
                ping, sentence=" ".join(filter(None, [waits, ping.sentence])), numbers=[*numbers, *ping.numbers]
            )
        said = ping.sentence or "No RTT and no sojourn time was measured in this run."
        if rate is not None:
            said += f" {_who(flows)[:1].upper()}{_who(flows)[1:]} {text.with_unit(rate, 'Mbit/s', 4)}."
        return replace(ping, sentence=said, numbers=[*numbers, *ping.numbers])
    measured = _with_srtt(flows, metrics)
    # A base RTT is an estimate where the link's delay varies, and an sRTT can be shorter.
    sentence = f"A standing queue of {text.with_unit(increase, 'ms')}" if increase > 0 else "No standing queue"
    if srtt is not None:
        sentence += (
            f": the mean sRTT of {_named(measured)} is {text.with_unit(srtt, 'ms')} "
            f"{'over' if increase > 0 else 'with'} a base RTT of {text.with_unit(srtt - increase, 'ms')}"
        )
    sentence += "."
    if rate is not None:
        same = srtt is not None and measured.height == flows.height
        who = ("it carries" if flows.height == 1 else "they carry") if same else _who(flows)
        sentence += f" {who[:1].upper()}{who[1:]} {text.with_unit(rate, 'Mbit/s', 4)}"
        if path.capacity_mbps:
            share = text.percent(rate / path.capacity_mbps)
            sentence += f" of payload, {share} of the bottleneck's {text.with_unit(path.capacity_mbps, 'Mbit/s')}"
        if lasted is not None:
            sentence += f", during its transfer of {text.with_unit(lasted, 's')}"
        sentence += "."
    other_rate = carried_mbps(_of_flows(every, others), others) if others.height else None
    if other_rate is not None:
        where = "In the other direction" if _apart(flows, others) else "On other links"
        sentence += f" {where}, {_who(others)} {text.with_unit(other_rate, 'Mbit/s', 4)}."
    return Verdict(grade(increase), sentence, numbers)


def _of_ping(evidence: Evidence) -> Verdict:
    """The verdict from a ping, if no flow measured an RTT. Without load there is no grade."""
    ping, loaded = evidence.ping, evidence.loaded
    if ping is None:
        return Verdict("", "", [])
    tail = ping.percentiles_ms.get(95)
    name = "the ping" if ping.name == "ping" else f"the ping {ping.name}"
    numbers = [] if tail is None else [(f"RTT of {ping.name}, 95th percentile", text.with_unit(tail, "ms"))]
    if loaded is None:
        mean = text.with_unit(ping.mean_ms, "ms")
        more = "" if tail is None else f", and 95 % of its RTTs are at most {text.with_unit(tail, 'ms')}"
        return Verdict("", f"The mean RTT of {name} is {mean}{more}.", numbers)
    sentence = (
        f"Under load, the mean RTT of {name} is {text.with_unit(loaded.mean_ms, 'ms')}: "
        f"{text.with_unit(loaded.increase_ms, 'ms')} longer than {loaded.base} ({text.with_unit(loaded.base_ms, 'ms')})."
    )
    increase = (f"RTT increase of {ping.name} under load", text.with_unit(loaded.increase_ms, "ms"))
    return Verdict(grade(loaded.increase_ms), sentence, [increase, *numbers])


def _apart(flows: pl.DataFrame, others: pl.DataFrame) -> bool:
    """Whether the data of the others crosses none of the links that the data of the flows crosses."""
    mine, theirs = ({name for names in table["links"].to_list() for name in names} for table in (flows, others))
    return mine.isdisjoint(theirs)


def _of_link(metrics: pl.DataFrame, link: str | None) -> pl.DataFrame:
    """The metrics of this link, if it is known, and all metrics of other scopes."""
    return metrics if link is None else metrics.filter((pl.col("scope") != "link") | (pl.col("entity") == link))


def _with_srtt(flows: pl.DataFrame, metrics: pl.DataFrame) -> pl.DataFrame:
    """The long flows that measured an sRTT."""
    if "flow" not in flows.columns:
        return flows
    named = of_long_flows(metrics).filter(pl.col("metric") == "mean_srtt_l4")["entity"]
    return flows.filter(pl.col("flow").cast(pl.String).is_in(named.to_list()))


def _of_flows(metrics: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """The metrics of these flows, and all metrics of other scopes."""
    if "flow" not in flows.columns:
        return metrics
    names = flows["flow"].cast(pl.String).to_list()
    return metrics.filter((pl.col("scope") != "flow") | pl.col("entity").is_in(names))


def standing_queue(metrics: pl.DataFrame) -> float | None:
    """Mean over long flows of the mean sRTT minus propagation, ms."""
    return _mean_of_flows(metrics, "mean_est_qdelay_l4")


def waiting(metrics: pl.DataFrame) -> dict[str, float]:
    """Standing queue of each run in ms. Without an sRTT, the mean sojourn time of its long flows."""
    names = ("mean_est_qdelay_l4", "mean_sojourn_l4")
    of_flows = of_long_flows(metrics).filter(pl.col("metric").is_in(names))
    means = [pl.col("value").filter(pl.col("metric") == name).mean().alias(name) for name in names]
    found = of_flows.group_by("run_id", maintain_order=True).agg(means)
    return dict(found.select("run_id", pl.coalesce(names)).drop_nulls().iter_rows())


def _mean_of_flows(metrics: pl.DataFrame, name: str) -> float | None:
    values = of_long_flows(metrics).filter(pl.col("metric") == name)["value"]
    return prepare.mean(values) if len(values) else None


def _joint_mbps(metrics: pl.DataFrame, flows: pl.DataFrame) -> float | None:
    """Payload of the flows across the bottleneck, Mbit/s: the metric of the network, if it was measured."""
    measured = metrics.filter((pl.col("scope") == "network") & (pl.col("metric") == "agg_throughput"))["value"]
    return float(measured[0]) if len(measured) else carried_mbps(metrics, flows)


def _transfer_s(metrics: pl.DataFrame, flows: pl.DataFrame) -> float | None:
    """How long a single transfer took, s: its throughput is over this time, and the link's utilization over the run."""
    if flows.height != 1 or "traffic" not in flows.columns or flows["traffic"][0] != "finite":
        return None
    took = metrics.filter((pl.col("scope") == "flow") & (pl.col("metric") == "flow_completion_time_l4"))["value"]
    return float(took[0]) if len(took) else None


def carried_mbps(metrics: pl.DataFrame, flows: pl.DataFrame) -> float | None:
    """Payload of all flows over the length of the run, Mbit/s.

    The throughput of a flow is over its measured lifetime, so throughputs of flows with different lifetimes cannot be
    added.
    """
    rates = metrics.filter((pl.col("scope") == "flow") & (pl.col("metric") == "mean_throughput_l4"))
    if rates.is_empty():
        return None
    if not {"start_s", "stop_s"} <= set(flows.columns) or flows["stop_s"].null_count():
        return float(rates["value"].sum())
    took = metrics.filter((pl.col("scope") == "flow") & (pl.col("metric") == "flow_completion_time_l4"))
    finite = pl.col("traffic") == "finite" if "traffic" in flows.columns else pl.lit(False)
    lived = (
        flows.with_columns(entity=pl.col("flow").cast(pl.String), finite=finite)
        .join(rates.select("entity", rate="value"), on="entity")
        .join(took.select("entity", took="value"), on="entity", how="left")
        .with_columns(took=pl.min_horizontal("took", pl.col("stop_s") - pl.col("start_s")))
    )
    # Metrics leave the warm-up out: it is what an endless flow lacks of its planned time.
    endless = lived.filter(~pl.col("finite"))
    measured_from = max(prepare.low(lived["start_s"]), prepare.low(endless["stop_s"] - endless["took"]))
    length = prepare.high(lived["stop_s"]) - measured_from
    return float((lived["rate"] * lived["took"]).sum()) / length if length > 0 else None


def _named(flows: pl.DataFrame) -> str:
    """The flows by number and congestion control, such as `2 cubic flows and one UDP flow`."""
    ccas = flows["cca"].to_list() if "cca" in flows.columns else [None] * flows.height
    # Datagrams have no congestion control.
    kinds = ["UDP" if cca == "" else cca or "" for cca in ccas]
    tcp = [kind for kind in kinds if kind != "UDP"]
    known = dict.fromkeys(tcp) if len(set(tcp)) <= 3 else {"": None}
    parts = [(tcp.count(name) if name else len(tcp), name) for name in known]
    return phrases.listed(
        [
            f"{'one' if count == 1 else count} {name} flow{'' if count == 1 else 's'}".replace("  ", " ")
            for count, name in [*parts, (kinds.count("UDP"), "UDP")]
            if count
        ]
    )


def _who(flows: pl.DataFrame) -> str:
    return f"{_named(flows)} {'carries' if flows.height == 1 else 'carry'}"


def _numbers(
    row: Mapping[str, float | None], increase: float | None, link: str | None, *, whole: bool
) -> list[tuple[str, str]]:
    """The main numbers; `whole`: the utilization is told to be over the whole run."""
    at = f" at {link}" if link else ""
    found = [
        ("standing queue", text.with_unit(increase, "ms") if increase is not None else None),
        ("throughput", text.with_unit(row["throughput_mbps"], "Mbit/s", 4)),
        (f"link utilization{at}{' over the whole run' * whole}", text.percent(row["utilization"])),
        (f"sojourn of all packets{at}, 95th percentile", text.with_unit(row["delay_p95_ms"], "ms")),
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
        return Verdict("", f"{runs}{_pings(swept)}", [])
    best, worst = min(queues, key=queues.__getitem__), max(queues, key=queues.__getitem__)
    sentence = (
        f"{runs}: the standing queue ranges from {text.with_unit(queues[best], 'ms')} "
        f"(grade {grade(queues[best])}) with {label(swept, best)} to {text.with_unit(queues[worst], 'ms')} "
        f"(grade {grade(queues[worst])}) with {label(swept, worst)}."
    )
    lowest, highest = grade(queues[best]), grade(queues[worst])
    return Verdict(lowest if lowest == highest else f"{lowest} to {highest}", sentence, [])


def _pings(swept: Sweep) -> str:
    """The shortest and the longest tail of a ping's RTT, for runs whose flows measured no RTT."""
    known = swept.frame.drop_nulls("ping_p95_ms")
    if known.is_empty():
        return "; no RTT is stored for them."
    rows = known.sort("ping_p95_ms", maintain_order=True)
    ends = [
        f"{text.with_unit(rows['ping_p95_ms'][place], 'ms')} with {label(swept, rows['run_id'][place])}"
        for place in (0, -1)
    ]
    return f": no flow measured an RTT; the 95th percentile of a ping's RTT ranges from {ends[0]} to {ends[1]}."


def label(swept: Sweep, run_id: str) -> str:
    """A run by the parameters that tell it from others, such as `cubic at a buffer of 80 packets`."""
    row = _row(swept, run_id)
    seed = f"seed {row['seed']}" if swept.replications > 1 else ""
    return ", ".join(filter(None, (set_up(swept, run_id), seed))) or f"run {run_id}"


def set_up(swept: Sweep, run_id: str) -> str:
    """The parameters that tell the set-up of a run from others; empty if there is only one."""
    row, words = _row(swept, run_id), phrases.short(swept.telling)
    return phrases.together({words[name]: swept.value(row, name) for name in swept.telling})


def _row(swept: Sweep, run_id: str) -> dict[str, Any]:
    return swept.frame.row(by_predicate=pl.col("run_id") == run_id, named=True)
