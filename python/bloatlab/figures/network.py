"""What the tables of a run say about the network, such as the reference lines of figures."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bloatlab.figures import palette, prepare
from bloatlab.figures.once import once

Tables = Mapping[str, pl.DataFrame]

# More lines than this cannot be distinguished. Then flows are drawn in groups.
MANY = 8

DATAGRAMS = "UDP"
"""In place of the congestion control of flows that have none."""

# IPv4 and TCP headers with timestamps, RFC 9293 section 3.1 and RFC 7323 section 3: MSS 1448 travels as 1500 bytes.
HEADERS = 52


def table(tables: Tables, name: str) -> pl.DataFrame:
    """The table of that name; an empty table if the run has none."""
    return tables.get(name, pl.DataFrame())


@dataclass(frozen=True)
class Path:
    """The bottleneck and the base RTT: where Kleinrock's operating point lies.

    Attributes:
        link: Name of the bottleneck.
        capacity_mbps: Its rate on the wire, Mbit/s; if it varies, the mean.
        base_rtt_ms: Lowest base RTT of the flows, ms.
        packet: Bytes of a full packet on the wire.
        links: The links that are the bottleneck: `link`, or all bearers of a cell in its direction, which divide its symbols.
    """

    link: str | None
    capacity_mbps: float | None
    base_rtt_ms: float | None
    packet: float
    links: tuple[str, ...] = ()

    @property
    def bdp_segments(self) -> float | None:
        """Bandwidth-delay product, segments."""
        if self.capacity_mbps is None or self.base_rtt_ms is None:
            return None
        return self.capacity_mbps * 1e3 * self.base_rtt_ms / 8 / self.packet


@once
def path(tables: Tables) -> Path:
    """Finds the base RTT and the bottleneck.

    The bottleneck is the slowest link that data crosses, among equal rates the one with the longest queue. A link whose
    rate varies counts with its mean. It is the bottleneck of the metrics of the network, too.
    """
    links, flows = table(tables, "links"), table(tables, "flows")
    crossed = flows["links"].explode().drop_nulls().unique().to_list() if "links" in flows.columns else []
    if crossed and "link" in links.columns:
        links = links.filter(pl.col("link").cast(pl.String).is_in(crossed))
    link = capacity = None
    if {"link", "rate_mbps"} <= set(links.columns):
        rates = zip(links["link"].to_list(), links["rate_mbps"].to_list(), strict=True)
        means = mean_rates(tables)
        finite = {
            name: means.get(name, float(rate)) for name, rate in rates if rate is not None and 0 < rate < math.inf
        }
        if finite:
            capacity = min(finite.values())
            slowest = [name for name, rate in finite.items() if rate == capacity]
            link = slowest[0] if len(slowest) == 1 else max(slowest, key=lambda name: _mean_queue(tables, name))
    base = prepare.low(flows["base_rtt_ms"]) if "base_rtt_ms" in flows.columns else 0.0
    mss = prepare.high(flows["mss"]) if "mss" in flows.columns else 0.0
    return Path(
        link=link,
        capacity_mbps=capacity,
        base_rtt_ms=base or None,
        packet=(mss or 1448) + HEADERS,
        links=_sharing(links, link),
    )


def _sharing(links: pl.DataFrame, link: str | None) -> tuple[str, ...]:
    """The link and those that share its symbols, if it is a bearer of a cell."""
    if link is None:
        return ()
    if "air" not in links.columns:
        return (link,)
    airs = dict(links.select(pl.col("link").cast(pl.String), "air").iter_rows())
    return tuple(name for name, air in airs.items() if name == link or (air is not None and air == airs[link]))


def mean_rates(tables: Tables) -> dict[str, float]:
    """Mean rate in Mbit/s of each link whose rate varies."""
    series = table(tables, "link_series")
    if not {"link", "rate_mbps"} <= set(series.columns):
        return {}
    varying = series.select(pl.col("link").cast(pl.String), pl.col("rate_mbps").cast(pl.Float64)).drop_nulls()
    return dict(varying.group_by("link", maintain_order=True).agg(pl.col("rate_mbps").mean()).iter_rows())


def varying_rate(tables: Tables, link: str | None) -> pl.DataFrame:
    """`time_s` and `rate_mbps` of a link whose rate varies; empty if it does not vary."""
    series = table(tables, "link_series")
    if link is None or not {"time_s", "link", "rate_mbps"} <= set(series.columns):
        return pl.DataFrame()
    mine = series.filter(pl.col("link").cast(pl.String) == link)
    return mine.select("time_s", pl.col("rate_mbps").cast(pl.Float64)).drop_nulls().sort("time_s")


def _mean_queue(tables: Tables, link: str) -> float:
    metrics = table(tables, "link_metrics")
    if not metrics.is_empty():
        mine = metrics.filter((pl.col("link") == link) & (pl.col("metric") == "mean_queue_length"))
        return prepare.mean(mine["value"]) if mine.height else 0.0
    series = table(tables, "link_series")
    if "queue_packets" not in series.columns:
        return 0.0
    return prepare.mean(series.filter(pl.col("link") == link)["queue_packets"])


def queueing_links(tables: Tables, at_most: int = 4) -> list[str]:
    """Links where packets waited, the longest mean queue first; the bottleneck if no packet waited."""
    series = table(tables, "link_series")
    if series.is_empty():
        return []
    waited = (
        series.group_by("link", maintain_order=True)
        .agg(pl.col("queue_packets").max().alias("top"), pl.col("queue_packets").mean().alias("mean"))
        .filter(pl.col("top") > 0)
        .sort("mean", descending=True, maintain_order=True)
    )
    names = waited["link"].to_list()
    # A link that queued a burst of ACKs once is not a bottleneck.
    if names:
        longest = float(waited["mean"][0])
        names = [name for name, mean in zip(names, waited["mean"], strict=True) if mean >= 0.02 * longest]
    return names[:at_most] or series["link"].unique(maintain_order=True).to_list()[:1]


def queue_limit_packets(tables: Tables, link: str) -> float | None:
    """The limit of a link's queue in packets; `None` if it has no such limit."""
    links = table(tables, "links")
    if "limit_packets" not in links.columns:
        return None
    known = links.filter(pl.col("link") == link)["limit_packets"].drop_nulls()
    return float(known[0]) if len(known) else None


@dataclass(frozen=True)
class Groups:
    """How flows are named and coloured in one run.

    Attributes:
        of_flow: Table of `flow` and its `label`.
        colours: Label to colour, in the order of the legend.
        grouped: Whether a label can mean several flows.
        flows: How many flows there are.
        by: What makes a group, if flows are grouped.
    """

    of_flow: pl.DataFrame
    colours: dict[str, str]
    grouped: bool
    flows: int
    by: str = ""

    @property
    def labels(self) -> list[str]:
        """Labels in the order of the legend."""
        return list(self.colours)

    @property
    def range(self) -> list[str]:
        """Colours in the order of the legend."""
        return list(self.colours.values())

    def only(self, flows: Collection[str]) -> "Groups":
        """The groups of these flows, each flow with a different label; colours do not change."""
        of_flow = self.of_flow.filter(pl.col("flow").is_in(list(flows)))
        colours = {label: self.colours[label] for label in of_flow["label"].to_list()}
        return Groups(of_flow, colours, self.grouped, of_flow.height, self.by)

    def label(self, series: pl.DataFrame) -> pl.DataFrame:
        """Add the column `label` to a table that has `flow`."""
        return series.with_columns(pl.col("flow").cast(pl.String)).join(
            self.of_flow, on="flow", how="inner", maintain_order="left"
        )


def _kinds(names: Sequence[str], ccas: Sequence[str]) -> tuple[list[str], str]:
    """The kind of each flow, and what makes a kind: the name that a scenario gives several flows, or the algorithm.

    A scenario names the flows of one entry `bulk_1`, `bulk_2` and so on.
    """
    stems = [re.sub(r"_\d+$", "", name) for name in names]
    several = len(set(ccas) - {DATAGRAMS}) > 1
    named = [
        f"{stem}, {cca}" if several and cca != DATAGRAMS and cca not in stem.lower() else stem
        for stem, cca in zip(stems, ccas, strict=True)
    ]
    # Names that only repeat the algorithms say less than these do.
    finer = len(set(named)) > len(set(ccas)) or DATAGRAMS in ccas
    if finer and len(set(stems)) > 1 and len(set(named)) <= MANY:
        return named, "name"
    if len(set(ccas)) <= MANY:
        return list(ccas), "congestion control"
    return ["all flows"] * len(names), ""


@once
def groups(tables: Tables) -> Groups:
    """Names and colours of the flows: one label per flow up to `MANY` flows, else one group per kind of flow."""
    flows = table(tables, "flows")
    if flows.is_empty():
        series = table(tables, "flow_series")
        found = series["flow"].cast(pl.String).unique(maintain_order=True).to_list() if "flow" in series.columns else []
        flows = pl.DataFrame({"flow": found, "cca": [None] * len(found)}, schema_overrides={"cca": pl.String})
    names = flows["flow"].cast(pl.String).to_list()
    ccas = [cca or DATAGRAMS for cca in (flows["cca"].to_list() if "cca" in flows.columns else [None] * len(names))]
    if len(names) > MANY:
        kinds, by = _kinds(names, ccas)
        counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        by_kind = palette.assign(counts)
        text = {kind: f"{kind} ({count} flow{'s' if count > 1 else ''})" for kind, count in counts.items()}
        labels = [text[kind] for kind in kinds]
        colours = {text[kind]: by_kind[kind] for kind in counts}
        return Groups(pl.DataFrame({"flow": names, "label": labels}), colours, True, len(names), by)
    labels = [
        name if cca == DATAGRAMS or cca in name.lower() else f"{name} ({cca})"
        for name, cca in zip(names, ccas, strict=True)
    ]
    # If each flow has another algorithm, a flow has the colour of its algorithm.
    distinct = len(set(ccas)) == len(ccas)
    if distinct:
        by_cca = palette.assign(ccas)
        colours = {label: by_cca[cca] for label, cca in zip(labels, ccas, strict=True)}
    else:
        colours = palette.in_order(labels)
    schema = {"flow": pl.String, "label": pl.String}
    return Groups(pl.DataFrame({"flow": names, "label": labels}, schema=schema), colours, False, len(names))


def through(flows: pl.DataFrame, links: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The flows whose data crosses one of the links, and the others. All flows, and no others, if that is not known."""
    none = flows.clear()
    if not links or "links" not in flows.columns or flows["links"].null_count():
        return flows, none
    crosses = pl.col("links").list.set_intersection(list(links)).list.len() > 0
    mine = flows.filter(crosses)
    return (mine, flows.filter(~crosses)) if mine.height else (flows, none)


@dataclass(frozen=True)
class Across:
    """The flows whose data crosses the bottleneck. Only their throughputs add up to its rate.

    Attributes:
        tables: The tables with these flows alone.
        groups: Their names and colours, which are those of `groups` of the whole run.
        path: The bottleneck, and the base RTT of these flows.
        others: How many flows of the run do not cross it.
    """

    tables: Tables
    groups: Groups
    path: Path
    others: int


@once
def across(tables: Tables) -> Across:
    """The flows whose data crosses the bottleneck; all flows if that is not known."""
    whole, found = groups(tables), path(tables)
    mine, others = through(table(tables, "flows"), found.links)
    if others.is_empty():
        return Across(tables, whole, found, 0)
    names = mine["flow"].cast(pl.String).to_list()
    series = table(tables, "flow_series")
    kept = {"flows": mine}
    if "flow" in series.columns:
        kept["flow_series"] = series.filter(pl.col("flow").cast(pl.String).is_in(names))
    own = {**tables, **kept}
    return Across(own, groups(own) if whole.grouped else whole.only(names), path(own), others.height)


def across_note(tables: Tables, said: str) -> str:
    """Says which flows a figure adds up, if the run also has flows that do not cross the bottleneck.

    Args:
        tables: The tables of the run.
        said: The beginning of the sentence, such as `The sum is over`.
    """
    found = across(tables)
    if not found.others:
        return ""
    mine, others = found.groups.flows, found.others
    link = "the bottleneck" if found.path.link == "bottleneck" else f"the bottleneck `{found.path.link}`"
    ours = f"the {mine} flows" if mine > 1 else "the only flow"
    theirs = f"{others} flows do" if others > 1 else "One flow does"
    return f"{said} {ours} whose data crosses {link}. {theirs} not cross it."


def has_samples(tables: Tables, *columns: str) -> bool:
    """Whether the flows' series have a value in at least one of these columns."""
    return prepare.has_values(table(tables, "flow_series"), *columns)


def has_pairs(tables: Tables, first: str, second: str) -> bool:
    """Whether a row of the flows' series has a value in both columns."""
    series = table(tables, "flow_series")
    return {first, second} <= set(series.columns) and not series.drop_nulls([first, second]).is_empty()


def grouping_note(tables: Tables) -> str:
    """Says that flows are drawn as groups; empty if each has its own line."""
    found = groups(tables)
    if not found.grouped:
        return ""
    per = f" per {found.by}" if len(found.labels) > 1 else ""
    return f"{found.flows} flows are drawn as one group{per}."
