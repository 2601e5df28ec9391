"""Published values beside measured ones: their ratio, by what they are about."""

from textwrap import wrap
from typing import Any

import polars as pl

from bloatlab.figures import network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import INK, options, themed

ROW = 15
"""Height of a line of a name, pixels."""
NARROW = 560
COLOURS = {"agrees": "#0072B2", "differs": "#D55E00"}
SHAPES = {"agrees": "circle", "differs": "diamond"}


def judged(tables: network.Tables) -> pl.DataFrame:
    """The claims with a verdict and a ratio: `name`, `group`, `published`, `measured`, `ratio`, `verdict`.

    The group is the first word of the name, such as the congestion control that the claim is about.
    """
    claims = network.table(tables, "claims")
    if claims.is_empty():
        return claims
    verdict = pl.when(pl.col("holds") == 1).then(pl.lit("agrees")).otherwise(pl.lit("differs"))
    found = claims.drop_nulls(["holds", "measured"]).with_columns(
        (pl.col("measured") / pl.col("published")).alias("ratio"),
        pl.col("name").str.extract(r"^([^\s,:]+)").alias("group"),
        verdict.alias("verdict"),
    )
    return found.filter((pl.col("ratio") > 0) & pl.col("ratio").is_finite())


def _note(tables: network.Tables) -> str:
    claims = network.table(tables, "claims")
    left = claims.height - judged(tables).height
    return f"{left} without a verdict or with a value of 0 are only in the table." if left else ""


@as_figure(
    title="Published values and ours",
    caption="Each mark is a published value; it is at 1 if the measured value is the same. A row holds the values that "
    "agree, by their first word; a value that differs has its own row. A value agrees within its tolerance, or within a "
    "published limit, which may be far away.",
    needs=("claims",),
    when=lambda tables: not judged(tables).is_empty(),
    of_runs=True,
    note=_note,
)
def published(tables: network.Tables, *, width: int) -> Any:
    """The ratio of each measured value to the published one, coloured by whether they agree.

    Args:
        tables: `claims` of a store.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    found = judged(tables)
    room = 150 if width < NARROW else 330
    counts = found.filter(pl.col("verdict") == "agrees").group_by("group").len()
    rows = found.join(counts, on="group", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("verdict") == "agrees")
        .then(pl.format("{}: {} agree", "group", pl.col("len").fill_null(0)))
        .otherwise("name")
        .alias("row")
    )
    groups = rows["group"].unique(maintain_order=True).to_list()
    places = pl.col("group").replace_strict(groups, range(len(groups)), return_dtype=pl.Int64)
    rows = rows.sort(places, "verdict", maintain_order=True)
    names = {row: "\n".join(wrap(row, room // 7)) for row in rows["row"].unique(maintain_order=True)}
    rows = rows.with_columns(pl.col("row").replace_strict(names).alias("row"))
    step = ROW * max(name.count("\n") + 1 for name in names.values()) + 4
    domain = list(COLOURS)
    x = vl.field(
        "ratio:Q",
        scale=options(type="log", nice=True),
        axis=options(title="measured value as a multiple of the published one", grid=True, format=",.6~g", tickCount=6),
    )
    label = options(title=None, labelExpr="split(datum.label, '\\n')", labelLimit=room, minExtent=room, ticks=False)
    y = vl.field("row:N", sort=list(names.values()), axis=label)
    colour = parts.colour(domain, list(COLOURS.values()), field="verdict")
    shape = vl.field("verdict:N", scale=options(domain=domain, range=list(SHAPES.values())), legend=options(title=None))
    tip = [
        vl.field("name:N", title="value"),
        vl.field("published:Q"),
        vl.field("measured:Q"),
        vl.field("unit:N"),
    ]
    data = prepare.values(rows.select("row", "name", "ratio", "published", "measured", "unit", "verdict"))
    same = parts.drawn(vl.Rows(values=[{"at": 1.0}]), "rule", color=INK, strokeDash=[5, 4], strokeWidth=1)
    marks = parts.drawn(data, "point", filled=True, size=55, opacity=0.6)
    return themed(
        vl.layer(
            same.encode(x=vl.field("at:Q")),
            marks.encode(x=x, y=y, color=colour, shape=shape, tooltip=tip),
            width=max(120, width - room - 40),
            height=step * len(names),
        )
    )
