"""What a figure is: a function from tables to a chart, with its title, its caption and the tables it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from altair.utils.schemapi import debug_mode

from bloatlab.figures import network
from bloatlab.figures.network import Tables
from bloatlab.figures.theme import WIDE
from bloatlab.visible import visible


class Drawing(Protocol):
    """Draws tables as an Altair chart of a given width in pixels."""

    __name__: str

    def __call__(self, tables: Tables, *, width: int) -> Any:
        """The chart."""


def specification(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, without the characters that crash the renderer."""
    plain: dict[str, Any] = _visible(chart.to_dict(validate=False))
    return plain


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_visible(key): _visible(item) for key, item in value.items()}
    return [_visible(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Figure:
    """A figure; call it with tables to draw it.

    Attributes:
        name: Name for `bloatlab figure`.
        title: Its heading.
        caption: What it shows, in a few sentences.
        needs: Names of the tables that must have rows.
        function: Draws the chart.
        when: Whether the tables hold the values that it shows.
        of_runs: It compares the runs of a store; otherwise it shows one run.
        width: Usual width in pixels.
        note: What was pooled or left out of these tables; empty if nothing.
    """

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]
    function: Drawing
    when: Callable[[Tables], bool]
    of_runs: bool
    width: int
    note: Callable[[Tables], str]

    def __call__(self, tables: Tables, *, width: int | None = None) -> Any:
        """Draws the figure as an Altair chart.

        Altair's checks of every part are switched off, because they take half of the time and charts of tested figures pass
        them.

        Args:
            tables: Tables of a run, or for a figure that compares runs, tables of a store.
            width: Width of the whole figure in pixels; absent: its usual width.
        """
        with debug_mode(False):
            return self.function(tables, width=width or self.width)

    def applicable(self, tables: Tables) -> bool:
        """Whether the tables that it needs have rows with the values that it shows."""
        return all(not network.table(tables, name).is_empty() for name in self.needs) and self.when(tables)


def as_figure(
    *,
    title: str,
    caption: str,
    needs: tuple[str, ...],
    when: Callable[[Tables], bool] = lambda _: True,
    of_runs: bool = False,
    width: int = WIDE,
    note: Callable[[Tables], str] = lambda _: "",
) -> Callable[[Drawing], Figure]:
    """Decorator that makes a function a `Figure` of the same name. The arguments are the attributes of `Figure`."""

    def decorated(function: Drawing) -> Figure:
        return Figure(function.__name__, title, caption, needs, function, when, of_runs, width, note)

    return decorated
