"""The figures of home-router: what its runs differ in is the queue's limit."""

from bloatlab.figures import limits
from bloatlab.figures.charts.fetch_times import fetch_times
from bloatlab.figures.charts.limit_rtt import fit, limit_rtt
from bloatlab.figures.charts.limit_rtt import read as rtts
from bloatlab.figures.charts.limit_series import limit_series
from bloatlab.figures.charts.replications import read as curves
from bloatlab.figures.charts.replications import replications
from bloatlab.figures.figure import Figure
from bloatlab.figures.network import Tables


def _limits_left(tables: Tables) -> str:
    runs = limits.placed(tables)
    left = runs["limit"].n_unique() - limits.SIZES
    return f"Of {left + limits.SIZES} limits {limits.SIZES} are drawn." if left > 0 else ""


HOME_ROUTER = (
    Figure(
        "limit_series",
        "Window, queue and RTT over time by the queue's limit",
        "The long flow's congestion window, the packets in the router's queue and the RTT of the pings, the first run of "
        "each limit behind a FIFO. A row has one scale for all limits.",
        ("runs", "parameters", "flow_series", "link_series", "probe_series"),
        limit_series,
        lambda tables: limits.placed(tables).height > 0,
        of_runs=True,
        note=_limits_left,
    ),
    Figure(
        "fetch_times",
        "Times of fetches by the queue's limit",
        "Left, each fetch of the first run. Right, those of all runs: the box reaches from the first to the third quartile "
        "with the median across, its line to what lies within 1.5 of its heights; beside it the mean (dot) with one "
        "standard deviation to both sides, downwards to the fastest fetch at most.",
        ("runs", "parameters", "probe_series"),
        fetch_times,
        lambda tables: not limits.fetches(tables).is_empty(),
        of_runs=True,
        note=_limits_left,
    ),
    Figure(
        "limit_rtt",
        "RTT against the queue's limit",
        "A mark a run; solid lines are least squares over the means at each limit. Dashed: the base RTT and what that many "
        "full buffers take at the bottleneck's rate.",
        ("runs", "parameters", "probe_series"),
        limit_rtt,
        lambda tables: any(fit(part) for part in rtts(tables).partition_by("router")),
        of_runs=True,
    ),
    Figure(
        "replications",
        "RTT of re-runs over time",
        "Thin lines are runs that differ in their seed alone, each the mean of the pings of a second; the thick line is "
        "their mean, the band its 95 % confidence interval (Student's t).",
        ("runs", "parameters", "probe_series"),
        replications,
        lambda tables: not curves(tables).is_empty(),
        of_runs=True,
    ),
)
