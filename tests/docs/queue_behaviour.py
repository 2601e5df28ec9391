"""The common scenario of the pages of queues, and its figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

import bloatlab
from bloatlab import Result, units
from bloatlab.experiments.queues import with_ecn
from bloatlab.figures import parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import WIDE, options, plot_width, themed
from panels import lines, time

RATE = "20Mbit/s"
BASE_RTT = "40ms"
BASE_RTT_MS = units.duration(BASE_RTT) * 1e3
END_S = 50.0
DESCRIPTION = """\
Every page shows the same 50 s on a bottleneck of 20 Mbit/s with a base RTT of 40 ms; the header of Ethernet counts. One
CUBIC flow runs all the time, and four more from 10 to 25 s. From 35 to 40 s, a UDP source sends 30 Mbit/s and does not
react to losses. A call (64 kbit/s, a packet of 160 bytes every 20 ms, DSCP EF) and a ping run all the time."""
COLOURS = {
    "queue": "#8C6D4F",
    "ping": "#CC79A7",
    "bulk": "#0072B2",
    "more": "#009E73",
    "burst": "#D55E00",
    "drops": "#D55E00",
    "marks": "#009E73",
}
GROUPS = ("bulk", "more", "burst")


def configuration(queue: Mapping[str, Any]) -> dict[str, Any]:
    """The queue with its defaults. A shaper gets the rate of the common bottleneck."""
    names = {parameter["name"] for parameter in queue["parameters"]}
    return {"kind": queue["kind"], **({"rate": RATE} if "rate" in names else {})}


def run(queue: Mapping[str, Any], *, ecn: bool = False) -> Result:
    """Runs the common scenario with this queue. With `ecn`, the flows use ECN, and so does the queue if it has the option."""
    tcp = {"tcp": {"ecn": True}} if ecn else {}
    settings = with_ecn(configuration(queue), "on" if ecn else "auto")
    # A shaper shapes only where the link behind it is faster.
    rate = "1Gbit/s" if "rate" in settings else RATE
    voice = {"kind": "cbr", "rate": "64kbit/s", "packet": "160B"}
    storm = {"kind": "cbr", "rate": "30Mbit/s", "packet": "1200B"}
    return bloatlab.run(
        {
            "name": queue["kind"],
            "duration": f"{END_S:g}s",
            "dumbbell": {"rate": rate, "rtt": BASE_RTT, "queue": settings, "header": 14},
            "flows": [
                {"name": "bulk", **tcp},
                {"name": "more", "count": 4, "start": "10s", "start_interval": "100ms", "stop": "25s", **tcp},
                {"name": "burst", "start": "35s", "stop": "40s", "traffic": storm},
                {"name": "call", "dscp": "EF", "traffic": voice},
                {"name": "ping", "traffic": {"kind": "ping", "interval": "50ms"}},
            ],
        }
    )


def figure(result: Result) -> Any:
    """Delay of the queue and of the ping, throughput by group, drops and marks, over time."""
    panels = [_delays(result), _throughputs(result), _events(result)]
    stacked = vl.vconcat(*(panel for panel in panels if panel is not None), spacing=10)
    return themed(stacked.resolve("scale", color="independent"))


def _delays(result: Result) -> Any:
    link = pl.DataFrame(result.link_series).filter(pl.col("link") == "bottleneck")
    queue = link.select("time_s", pl.col("sojourn_ms").alias("value"), pl.lit("queue (every packet)").alias("label"))
    pings = pl.DataFrame(result.probe_series).select(
        "time_s", (pl.col("rtt_ms") - BASE_RTT_MS).alias("value"), pl.lit("ping (a sparse flow)").alias("label")
    )
    both = pl.concat([queue, pings]).drop_nulls()
    # A target of 5 ms stays visible beside the half second of the burst.
    colours = {"queue (every packet)": COLOURS["queue"], "ping (a sparse flow)": COLOURS["ping"]}
    return lines(both, "delay (ms)", colours, time(END_S), scale="sqrt")


def _throughputs(result: Result) -> Any:
    rates = (
        pl.DataFrame(result.flow_series)
        .with_columns(pl.col("flow").cast(pl.String).str.split("_").list.first().alias("label"))
        .filter(pl.col("label").is_in(GROUPS))
        .group_by("time_s", "label", maintain_order=True)
        .agg(pl.col("throughput_mbps").sum().alias("value"))
    )
    return lines(rates, "Mbit/s", {group: COLOURS[group] for group in GROUPS}, time(END_S))


def _events(result: Result) -> Any:
    counts = (
        pl.DataFrame(result.link_series)
        .filter(pl.col("link") == "bottleneck")
        .unpivot(on=["drops", "marks"], index="time_s", variable_name="label", value_name="packets")
        .filter(pl.col("packets") > 0)
    )
    if counts.is_empty():
        return None
    kinds = [kind for kind in ("drops", "marks") if kind in counts["label"].to_list()]
    return (
        parts.drawn(prepare.values(counts), "rule", strokeWidth=1.5)
        .encode(
            x=time(END_S, titled=True),
            y=vl.field(
                "packets:Q", axis=options(title=f"{'/'.join(kinds)} in 0.1 s", tickCount=2), scale=options(type="sqrt")
            ),
            y2=vl.datum(0),
            color=parts.colour(kinds, [COLOURS[kind] for kind in kinds]),
        )
        .properties(width=plot_width(WIDE), height=55)
    )
