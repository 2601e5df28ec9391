"""The figures of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from bloatlab.report import model
from bloatlab.report.drawing import Drawings

if TYPE_CHECKING:
    from bloatlab.figures.figure import Figure


def figures_of(
    drawings: Drawings,
    tables: Mapping[str, pl.DataFrame],
    prefix: str,
    *,
    of_runs: bool,
    only: tuple[str, ...] | None = None,
    without: tuple[str, ...] = (),
) -> list[model.Drawn]:
    """Draws the figures that the tables allow.

    Args:
        drawings: Gets the figures.
        tables: Tables of a run, or of a store if `of_runs`.
        prefix: Begins the names of the figures.
        of_runs: Whether they compare runs.
        only: Names of the figures in their order; absent: all.
        without: Names of figures that are left out.
    """
    from bloatlab.figures.registry import REGISTRY

    wanted = [figure for figure in REGISTRY.values() if figure.of_runs == of_runs and (not only or figure.name in only)]
    wanted = [figure for figure in wanted if figure.name not in without]
    # In the order that the experiment states, so that its main figure is the first.
    wanted.sort(key=lambda figure: only.index(figure.name) if only and of_runs else 0)
    return [draw_figure(drawings, figure, tables, prefix) for figure in wanted if figure.applicable(tables)]


def draw_figure(drawings: Drawings, figure: Figure, tables: Mapping[str, pl.DataFrame], prefix: str) -> model.Drawn:
    """Draws a figure for the page, under names that begin with `prefix`."""
    from bloatlab.figures.theme import HALF, PHONE

    caption = f"{figure.caption} {figure.note(tables)}".strip()
    half = figure.width <= HALF
    # On a phone, a scaled-down wide figure cannot be read. So it is drawn a second time, narrower.
    widths = [figure.width] if half else [figure.width, PHONE]
    pictures = [drawings.add(figure.view(tables, width=width), f"{prefix}{figure.name}-{width}") for width in widths]
    return model.Drawn(figure.name, figure.title, caption, half, pictures)
