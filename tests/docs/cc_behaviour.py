"""The common scenario of the pages of congestion controls, and its figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

import bloatlab
from bloatlab import Result, units
from bloatlab.experiments.queues import bdp_packets
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import themed
from panels import lines, time

RATE = "20Mbit/s"
BASE_RTT = "40ms"
BASE_RTT_MS = units.duration(BASE_RTT) * 1e3
END_S = 60.0
JOINED = (25.0, 45.0)
DEPTH = 2
DESCRIPTION = f"""\
Every page shows the same 60 s on a bottleneck of 20 Mbit/s with a base RTT of 40 ms and a FIFO of {DEPTH} bandwidth-delay
products. The flow under test runs all the time. A CUBIC flow joins it from {JOINED[0]:g} to {JOINED[1]:g} s."""
QUEUES: Mapping[str, Any] = {
    f"fifo, {DEPTH} BDP": {"kind": "fifo", "limit": f"{bdp_packets(RATE, BASE_RTT, DEPTH)}p"},
    "fifo, 1/4 BDP": {"kind": "fifo", "limit": f"{bdp_packets(RATE, BASE_RTT, 0.25)}p"},
    "fq_codel": "fq_codel",
    "dualpi2, flows with ECN": "dualpi2",
}
"""The queues that the table of a page compares. The figure shows the first."""
COLOURS = {"under test": "#0072B2", "cubic": "#D55E00", "window": "#0072B2", "in flight": "#56B4E9"}


def run(kind: str, queue: str) -> Result:
    """The common scenario with this congestion control and one of `QUEUES`."""
    tcp = {"tcp": {"ecn": True}} if "ECN" in queue else {}
    start, stop = JOINED
    return bloatlab.run(
        {
            "name": kind,
            "duration": f"{END_S:g}s",
            "dumbbell": {"rate": RATE, "rtt": BASE_RTT, "queue": QUEUES[queue]},
            "flows": [
                {"name": "test", "cca": kind, **tcp},
                {"name": "cubic", "cca": "cubic", "start": f"{start:g}s", "stop": f"{stop:g}s", **tcp},
            ],
        }
    )


def series(result: Result) -> pl.DataFrame:
    """The samples of both flows."""
    return pl.DataFrame(result.flow_series).with_columns(pl.col("flow").cast(pl.String))


def figure(result: Result) -> Any:
    """Window and segments in flight, RTT, and both throughputs over time."""
    both = series(result)
    tested = both.filter(pl.col("flow") == "test")
    windows = tested.select("time_s", pl.col("cwnd").alias("window"), pl.col("in_flight").alias("in flight"))
    windows = windows.unpivot(index="time_s", variable_name="label", value_name="value")
    # A window that limits nothing, such as that of an algorithm that only paces, would hide what is in flight.
    if tested["cwnd"].max() > 20 * tested["in_flight"].max():  # type: ignore[operator]
        windows = windows.filter(pl.col("label") == "in flight")
    shown = [name for name in ("window", "in flight") if name in windows["label"].to_list()]
    rtts = tested.select("time_s", pl.col("srtt_ms").alias("value"), pl.lit("under test").alias("label"))
    rates = both.select(
        "time_s",
        pl.col("throughput_mbps").alias("value"),
        pl.col("flow").replace({"test": "under test"}).alias("label"),
    )
    x = time(END_S)
    panels = [
        lines(windows.drop_nulls(), "segments", {name: COLOURS[name] for name in shown}, x),
        lines(rtts.drop_nulls(), "sRTT (ms)", {"under test": COLOURS["under test"]}, x, height=80),
        lines(
            rates.drop_nulls(),
            "Mbit/s",
            {name: COLOURS[name] for name in ("under test", "cubic")},
            time(END_S, titled=True),
            height=80,
        ),
    ]
    return themed(vl.vconcat(*panels, spacing=10).resolve("scale", color="independent"))
