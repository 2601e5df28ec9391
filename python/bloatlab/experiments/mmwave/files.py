"""Files in the form of the authors' scripts: from tc, ss and iperf3."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.experiments.mmwave.setup import FLOW

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.experiments.base import FileMaker
    from bloatlab.result import Result

INTERVAL = 1.0
"""Seconds per line of iperf3."""


def name(scenario: str, queue: Any, seed: int, mark: str) -> str:
    """The authors' EXPID, such as `sl-largefifo-1`; the number is the seed.

    Args:
        scenario: The link scenario.
        queue: The queue as it was given.
        seed: The run's seed.
        mark: Text that distinguishes a run with other settings; empty if there are none.
    """
    kind = queue.get("kind", "queue") if isinstance(queue, Mapping) else str(queue).split()[0].rpartition(":")[2]
    said = re.sub(r"[^A-Za-z0-9_+.]", "_", str(kind))
    return "-".join(part for part in (scenario, said, mark, str(seed)) if part)


def of_run(run: Result, expid: str) -> Mapping[str, FileMaker]:
    """The writer of each file, by name."""

    def writing(table: str, columns: Callable[[pl.DataFrame], pl.DataFrame]) -> FileMaker:
        def write(path: Path) -> None:
            columns(run.table(table).to_polars()).write_csv(path)

        return write

    return {
        f"{expid}-queue.csv": writing("link_series", queue),
        f"{expid}-ss.csv": writing("flow_series", ss),
        f"{expid}-iperf.csv": writing("flow_series", iperf),
    }


def queue(series: pl.DataFrame) -> pl.DataFrame:
    """`tc -s` every 100 ms: `timestamp` (s), `drops` (so far), `backlog_bytes`, `backlog_packets`.

    Args:
        series: `link_series` of the run.
    """
    import polars as pl

    own = series.filter(pl.col("link").cast(pl.String) == "bottleneck").sort("time_s")
    return own.select(
        pl.col("time_s").round(3).alias("timestamp"),
        pl.col("drops").cum_sum().cast(pl.Int64),
        pl.col("queue_bytes").cast(pl.Int64).alias("backlog_bytes"),
        pl.col("queue_packets").cast(pl.Int64).alias("backlog_packets"),
    )


def connections(series: pl.DataFrame) -> pl.DataFrame:
    """Rows of the long flows in `flow_series`, sorted by time."""
    import polars as pl

    names = pl.col("flow").cast(pl.String)
    own = series.with_columns(names).filter((names == FLOW) | names.str.starts_with(f"{FLOW}_"))
    return own.sort("time_s", maintain_order=True)


def ss(series: pl.DataFrame) -> pl.DataFrame:
    """`ss` every 100 ms: `timestamp` (s), `flow`, `cwnd` (segments), `srtt` (ms; empty before the first sample).

    Args:
        series: `flow_series` of the run.
    """
    import polars as pl

    return connections(series).select(
        pl.col("time_s").round(3).alias("timestamp"),
        "flow",
        pl.col("cwnd").round().cast(pl.Int64),
        pl.col("srtt_ms").round(3).alias("srtt"),
    )


def iperf(series: pl.DataFrame) -> pl.DataFrame:
    """iperf3 every second: `flow`, `start`, `end` (s), `mbps` (payload received, Mbit/s), `retransmissions` (within).

    Args:
        series: `flow_series` of the run; its samples are means of the intervals before them.
    """
    import polars as pl

    second = ((pl.col("time_s") - 1e-6) / INTERVAL).floor()
    return (
        connections(series)
        .with_columns(second.alias("start") * INTERVAL, pl.col("retransmissions").cast(pl.Int64))
        .with_columns(
            # The totals up to this sample and up to the one before.
            (pl.col("retransmissions") - pl.col("retransmissions").shift(1, fill_value=0).over("flow")).alias("again")
        )
        .group_by("start", "flow", maintain_order=True)
        .agg(pl.col("throughput_mbps").mean().round(3).alias("mbps"), pl.col("again").sum(), pl.col("time_s").max())
        .select(
            "flow", "start", pl.col("time_s").round(3).alias("end"), "mbps", pl.col("again").alias("retransmissions")
        )
    )
