"""Charts after the slides of aqm-survey: metrics along its axes, the base point, shares against fairness, scores."""

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from bloatlab.experiments.aqm_survey.measures import MEASURES, TITLES
from bloatlab.experiments.aqm_survey.published import RANKS, SFQ_DROP_RATIOS, SLIDE_15
from bloatlab.experiments.aqm_survey.scores import CRITERIA, scores
from bloatlab.experiments.aqm_survey.setup import CCPS, QUEUES, RENO
from bloatlab.figures import network, palette, parts, prepare, survey
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import INK, options, plot_width, themed

HEIGHT = 120
NARROW = 560
MOST = 3
"""Largest number of congestion controls; each has a column."""
X_TITLES = {"cap": "CAP (Mbit/s)", "buf": "BUF (packets)", "wld": "WLD (of 10 flows TCP)"}
ROW = 34
LOGARITHMIC = ("qlen",)
"""Metrics that span decades."""


ALONG = (
    "After slides 7 to 14 and 16 to 19: means over the runs, with bars from the lowest to the highest. The other axes "
    "of the survey are at the base point (CAP 4 Mbit/s, BUF 400, WLD 5)."
)


def _note(tables: network.Tables) -> str:
    # All Reno has a figure of its own.
    ccps = len(set(survey.runs(tables)["ccp"]) - {RENO}) - MOST
    queues = survey.left_out(tables)
    left = [
        f"The first {MOST} congestion controls are shown; {ccps} more are in the table of runs." if ccps > 0 else "",
        f"{queues} queue{'s' * (queues > 1)} with other parameters: only in the table of runs." if queues else "",
    ]
    return " ".join(filter(None, left))


@as_figure(
    title="Every metric over CAP",
    caption=ALONG,
    needs=("measured",),
    when=lambda tables: not survey.over(tables, "cap").is_empty(),
    of_runs=True,
    note=_note,
)
def survey_capacity(tables: network.Tables, *, width: int) -> Any:
    """Every metric over CAP: one row of panels per metric, one column per congestion control, one colour per queue.

    Args:
        tables: `measured`, as `figures.of_runs` gives it.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    return _along(survey.over(tables, "cap"), "cap", width)


@as_figure(
    title="Every metric over BUF",
    caption=f"{ALONG} DRR and SFQ appear a second time where they were also run with BUF as their limit.",
    needs=("measured",),
    when=lambda tables: not survey.over(tables, "buf").is_empty(),
    of_runs=True,
    note=_note,
)
def survey_buffer(tables: network.Tables, *, width: int) -> Any:
    """Every metric over BUF, as `survey_capacity`.

    Args:
        tables: As for `survey_capacity`.
        width: As there.

    Returns:
        The chart.
    """
    return _along(survey.over(tables, "buf"), "buf", width)


@as_figure(
    title="Every metric over WLD",
    caption=ALONG,
    needs=("measured",),
    when=lambda tables: not survey.over(tables, "wld").is_empty(),
    of_runs=True,
    note=_note,
)
def survey_workload(tables: network.Tables, *, width: int) -> Any:
    """Every metric over WLD, as `survey_capacity`.

    Args:
        tables: As for `survey_capacity`.
        width: As there.

    Returns:
        The chart.
    """
    return _along(survey.over(tables, "wld"), "wld", width)


def shown_ccps(frame: pl.DataFrame) -> list[str]:
    """The congestion controls with a column."""
    return survey.ordered(frame["ccp"], CCPS)[:MOST]


def _along(frame: pl.DataFrame, axis: str, width: int) -> Any:
    ccps = shown_ccps(frame)
    frame = frame.filter(pl.col("ccp").is_in(ccps))
    across = 1 if width < NARROW else 3
    names = survey.ordered(frame["series"], QUEUES)
    panels = [_lines(frame.drop_nulls(name), name, axis, ccps, names, width, across) for name in MEASURES]
    # Several congestion controls already make a row of facets.
    return _grid(panels, across if len(ccps) == 1 else 1)


def _lines(
    frame: pl.DataFrame,
    name: str,
    axis: str,
    ccps: list[str],
    names: list[str],
    width: int,
    across: int,
    linear: bool = False,
) -> Any:
    value = pl.col(name)
    cells = (
        frame.group_by("ccp", "series", "x", maintain_order=True)
        .agg(value.mean().alias("value"), value.min().alias("low"), value.max().alias("high"))
        .sort("ccp", "series", "x")
    )
    domain = [0.0, 1.04 * prepare.high(frame[name].drop_nulls())] if linear else _domain(frame, name)
    ticks = sorted(set(frame["x"].to_list()))
    is_log = axis == "cap" and bool(ticks) and parts.wants_log(ticks[0], ticks[-1])
    scale = options(type="log" if is_log else "linear", zero=False, nice=False, padding=8)
    x = vl.field(
        "x:Q", scale=scale, axis=options(title=X_TITLES[axis], values=ticks, format=",.6~g", labelSeparation=2)
    )
    y = vl.field(
        "value:Q",
        axis=options(title=None, format=",.6~g") if linear else _axis(name, domain),
        scale=options(type="linear" if linear else _scale(name), domain=domain, nice=False, zero=False),
    )
    columns = parts.legend_columns(names, width - 70)
    colour = parts.colour(names, list(_colours(names).values()), field="series", columns=columns)
    shapes = [palette.SHAPES[index % len(palette.SHAPES)] for index in range(len(names))]
    legend = options(title=None, columns=columns) if len(names) > 1 else None
    shape = vl.field("series:N", scale=options(domain=names, range=shapes), legend=legend)
    layers = (
        parts.drawn(vl.UNSET, "rule", strokeWidth=4, opacity=0.25).encode(
            x=x, y=vl.field("low:Q"), y2="high:Q", color=colour
        ),
        parts.drawn(vl.UNSET, "line", strokeWidth=1.5).encode(x=x, y=y, color=colour),
        parts.drawn(vl.UNSET, "point", filled=False, size=26, strokeWidth=1.4, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape
        ),
    )
    size: dict[str, Any] = {"width": plot_width(width, across), "height": HEIGHT}
    if len(ccps) == 1:
        return vl.layer(*layers, data=prepare.values(cells), title=options(text=_title(name), fontSize=12), **size)
    facet = vl.field("ccp:N", sort=ccps, title=None, header=options(labelAnchor="start", labelPadding=2))
    chart = vl.layer(*layers, **size).facet(facet=facet, data=prepare.values(cells), columns=across, spacing=14)
    return chart.properties(title=options(text=_title(name), fontSize=12))


@as_figure(
    title="DropTail's queue and drops over CAP",
    caption="After slides 7 and 8: one line per BUF, for each congestion control of the other five flows. Means over the "
    "runs, with bars from the lowest to the highest. WLD is 5.",
    needs=("measured",),
    when=lambda tables: not survey.by_buffer(tables).is_empty(),
    of_runs=True,
)
def survey_drop_tail(tables: network.Tables, *, width: int) -> Any:
    """QLEN and DROP under DropTail over CAP: one column per congestion control, one line per BUF.

    Args:
        tables: `measured`, as `figures.of_runs` gives it.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    frame = survey.by_buffer(tables).with_columns(pl.col("cap").alias("x"), pl.format("BUF {}", "buf").alias("series"))
    ccps = survey.ordered(frame["ccp"], CCPS)[:MOST]
    frame = frame.filter(pl.col("ccp").is_in(ccps))
    names = [f"BUF {packets}" for packets in sorted(frame["buf"].unique())]
    across = 1 if width < NARROW else len(ccps)
    panels = [_lines(frame, name, "cap", ccps, names, width, across, linear=True) for name in ("qlen", "drop")]
    return _grid(panels, 1)


@as_figure(
    title="The base point",
    caption="Every metric of every queue, after slide 15: the mean over the runs, with a line from the lowest to the "
    "highest. Dashes are the values of slide 15, with LEDBAT. LEFF: share of the capacity in use. TCP%: share of the "
    "Reno flows in the throughput. QLEN: mean queue length. FAIR: Jain's index of all flows. DROP: share of the packets "
    "that the queue drops. F_ and D_: fairness and drops of the Reno flows (TCP) and of the low-priority flows (CCP).",
    needs=("measured",),
    when=lambda tables: not at_base(tables).is_empty(),
    of_runs=True,
    note=_note,
)
def survey_base(tables: network.Tables, *, width: int) -> Any:
    """Bars at the base point: one panel per metric, one group of bars per queue, one bar per congestion control.

    Dashes are the values of slide 15.


    Args:
        tables: `measured`, as `figures.of_runs` gives it.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    frame = at_base(tables)
    ccps, queues = shown_ccps(frame), survey.ordered(frame["queue"], QUEUES)
    across = 1 if width < NARROW else 3
    wide = plot_width(width, across)
    colours = palette.in_order(ccps)
    panels = []
    for name in MEASURES:
        own = frame.filter(pl.col("ccp").is_in(ccps)).drop_nulls(name)
        cells = own.group_by("queue", "ccp", maintain_order=True).agg(
            pl.col(name).mean().alias("value"), pl.col(name).min().alias("low"), pl.col(name).max().alias("high")
        )
        x = vl.field(
            "queue:N",
            sort=queues,
            scale=options(domain=queues),
            axis=options(title=None, labelAngle=-35, labelOverlap=False),
        )
        offset = vl.field("ccp:N", sort=ccps, scale=options(domain=ccps))
        domain = (
            _domain(own, name)
            if name in LOGARITHMIC
            else [0.0, 1.02 * max(prepare.high(own[name]), *(row[name] for row in SLIDE_15.values()))]
        )
        y = vl.field("value:Q", axis=_axis(name, domain), scale=options(type=_scale(name), domain=domain, nice=False))
        foot = vl.datum(domain[0])
        colour = parts.colour(ccps, list(colours.values()), field="ccp")
        layers = [
            parts.drawn(prepare.values(cells), "bar").encode(x=x, xOffset=offset, y=y, y2=foot, color=colour),
            parts.drawn(prepare.values(cells), "rule", color=INK, strokeWidth=1).encode(
                x=x, xOffset=offset, y=vl.field("low:Q"), y2="high:Q"
            ),
        ]
        published = [
            {"queue": QUEUES[queue], "value": row[name]} for queue, row in SLIDE_15.items() if QUEUES[queue] in queues
        ]
        if CCPS["ledbat"] in ccps and published:
            ticks = parts.drawn(
                vl.Rows(values=published), "tick", color=INK, thickness=2, size=max(10, wide / len(queues) / 1.4)
            )
            layers.append(ticks.encode(x=x, y=y))
        panels.append(vl.layer(*layers, width=wide, height=HEIGHT, title=options(text=_title(name), fontSize=12)))
    return _grid(panels, across)


def at_base(tables: network.Tables) -> pl.DataFrame:
    """The runs at the base point of all queues and congestion controls."""
    frame = survey.runs(tables)
    return frame if frame.is_empty() else survey.held(frame)


@as_figure(
    title="TCP's share against fairness",
    caption="After the scatter plot of the slides: small marks are runs at the base point, large marks their means. "
    "An AQM that gives both classes the same priority is at the right, at 50 %. An AQM that keeps the low "
    "priority is above.",
    needs=("measured",),
    when=lambda tables: prepare.has_values(at_base(tables), "tcp_share"),
    of_runs=True,
    note=_note,
)
def survey_shares(tables: network.Tables, *, width: int) -> Any:
    """TCP's share against the fairness of all flows at the base point, one panel per congestion control.

    Args:
        tables: `measured`, as `figures.of_runs` gives it.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    frame = at_base(tables).drop_nulls(["tcp_share", "fair"])
    ccps, names = shown_ccps(frame), survey.ordered(frame["queue"], QUEUES)
    across = 1 if width < NARROW else len(ccps)
    wide = plot_width(width, across)
    colour, shape = _by_queue(names, width)
    x, y = _shares(frame)
    panels = []
    for ccp in ccps:
        own = frame.filter(pl.col("ccp") == ccp).select("queue", "fair", "tcp_share")
        means = own.group_by("queue", maintain_order=True).agg(pl.col("fair", "tcp_share").mean())
        dots = parts.drawn(prepare.values(own), "point", filled=True, size=18, opacity=0.45)
        large = parts.drawn(prepare.values(means), "point", filled=False, size=130, strokeWidth=2.2, opacity=1)
        panels.append(
            vl.layer(
                *(mark.encode(x=x, y=y, color=colour, shape=shape) for mark in (dots, large)),
                width=wide, height=230, title=options(text=ccp, fontSize=12),
            )
        )  # fmt: skip
    return _grid(panels, across)


@as_figure(
    title="TCP's share against fairness, over WLD",
    caption="After slide 20: one mark per WLD, a mean over the runs, joined in the order of WLD from the smallest mark (fewest "
    "Reno flows) to the largest. CAP and BUF are at the base point.",
    needs=("measured",),
    when=lambda tables: prepare.has_values(survey.over(tables, "wld"), "tcp_share"),
    of_runs=True,
    note=_note,
)
def survey_mixtures(tables: network.Tables, *, width: int) -> Any:
    """TCP's share against the fairness of all flows for each WLD, one panel per congestion control.

    Args:
        tables: `measured`, as `figures.of_runs` gives it.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    frame = survey.over(tables, "wld").drop_nulls(["tcp_share", "fair"])
    ccps, names = shown_ccps(frame), survey.ordered(frame["queue"], QUEUES)
    across = 1 if width < NARROW else len(ccps)
    colour, shape = _by_queue(names, width)
    x, y = _shares(frame)
    size = vl.field("x:Q", scale=options(range=[12, 110]), legend=None)
    panels = []
    for ccp in ccps:
        means = (
            frame.filter(pl.col("ccp") == ccp)
            .group_by("queue", "x", maintain_order=True)
            .agg(pl.col("fair", "tcp_share").mean())
            .sort("queue", "x")
        )
        line = parts.drawn(vl.UNSET, "line", strokeWidth=1, opacity=0.6).encode(x=x, y=y, color=colour, order="x:Q")
        marks = parts.drawn(vl.UNSET, "point", filled=False, strokeWidth=1.4, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, size=size
        )
        title = options(text=ccp, fontSize=12)
        panels.append(
            vl.layer(line, marks, data=prepare.values(means), width=plot_width(width, across), height=230, title=title)
        )
    return _grid(panels, across)


@as_figure(
    title="The score table",
    caption="After the score table of the slides: ranks by TCP%, by F_TCP + F_CCP (F sum) and by D_TCP / D_CCP (D "
    "ratio), with the values behind them. The score is the sum of the ranks; lower is better.",
    needs=("measured",),
    when=lambda tables: not score_rows(tables).is_empty(),
    of_runs=True,
    note=_note,
)
def survey_scores(tables: network.Tables, *, width: int) -> Any:
    """The score table: one panel with the slides' values, and one per congestion control with ours; ranks and values.

    Args:
        tables: `measured`, as `figures.of_runs` gives it.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    rows = score_rows(tables)
    titles = rows["panel"].unique(maintain_order=True).to_list()
    queues = survey.ordered(rows["queue"], QUEUES)
    across = 1 if width < NARROW else min(len(titles), 4)
    wide = plot_width(width, across) - 10
    short = ["TCP%", "F sum", "D ratio", "score"]
    worst = len(queues)
    shade = vl.field("place:Q", scale=options(domain=[1, worst], range=["#dcebf7", "#123a63"], clamp=True), legend=None)
    x = vl.field(
        "column:N", sort=short, scale=options(domain=short),
        axis=options(title=None, orient="top", labelAngle=0, labelOverlap=False, labelFontSize=10, ticks=False, domain=False),
    )  # fmt: skip
    y = vl.field(
        "queue:N",
        sort=queues,
        scale=options(domain=queues),
        axis=options(title=None, ticks=False, domain=False, minExtent=50),
    )
    panels = []
    for title in titles:
        data = prepare.values(rows.filter(pl.col("panel") == title).drop("panel"))
        panels.append(
            vl.layer(
                parts.drawn(data, "rect").encode(x=x, y=y, color=shade),
                parts.drawn(data, "text", fontSize=13, dy=-6, fontWeight="bold").encode(
                    x=x, y=y, text="text:N", color=parts.on_shade()
                ),
                parts.drawn(data, "text", fontSize=10, dy=8).encode(x=x, y=y, text="value:N", color=parts.on_shade()),
                width=wide, height=ROW * len(queues), title=options(text=title, fontSize=12),
            )
        )  # fmt: skip
    return _grid(panels, across)


def score_rows(tables: network.Tables) -> pl.DataFrame:
    """The cells of the score tables: `panel`, `queue`, `column`, `place` (1 is best), `text`, `value`, `dark`.

    Empty if there is only one queue.
    """
    frame = at_base(tables)
    if frame.is_empty():
        return pl.DataFrame()
    needed = ["tcp_share", "fair_tcp", "fair_ccp", "drop_tcp", "drop_ccp"]
    means = (
        frame.filter(pl.col("queue") != QUEUES["fifo"])
        .group_by("ccp", "queue", maintain_order=True)
        .agg(pl.col(needed).mean())
    )
    means = means.drop_nulls(needed)
    rows: list[dict[str, Any]] = []
    for ccp in shown_ccps(means) if means.height else ():
        own = {row.pop("queue"): row for row in means.filter(pl.col("ccp") == ccp).drop("ccp").to_dicts()}
        if len(own) < 2:
            continue
        for queue, score in scores(own).items():
            rows += _row(f"{ccp}, here", queue, score.ranks, _values(*score.values), len(own))
    if rows and any(row["panel"].startswith(CCPS["ledbat"]) for row in rows):
        slides: list[dict[str, Any]] = []
        for queue, ranks in RANKS.items():
            of = SLIDE_15[queue]
            ratio = SFQ_DROP_RATIOS["ledbat"] if queue == "sfq" else of["drop_tcp"] / of["drop_ccp"]
            values = _values(of["tcp_share"], of["fair_tcp"] + of["fair_ccp"], ratio)
            slides += _row(f"{CCPS['ledbat']}, slides", QUEUES[queue], ranks, values, len(RANKS))
        rows = slides + rows
    return pl.DataFrame(rows)


def _values(share: float, fairness: float, ratio: float) -> tuple[str, str, str]:
    large = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2f}"
    return f"{share:.1f}", f"{fairness:.1f}", "∞" if math.isinf(ratio) else large


def _row(panel: str, queue: str, ranks: Sequence[int], values: Sequence[str], worst: int) -> list[dict[str, Any]]:
    cells = [*zip(("TCP%", "F sum", "D ratio"), ranks, map(float, ranks), values, strict=True)]
    # The shade of the score is that of the mean of its ranks.
    cells.append(("score", sum(ranks), sum(ranks) / len(CRITERIA), ""))
    return [
        {
            "panel": panel, "queue": queue, "column": column, "place": place, "text": str(text), "value": value,
            "dark": place > 1 + 0.5 * (worst - 1),
        }
        for column, text, place, value in cells
    ]  # fmt: skip


def _title(name: str) -> str:
    return f"{TITLES[name]} ({MEASURES[name]})"


def _scale(name: str) -> str:
    return "log" if name in LOGARITHMIC else "linear"


def _axis(name: str, domain: list[float]) -> dict[str, Any]:
    if name in LOGARITHMIC:
        return options(title=None, format=",.6~g", values=parts.log_ticks(domain[0], domain[1]), labelOverlap=False)
    return options(title=None, format=",.6~g")


def _domain(frame: pl.DataFrame, name: str) -> list[float]:
    """The domain from the lowest to the highest value with a margin, even if all values are equal."""
    low, high = prepare.low(frame[name].drop_nulls()), prepare.high(frame[name].drop_nulls())
    if name in LOGARITHMIC:
        return [max(low, 0.1) / 1.2, max(high, 1.0) * 1.2]
    room = 0.04 * (high - low) or 1.0
    return [max(0.0, low - room), high + room]


def _colours(names: list[str]) -> dict[str, str]:
    """A queue has the colour of its kind, also with equal limits."""
    kinds = {called: kind for kind, called in QUEUES.items()}
    own = [name.partition(",")[0] for name in names]
    assigned = palette.assign(kinds.get(name, name) for name in own)
    return {name: assigned[kinds.get(of, of)] for name, of in zip(names, own, strict=True)}


def _by_queue(names: list[str], width: int) -> tuple[Any, Any]:
    """Colour and shape of each queue."""
    columns = parts.legend_columns(names, width - 70)
    shapes = [palette.SHAPES[index % len(palette.SHAPES)] for index in range(len(names))]
    legend = options(title=None, columns=columns) if len(names) > 1 else None
    colour = parts.colour(names, list(_colours(names).values()), field="queue", columns=columns)
    return colour, vl.field("queue:N", scale=options(domain=names, range=shapes), legend=legend)


def _shares(frame: pl.DataFrame) -> tuple[Any, Any]:
    """The axes of FAIR and TCP%."""
    found = []
    for name in ("fair", "tcp_share"):
        axis = options(title=_title(name), grid=True)
        found.append(vl.field(f"{name}:Q", axis=axis, scale=options(domain=_domain(frame, name), nice=False)))
    return found[0], found[1]


def _grid(panels: list[Any], across: int) -> Any:
    joined = vl.concat(*panels, columns=across, spacing=options(row=10, column=14))
    return themed(joined.resolve("legend", color="shared", shape="shared"))
