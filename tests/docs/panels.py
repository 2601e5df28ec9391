"""Panels over time for the figures of the pages of algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from bloatlab.figures import parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import WIDE, options, plot_width


def time(end_s: float, *, titled: bool = False) -> Any:
    """The time axis of a panel. Only the lowest panel has a title and labels."""
    axis = options(title="time (s)" if titled else None, labels=titled, ticks=titled, tickCount=10)
    return vl.field("time_s:Q", scale=options(domain=[0, end_s], nice=False), axis=axis)


def lines(
    frame: pl.DataFrame, title: str, colours: Mapping[str, str], x: Any, *, scale: str = "linear", height: int = 110
) -> Any:
    """Draws columns `time_s`, `value` and `label`, one line per label. `colours` gives the order of the labels."""
    light = prepare.thin(frame, "time_s", "value", by="label")
    return (
        parts.drawn(prepare.values(light), "line")
        .encode(
            x=x,
            y=vl.field("value:Q", axis=options(title=title), scale=options(type=scale, zero=True)),
            color=parts.colour(list(colours), list(colours.values())),
        )
        .properties(width=plot_width(WIDE), height=height)
    )
