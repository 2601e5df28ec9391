"""Figures: functions from tables to Altair charts.

`figures.ecdf(tables)` draws the figure `ecdf`; `bloatlab.figures.registry` lists all of them. Altair takes long to import, so
nothing is imported until a name of this package is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bloatlab.figures.registry import FILES, REGISTRY, draw, find

if TYPE_CHECKING:
    from bloatlab.figures.charts.forest import forest
    from bloatlab.figures.charts.pareto import pareto
    from bloatlab.figures.charts.sensitivity import sensitivity
    from bloatlab.figures.charts.trace_rate import trace_rate
    from bloatlab.figures.figure import Figure, as_figure
    from bloatlab.figures.saving import save
    from bloatlab.figures.source import of_result, of_run, of_runs

_HOME = {
    "Figure": "figure",
    "as_figure": "figure",
    "of_result": "source",
    "of_run": "source",
    "of_runs": "source",
    "save": "saving",
    # Their commands draw these, because a store does not have their tables.
    "forest": "charts.forest",
    "pareto": "charts.pareto",
    "sensitivity": "charts.sensitivity",
    "trace_rate": "charts.trace_rate",
    **{name: f"charts.{file}" for name, file in FILES.items()},
}

__all__ = [
    "REGISTRY",
    "Figure",
    "as_figure",
    "draw",
    "find",
    "forest",
    "of_result",
    "of_run",
    "of_runs",
    "pareto",
    "save",
    "sensitivity",
    "trace_rate",
]


def __getattr__(name: str) -> Any:
    """Imports the module that has `name`, when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
