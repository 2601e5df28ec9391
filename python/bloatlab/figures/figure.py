"""What a figure is: its name, what it shows, what it is drawn from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from altair.utils.schemapi import debug_mode

from bloatlab.figures import network
from bloatlab.figures.network import Tables
from bloatlab.figures.theme import WIDE
from bloatlab.visible import visible


def specification(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, without characters that end the process that renders them."""
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
