"""What a figure is: its name, what it shows, what it is drawn from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from altair.utils.schemapi import debug_mode

from bloatlab.figures import network
from bloatlab.figures.network import Tables
from bloatlab.figures.theme import WIDE


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
