"""All figures by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from altair.utils.schemapi import debug_mode

from bloatlab.figures import contenders, histogram, network, prepare, sweep
from bloatlab.figures import survey as surveyed
from bloatlab.figures.charts import cell, coexistence, survey
from bloatlab.figures.charts.comparison import comparison, held
from bloatlab.figures.charts.criteria import criteria
from bloatlab.figures.charts.delay_ranges import delay_ranges
from bloatlab.figures.charts.delay_throughput import delay_throughput
from bloatlab.figures.charts.descent import descent, queues
from bloatlab.figures.charts.ecdf import ecdf
from bloatlab.figures.charts.flow_sojourn import flow_sojourn, shown
from bloatlab.figures.charts.fronts import PANELS as FRONTS
from bloatlab.figures.charts.fronts import drawn_points, fronts
from bloatlab.figures.charts.goodput_delay import axes_of, goodput_delay
from bloatlab.figures.charts.goodput_ellipses import PANELS, goodput_ellipses, points, samples
from bloatlab.figures.charts.in_flight import in_flight
from bloatlab.figures.charts.operating_point import operating_point
from bloatlab.figures.charts.queue import queue
from bloatlab.figures.charts.queue_distribution import queue_distribution
from bloatlab.figures.charts.rtt_histogram import labelled, rtt_histogram
from bloatlab.figures.charts.scores import places, scores
from bloatlab.figures.charts.srtt_grid import left_out, placed, srtt_grid
from bloatlab.figures.charts.standings import drawn_criteria, standings
from bloatlab.figures.charts.time_series import time_series
from bloatlab.figures.network import Tables
from bloatlab.figures.theme import HALF, WIDE


@dataclass(frozen=True)
class Figure:
    """One figure of the registry.

    Attributes:
        name: What `bloatlab figure` calls it.
        title: Its heading.
        caption: What it shows, in a sentence or two.
        needs: Tables it is drawn from.
        function: The function from tables to a chart.
        when: Whether these tables hold what it shows.
        of_runs: It compares runs (tables of a store) instead of showing one.
        width: Its usual width, pixels.
        note: What was pooled or left out, for these tables; empty if nothing.
    """

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]
    function: Callable[..., Any]
    when: Callable[[Tables], bool]
    of_runs: bool = False
    width: int = WIDE
    note: Callable[[Tables], str] = lambda _: ""

    def draw(self, tables: Tables, *, width: int | None = None) -> Any:
        """Draw it, without Altair's check of each piece: the pieces are ours, and the checks cost half of the time."""
        with debug_mode(False):
            return self.function(tables, width=width or self.width)

    def applicable(self, tables: Tables) -> bool:
        """Whether the tables are there and hold what the figure shows."""
        return all(not network.table(tables, name).is_empty() for name in self.needs) and self.when(tables)


def _flows(*columns: str) -> Callable[[Tables], bool]:
    return lambda tables: prepare.has_values(network.table(tables, "flow_series"), *columns)


def _both(first: str, second: str) -> Callable[[Tables], bool]:
    def paired(tables: Tables) -> bool:
        series = network.table(tables, "flow_series")
        return {first, second} <= set(series.columns) and not series.drop_nulls([first, second]).is_empty()

    return paired


def _histogram(quantity: str, scope: str) -> Callable[[Tables], bool]:
    def held_there(tables: Tables) -> bool:
        return not histogram.of_quantity(tables, quantity, scope).is_empty()

    return held_there


def _several_runs(tables: Tables) -> bool:
    return sweep.read(tables).frame.height > 1


def _pooled(tables: Tables) -> str:
    groups = network.groups(tables)
    if not groups.grouped:
        return ""
    return f"{groups.flows} flows are drawn together, one group a congestion control."


def _bands(tables: Tables) -> str:
    pooled = _pooled(tables)
    return (
        f"{pooled} Lines are medians across flows, bands reach from the 5th to the 95th percentile." if pooled else ""
    )


def _means(tables: Tables) -> str:
    if network.groups(tables).grouped:
        return "Each dot is the mean of one flow; the star is the fair share, the diamond the mean of the flows."
    return "Dots are samples."


def _links(tables: Tables) -> str:
    shown = len(network.queueing_links(tables))
    everything = network.table(tables, "link_series")["link"].n_unique()
    return f"{shown} of {everything} links are shown: those with the longest queues." if shown < everything else ""


def _points_left(tables: Tables) -> str:
    left = len(points(tables)) - PANELS
    return f"The first {PANELS} points are shown; {left} more are in the table of runs." if left > 0 else ""


def _panels_left(tables: Tables) -> str:
    left = len(drawn_points(tables)) - FRONTS
    return f"The first {FRONTS} points are shown; {left} more are in the table of runs." if left > 0 else ""


def _along(axis: str) -> Callable[[Tables], bool]:
    return lambda tables: not surveyed.over(tables, axis).is_empty()


def _survey_left(tables: Tables) -> str:
    ccps = surveyed.runs(tables)["ccp"].n_unique() - survey.MOST
    queues = surveyed.left_out(tables)
    left = [
        f"The first {survey.MOST} congestion controls are shown; {ccps} more are in the table of runs."
        if ccps > 0
        else "",
        f"Queues with parameters of their own ({queues}) are in the table of runs." if queues else "",
    ]
    return " ".join(filter(None, left))


def _held(tables: Tables) -> str:
    fixed = [f"{name} = {value} ({left} further in the table)" for name, value, left in held(tables)]
    return f"Shown for {', '.join(fixed)}." if fixed else ""


REGISTRY: Mapping[str, Figure] = {
    figure.name: figure
    for figure in (
        Figure(
            "time_series",
            "Window, sRTT and throughput over time",
            "Segments in flight with the congestion window, the smoothed RTT, and the payload received. Dashed lines: "
            "bandwidth-delay product, base RTT and capacity.",
            ("flow_series",),
            time_series,
            _flows("in_flight", "cwnd", "srtt_ms", "throughput_mbps"),
            note=_bands,
        ),
        Figure(
            "operating_point",
            "Throughput against sRTT",
            "Better is up and to the right. The star is the optimum: all of the bandwidth at the base RTT. The diamond "
            "is the joint mean, the sum of throughputs at the mean sRTT; ellipses are one standard deviation.",
            ("flow_series",),
            operating_point,
            _both("srtt_ms", "throughput_mbps"),
            width=HALF,
            note=_means,
        ),
        Figure(
            "in_flight",
            "In flight against the operating point",
            "All flows together. The dashed law is that of an ideal path: to the right of the star, the "
            "bandwidth-delay product, more in flight buys only delay.",
            ("flow_series",),
            in_flight,
            lambda tables: _both("srtt_ms", "in_flight")(tables),
            width=HALF,
        ),
        Figure(
            "ecdf",
            "Distribution of throughput and sRTT over samples",
            "The share of samples at or below a value.",
            ("flow_series",),
            ecdf,
            _flows("srtt_ms", "throughput_mbps"),
            note=_pooled,
        ),
        Figure(
            "queue",
            "Queue over time",
            "Queue length at each sample with its limit, mean sojourn time per interval, and drops and marks.",
            ("link_series",),
            queue,
            lambda tables: prepare.has_values(network.table(tables, "link_series"), "queue_packets"),
            note=_links,
        ),
        Figure(
            "descent",
            "The way down through the cell",
            "What the radio carries, how many packets wait in the UPF, in SDAP and in the RLC, and how long pings and TCP's "
            "packets are under way.",
            ("link_series",),
            descent,
            lambda tables: not queues(tables).is_empty(),
        ),
        Figure(
            "queue_distribution",
            "Distribution of sojourn time and queue length",
            "Left or above: the share of packets that waited longer, over every packet, with a logarithmic axis for "
            "the tail. Right or below: how long the queue was.",
            ("histograms",),
            queue_distribution,
            _histogram("sojourn", "link"),
        ),
        Figure(
            "flow_sojourn",
            "Sojourn time by flow",
            "How long the packets of each flow waited in queues: the mean of those that left in each interval, over time; and "
            "the "
            "share of all that waited at most so long.",
            ("flow_series", "flows"),
            flow_sojourn,
            shown,
        ),
        Figure(
            "rtt_histogram",
            "Distribution of RTT samples",
            "Every RTT sample that the senders took, before smoothing.",
            ("histograms",),
            rtt_histogram,
            lambda tables: not labelled(tables).is_empty(),
            note=_pooled,
        ),
        Figure(
            "comparison",
            "Comparison over the sweep",
            "A point is the mean of the runs in the same place, a bar reaches from the lowest to the highest of them.",
            ("runs", "metrics"),
            comparison,
            _several_runs,
            of_runs=True,
            note=_held,
        ),
        Figure(
            "delay_throughput",
            "Delay against throughput",
            "One mark a run; better is up and to the right. Bars reach to the 95th percentile of the delay; ellipses "
            "are one standard deviation over runs that differ in their seed alone.",
            ("runs", "metrics"),
            delay_throughput,
            lambda tables: sweep.read(tables).frame.drop_nulls(["delay_ms", "throughput_mbps"]).height > 1,
            of_runs=True,
        ),
        Figure(
            "load_delay",
            "Delay over the load",
            "Mean one-way delay of the packets that arrived before the end, the elephant's and that of the mice, of whom "
            "there are "
            "ten at most. Where the load exceeds what the cell carries, the delay is that of a queue that grows until the run "
            "ends.",
            ("runs", "parameters", "metrics"),
            cell.load_delay,
            lambda tables: prepare.has_values(cell.family(tables, "lambda"), "mean_delay"),
            of_runs=True,
        ),
        Figure(
            "load_loss",
            "Loss over the load",
            "Shares of what each flow sent: dropped, by the queue's law or because the buffer was full; and, which is no "
            "loss, what "
            "still waited or was under way when the run ended.",
            ("runs", "parameters", "metrics"),
            cell.load_loss,
            lambda tables: prepare.has_values(cell.family(tables, "lambda"), "tx_packets"),
            of_runs=True,
        ),
        Figure(
            "buffer_delay",
            "Delay over the buffer",
            "Mean one-way delay of the packets that arrived before the end, and the longest wait of any of them in the RLC. The "
            "longest wait is proportional to the buffer until the buffer no longer fills before the end.",
            ("runs", "parameters", "metrics"),
            cell.buffer_delay,
            lambda tables: prepare.has_values(cell.family(tables, "buffer"), "mean_delay"),
            of_runs=True,
        ),
        Figure(
            "srtt_grid",
            "sRTT over time by queue and link scenario",
            "A row a queue, a column a link scenario, with the link's rate above. The line is the median over the flows, the "
            "band reaches from the lowest to the highest; all panels have the same logarithmic axis.",
            ("runs", "parameters", "flow_series", "link_series"),
            srtt_grid,
            lambda tables: not placed(tables).is_empty(),
            of_runs=True,
            note=left_out,
        ),
        Figure(
            "survey_base",
            "The base point",
            "Every metric of every queue, after slide 15: means over the runs, with a line from the lowest to the highest. The "
            "dashes are slide 15's values, with LEDBAT.",
            ("runs", "parameters", "metrics"),
            survey.survey_base,
            lambda tables: not survey.at_base(tables).is_empty(),
            of_runs=True,
            note=_survey_left,
        ),
        Figure(
            "survey_scores",
            "The score table",
            "After slide 20: places by TCP%, by F_TCP + F_CCP (F sum) and by D_TCP / D_CCP (D ratio), with what they are places "
            "by; the score is their sum, lower is better.",
            ("runs", "parameters", "metrics"),
            survey.survey_scores,
            lambda tables: not survey.score_rows(tables).is_empty(),
            of_runs=True,
            note=_survey_left,
        ),
        Figure(
            "survey_shares",
            "TCP's share against fairness",
            "After slides 16 to 20: small marks are runs at the base point, large ones their means. An AQM that gives both "
            "classes the same priority is to the right at 50 %; low priority is kept above.",
            ("runs", "parameters", "metrics"),
            survey.survey_shares,
            lambda tables: prepare.has_values(survey.at_base(tables), "tcp_share"),
            of_runs=True,
            note=_survey_left,
        ),
        *(
            Figure(
                name,
                f"Every metric over {axis.upper()}",
                f"After slides 7 to 14 (LEDBAT) and 16 to 19 (the others): means over the runs, bars from the lowest to the "
                f"highest. What else the survey varies is held at the base point (CAP 4 Mbit/s, BUF 400, WLD 5).{more}",
                ("runs", "parameters", "metrics"),
                function,
                _along(axis),
                of_runs=True,
                note=_survey_left,
            )
            for name, axis, function, more in (
                ("survey_capacity", "cap", survey.survey_capacity, ""),
                (
                    "survey_buffer",
                    "buf",
                    survey.survey_buffer,
                    " DRR and SFQ come a second time where they have been run with BUF as their limit.",
                ),
                ("survey_workload", "wld", survey.survey_workload, ""),
            )
        ),
        Figure(
            "share_matrix",
            "Who gets how much",
            "A row is the newcomer, a column the incumbent; blue is more than half for the newcomer. Rows are in the order "
            "of what they take from others on average.",
            ("runs", "parameters", "metrics"),
            coexistence.share_matrix,
            lambda tables: coexistence.cells(tables).height > 1,
            of_runs=True,
        ),
        Figure(
            "delay_matrix",
            "What the incumbent suffers",
            "Mean queueing delay of the incumbent's packets (column) while the newcomer (row) is there.",
            ("runs", "parameters", "metrics"),
            coexistence.delay_matrix,
            lambda tables: coexistence.cells(tables).height > 1,
            of_runs=True,
        ),
        Figure(
            "delay_ranges",
            "Delay of every contender",
            "In the order of the ranking. The dot is the median, the thick bar reaches to the 95th percentile and the "
            "thin one to the 99th.",
            ("ranking",),
            delay_ranges,
            lambda tables: bool(contenders.stems(network.table(tables, "ranking"))),
            of_runs=True,
        ),
        Figure(
            "goodput_delay",
            "Goodput against delay",
            "Better is up and to the right. Filled marks, joined by the dashed line, are the Pareto front: no other "
            "contender has both a shorter delay and a higher goodput.",
            ("ranking",),
            goodput_delay,
            lambda tables: axes_of(tables) is not None,
            of_runs=True,
        ),
        Figure(
            "fronts",
            "Goodput against delay at each point",
            "A panel a point, a mark a contender. Bars reach from the median to the 99th percentile of the delay. Those "
            "that are named, joined by the dashed line, are the Pareto front: no other has both a shorter delay and a "
            "higher goodput there.",
            ("ranking", "at_points"),
            fronts,
            lambda tables: bool(drawn_points(tables)),
            of_runs=True,
            note=_panels_left,
        ),
        Figure(
            "standings",
            "Delay and goodput everywhere",
            "A row a contender in the order of the ranking, a column a point of what else was varied. The palest, in bold, "
            "is the best of its column; the darkest is eight times worse or more.",
            ("ranking", "at_points"),
            standings,
            lambda tables: bool(drawn_criteria(tables)),
            of_runs=True,
        ),
        Figure(
            "goodput_ellipses",
            "Goodput against queueing delay, flow by flow",
            "The dot is the mean over the long flows and replications, the ellipse one standard deviation about it, "
            "drawn from three of them on. Better is up and to the right (RFC 7928 section 2.7).",
            ("ranking", "contenders", "metrics"),
            goodput_ellipses,
            lambda tables: not samples(tables).is_empty(),
            of_runs=True,
            note=_points_left,
        ),
        Figure(
            "scores",
            "Place by experiment",
            "A row a contender in the order of the ranking, a column an experiment. The number is the place by the score "
            "there, 1 being the best; equal scores share the mean of their places.",
            ("overall",),
            scores,
            lambda _: True,
            of_runs=True,
        ),
        Figure(
            "places",
            "Place by point",
            "A row a contender in the order of the ranking, a column a point of what else was varied. The number is the place "
            "by the score there, 1 being the best; equal scores share the mean of their places.",
            ("places",),
            places,
            lambda _: True,
            of_runs=True,
        ),
        Figure(
            "criteria",
            "The other criteria",
            "In the order of the ranking; the best has its full colour.",
            ("ranking",),
            criteria,
            lambda tables: bool(contenders.singles(network.table(tables, "ranking"))),
            of_runs=True,
        ),
    )
}


def find(name: str) -> Figure:
    """The figure of that name.

    Raises:
        ValueError: There is none.
    """
    figure = REGISTRY.get(name)
    if figure is None:
        raise ValueError(f"no figure `{name}`; there are {', '.join(REGISTRY)}")
    return figure


def draw(name: str, tables: Tables, *, width: int | None = None) -> Any:
    """Draw a figure from tables.

    Args:
        name: A name of the registry.
        tables: Tables of a run (docs/architecture.md) or, for a figure that compares runs, of a store.
        width: Width of the whole figure, pixels; absent: the figure's own.

    Returns:
        The Altair chart.

    Raises:
        ValueError: No such figure, or the tables lack what it shows.
    """
    figure = find(name)
    if not figure.applicable(tables):
        raise ValueError(f"figure `{name}` cannot be drawn: it needs values in {', '.join(figure.needs)}")
    return figure.draw(tables, width=width)
