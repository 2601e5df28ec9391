"""Every figure once: a function from tables to an Altair chart.

Altair is heavy, so nothing is imported until a name of this package is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bloatlab.figures.charts.cell import buffer_delay, load_delay, load_loss
    from bloatlab.figures.charts.coexistence import delay_matrix, share_matrix
    from bloatlab.figures.charts.comparison import comparison
    from bloatlab.figures.charts.criteria import criteria
    from bloatlab.figures.charts.delay_ranges import delay_ranges
    from bloatlab.figures.charts.delay_throughput import delay_throughput
    from bloatlab.figures.charts.descent import descent
    from bloatlab.figures.charts.ecdf import ecdf
    from bloatlab.figures.charts.flow_sojourn import flow_sojourn
    from bloatlab.figures.charts.forest import forest
    from bloatlab.figures.charts.fronts import fronts
    from bloatlab.figures.charts.goodput_delay import goodput_delay
    from bloatlab.figures.charts.goodput_ellipses import goodput_ellipses
    from bloatlab.figures.charts.in_flight import in_flight
    from bloatlab.figures.charts.operating_point import operating_point
    from bloatlab.figures.charts.pareto import pareto
    from bloatlab.figures.charts.queue import queue
    from bloatlab.figures.charts.queue_distribution import queue_distribution
    from bloatlab.figures.charts.rtt_histogram import rtt_histogram
    from bloatlab.figures.charts.scores import places, scores
    from bloatlab.figures.charts.sensitivity import sensitivity
    from bloatlab.figures.charts.srtt_grid import srtt_grid
    from bloatlab.figures.charts.standings import standings
    from bloatlab.figures.charts.survey import (
        survey_base,
        survey_buffer,
        survey_capacity,
        survey_scores,
        survey_shares,
        survey_workload,
    )
    from bloatlab.figures.charts.time_series import time_series
    from bloatlab.figures.charts.trace_rate import trace_rate
    from bloatlab.figures.registry import REGISTRY, Figure, draw, find
    from bloatlab.figures.saving import save
    from bloatlab.figures.source import of_run, of_runs

_HOME = {
    "REGISTRY": "registry",
    "Figure": "registry",
    "draw": "registry",
    "find": "registry",
    "of_run": "source",
    "of_runs": "source",
    "save": "saving",
    "buffer_delay": "charts.cell",
    "comparison": "charts.comparison",
    "criteria": "charts.criteria",
    "delay_matrix": "charts.coexistence",
    "delay_ranges": "charts.delay_ranges",
    "delay_throughput": "charts.delay_throughput",
    "descent": "charts.descent",
    "ecdf": "charts.ecdf",
    "flow_sojourn": "charts.flow_sojourn",
    "forest": "charts.forest",
    "fronts": "charts.fronts",
    "goodput_delay": "charts.goodput_delay",
    "places": "charts.scores",
    "scores": "charts.scores",
    "goodput_ellipses": "charts.goodput_ellipses",
    "in_flight": "charts.in_flight",
    "load_delay": "charts.cell",
    "load_loss": "charts.cell",
    "operating_point": "charts.operating_point",
    "pareto": "charts.pareto",
    "queue": "charts.queue",
    "queue_distribution": "charts.queue_distribution",
    "rtt_histogram": "charts.rtt_histogram",
    "sensitivity": "charts.sensitivity",
    "share_matrix": "charts.coexistence",
    "srtt_grid": "charts.srtt_grid",
    "standings": "charts.standings",
    "survey_base": "charts.survey",
    "survey_buffer": "charts.survey",
    "survey_capacity": "charts.survey",
    "survey_scores": "charts.survey",
    "survey_shares": "charts.survey",
    "survey_workload": "charts.survey",
    "time_series": "charts.time_series",
    "trace_rate": "charts.trace_rate",
}

__all__ = [
    "REGISTRY",
    "Figure",
    "buffer_delay",
    "comparison",
    "criteria",
    "delay_matrix",
    "delay_ranges",
    "delay_throughput",
    "descent",
    "draw",
    "ecdf",
    "find",
    "flow_sojourn",
    "forest",
    "fronts",
    "goodput_delay",
    "goodput_ellipses",
    "in_flight",
    "load_delay",
    "load_loss",
    "of_run",
    "of_runs",
    "operating_point",
    "pareto",
    "places",
    "queue",
    "queue_distribution",
    "rtt_histogram",
    "save",
    "scores",
    "sensitivity",
    "share_matrix",
    "srtt_grid",
    "standings",
    "survey_base",
    "survey_buffer",
    "survey_capacity",
    "survey_scores",
    "survey_shares",
    "survey_workload",
    "time_series",
    "trace_rate",
]


def __getattr__(name: str) -> Any:
    """Import the module that holds `name`, when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
