"""Figures of a run or of a results directory from Python, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

# The figures are above results and stores, so they are reached by their public name, when they are asked for.
import bloatlab

if TYPE_CHECKING:
    import polars as pl


class Plots:
    """Draws figures: `plot("time_series")`, or `plot.time_series()`, which interactive shells complete.

    `dir(plot)` lists the figures that these results have values for.
    """

    def __init__(self, tables: Callable[[], Mapping[str, pl.DataFrame]], *, of_runs: bool) -> None:
        """Made by `Result.plot` and `Store.plot`.

        Args:
            tables: Reads the tables.
            of_runs: Whether they are those of many runs.
        """
        self._tables = tables
        self._of_runs = of_runs
        self._read: Mapping[str, pl.DataFrame] | None = None

    def __call__(self, name: str | None = None, *, width: int | None = None) -> Any:
        """Draws a figure.

        Args:
            name: Name of the figure; absent: the first that these results have values for.
            width: Width of the whole figure in pixels; absent: the figure's own.

        Returns:
            The Altair chart. A notebook shows it.

        Raises:
            ParameterError: There is no such figure, or these results have no values for it.
        """
        return bloatlab.figures.draw(name or next(iter(self.names()), "time_series"), self._all(), width=width)

    def names(self) -> list[str]:
        """The figures that these results have values for."""
        return [name for name in bloatlab.figures.REGISTRY if self._draws(name)]

    def _draws(self, name: str) -> bool:
        figure = bloatlab.figures.find(name)
        return bool(figure.of_runs == self._of_runs and figure.applicable(self._all()))

    def _all(self) -> Mapping[str, pl.DataFrame]:
        if self._read is None:
            self._read = self._tables()
        return self._read

    def __dir__(self) -> list[str]:
        return [*self.names(), "names"]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in bloatlab.figures.REGISTRY:
            raise AttributeError(f"no figure `{name}`")
        return lambda **settings: self(name, **settings)

    def __repr__(self) -> str:
        return f"figures: {', '.join(self.names())}"
