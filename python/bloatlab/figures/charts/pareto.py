"""The trials of a search: two objectives, the Pareto front and the recommended trial."""

from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import INK, STAR, WIDE, options, plot_width, themed

HEIGHT = 360


def pareto(tables: network.Tables, *, width: int = WIDE) -> Any:
    """One mark per trial. Better is up and to the right.

    Numbered trials, joined by the dashed line, are the Pareto front. The star is the recommended trial.

    Args:
        tables: `trials`: `kind`, `x`, `y`, `place` (on the front, from 1; null elsewhere), `knee`; `objectives`:
            `title`, `minimise`, of x and of y.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    found = network.table(tables, "trials")
    titles, minimised = (network.table(tables, "objectives")[name].to_list()[:2] for name in ("title", "minimise"))
    wide = plot_width(width) - 10
    # Pixels count from the left and from the top, so a better trial has a larger x and a smaller y.
    ends = [_axis(found["x"], wide, minimised[0]), _axis(found["y"], HEIGHT, not minimised[1])]
    x = vl.field("x:Q", scale=_scale(ends[0], minimised[0]), axis=_title(titles[0], "to the right", minimised[0], wide))
    y = vl.field("y:Q", scale=_scale(ends[1], minimised[1]), axis=_title(titles[1], "up", minimised[1], HEIGHT))
    kinds = found["kind"].unique(maintain_order=True).sort().to_list()
    tints = palette.assign(kinds)
    columns = parts.legend_columns(kinds, wide)
    colour = parts.colour(kinds, list(tints.values()), field="kind", columns=columns)
    shapes = [palette.SHAPES[index % len(palette.SHAPES)] for index in range(len(kinds))]
    shape = vl.field(
        "kind:N", scale=options(domain=kinds, range=shapes),
        legend=options(title=None, columns=columns) if len(kinds) > 1 else None,
    )  # fmt: skip
    front = found.drop_nulls("place").sort("place")
    texts = [str(place) for place in front["place"].to_list()]
    spots = contenders.label_spots(
        [(ends[0].pixel(at), ends[1].pixel(to)) for at, to in front.select("x", "y").iter_rows()], texts, wide, HEIGHT
    )
    labels = front.select(
        pl.Series("x", [ends[0].value(left) for left, _ in spots], pl.Float64),
        pl.Series("y", [ends[1].value(middle) for _, middle in spots], pl.Float64),
        pl.Series("text", texts, pl.String),
    )
    mark: dict[str, Any] = {"filled": True, "opacity": 1}
    knee = prepare.values(found.filter("knee").select("x", "y"))
    return themed(
        vl.layer(
            parts.drawn(
                prepare.values(front), "line", interpolate="step-after", strokeDash=[5, 4], strokeWidth=1, color=INK
            ).encode(x=x, y=y, order=vl.field("place:Q")),
            parts.drawn(prepare.values(found), "point", filled=True, size=34, opacity=0.45).encode(
                x=x, y=y, color=colour, shape=shape
            ),
            parts.drawn(prepare.values(front), "point", size=80, **mark).encode(x=x, y=y, color=colour, shape=shape),
            parts.drawn(knee, "point", size=190, shape=STAR, color=INK, **mark).encode(x=x, y=y),
            parts.drawn(prepare.values(labels), "text", align="left", baseline="middle", color=INK, fontSize=11).encode(
                x=x, y=y, text=vl.field("text:N")
            ),
            width=wide,
            height=HEIGHT,
        )
    )


def _axis(values: pl.Series, pixels: float, reverse: bool) -> contenders.Axis:
    log = parts.wants_log(prepare.low(values), prepare.high(values), 5)
    return contenders.Axis.over(values, pixels, log=log, reverse=reverse)


def _scale(axis: contenders.Axis, minimise: bool) -> dict[str, Any]:
    kind = "log" if axis.log else "linear"
    return options(type=kind, domain=axis.domain, reverse=minimise, nice=False, zero=False)


def _title(title: str, where: str, minimise: bool, room: int) -> dict[str, Any]:
    text = parts.in_lines(f"{title}, {'less' if minimise else 'more'} is {where}", room)
    return options(title=text, grid=True, tickCount=6, format=",.6~g")
