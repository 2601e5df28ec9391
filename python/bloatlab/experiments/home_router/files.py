"""Files in the form of the assignment's scripts: window, queue, pings and fetches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.experiments.home_router.readings import samples
from bloatlab.experiments.home_router.setup import BOTTLENECK, BULK, PAGE, PING
from bloatlab.experiments.prints import file_of, ping, stamp

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.experiments.base import FileMaker
    from bloatlab.result import Result

H2 = "10.0.0.2"
"""Address of the home computer in Mininet."""
TTL = 64
"""Time to live of a reply: the router is a switch."""


def name(own: Mapping[str, Any], number: int | str, mark: str) -> str:
    """Prefix of the names of a run's files, such as `col724-100-42`.

    Args:
        own: The parameters `preset` and `maxq`.
        number: The run's seed, and its repetition if it has one.
        mark: Text that distinguishes a run with other settings; empty if there are none.
    """
    return "-".join(part for part in (own["preset"], str(own["maxq"]), mark, str(number)) if part)


def of_run(run: Result, stem: str) -> Mapping[str, FileMaker]:
    """The writer of each file, by name."""

    def writing(make: Callable[[Result], pl.DataFrame]) -> FileMaker:
        return lambda path: _write(make(run), path)

    tables = {"cwnd": cwnd, "queue": queue, "ping": pings, "fetch": fetches}
    texts = {"q": queue_text, "ping": ping_text}
    return {
        **{f"{stem}-{what}.csv": writing(make) for what, make in tables.items()},
        **{f"{stem}-{what}.txt": file_of(partial(lines, run)) for what, lines in texts.items()},
    }


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_csv(path)


def cwnd(run: Result) -> pl.DataFrame:
    """`time` (s), `cwnd` (segments) of the long flow."""
    return _series(run.flow_series.to_polars(), "flow", BULK, "cwnd")


def queue(run: Result) -> pl.DataFrame:
    """`time` (s), `packets` in the router's queue."""
    return _series(run.link_series.to_polars(), "link", BOTTLENECK, "queue_packets").rename(
        {"queue_packets": "packets"}
    )


def pings(run: Result) -> pl.DataFrame:
    """`time` at which the answer came (s), `rtt` (ms)."""
    return _rows(run, PING, "rtt", 1.0)


def fetches(run: Result) -> pl.DataFrame:
    """`time` at which the page was complete (s), `seconds` that it took."""
    return _rows(run, PAGE, "seconds", 1e-3)


def queue_text(run: Result) -> Iterator[str]:
    """`q.txt` of the assignment: Unix time and packets in the router's queue."""
    for time, packets in queue(run).iter_rows():
        yield f"{stamp(time)},{packets:.0f}"


def ping_text(run: Result) -> Iterator[str]:
    """`ping.txt` of the assignment: what ping printed."""
    for _, line in ping.of_run(run, PING, host=H2, ttl=TTL, start_s=None):
        yield line


def _series(series: pl.DataFrame, column: str, entity: str, value: str) -> pl.DataFrame:
    import polars as pl

    own = series.filter(pl.col(column).cast(pl.String) == entity).sort("time_s")
    return own.select(pl.col("time_s").round(3).alias("time"), pl.col(value).round(3))


def _rows(run: Result, probe: str, value: str, scale: float) -> pl.DataFrame:
    import polars as pl

    rows = [(round(time, 3), round(scale * taken, 6)) for time, taken in samples(run, probe)]
    return pl.DataFrame(rows, schema={"time": pl.Float64, value: pl.Float64}, orient="row")
