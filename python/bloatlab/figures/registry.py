"""All figures by name: one line per figure, in the order in which a page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bloatlab.errors import ParameterError
from bloatlab.registry import Registry

if TYPE_CHECKING:
    from bloatlab.figures.figure import Figure
    from bloatlab.figures.network import Tables

FILES = {
    "time_series": "time_series",
    "operating_point": "operating_point",
    "in_flight": "in_flight",
    "probe_rtt": "probe_rtt",
    "ecdf": "ecdf",
    "queue": "queue",
    "downlink": "downlink",
    "queue_distribution": "queue_distribution",
    "flow_sojourn": "flow_sojourn",
    "rtt_histogram": "rtt_histogram",
    "published": "published",
    "comparison": "comparison",
    "delay_throughput": "delay_throughput",
    "load_delay": "cell",
    "load_loss": "cell",
    "buffer_delay": "cell",
    "srtt_grid": "srtt_grid",
    "survey_base": "survey",
    "survey_scores": "survey",
    "survey_shares": "survey",
    "survey_mixtures": "survey",
    "survey_drop_tail": "survey",
    "survey_capacity": "survey",
    "survey_buffer": "survey",
    "survey_workload": "survey",
    "limit_series": "limit_series",
    "fetch_times": "fetch_times",
    "limit_rtt": "limit_rtt",
    "replications": "replications",
    "engine_series": "engine_series",
    "share_matrix": "coexistence",
    "delay_matrix": "coexistence",
    "delay_ranges": "delay_ranges",
    "goodput_delay": "goodput_delay",
    "fronts": "fronts",
    "standings": "standings",
    "goodput_ellipses": "goodput_ellipses",
    "scores": "scores",
    "places": "scores",
    "criteria": "criteria",
}
"""The file in `charts` of each figure."""


def _read(found: Any, reference: str) -> tuple[str, Figure]:
    from bloatlab.figures.figure import Figure

    if not isinstance(found, Figure):
        raise ParameterError(f"`{reference}`: is not a figure; decorate its function with `bloatlab.figures.as_figure`")
    return found.name, found


REGISTRY: Registry[Figure] = Registry(
    "figure", {name: f"bloatlab.figures.charts.{file}:{name}" for name, file in FILES.items()}, _read
)


def find(name: str) -> Figure:
    """Finds a figure by its name in the registry, by an entry point, or by `module:name`.

    Hyphens count as underscores.

    Raises:
        ParameterError: There is no such figure, or it cannot be imported.
    """
    underscored = name.replace("-", "_")
    return REGISTRY.find(underscored if underscored in REGISTRY else name, may_import=True)


def draw(name: str, tables: Tables, *, width: int | None = None) -> Any:
    """Draws a figure from tables.

    Args:
        name: The figure, as for `find`.
        tables: Tables of a run (docs/architecture.md) or, for a figure that compares runs, of a store.
        width: Width of the whole figure in pixels; absent: the figure's own.

    Returns:
        The Altair chart.

    Raises:
        ParameterError: There is no such figure, or the tables lack what it shows.
    """
    figure = find(name)
    if not figure.applicable(tables):
        raise ParameterError(f"figure `{name}` cannot be drawn: it needs values in {', '.join(figure.needs)}")
    return figure(tables, width=width)
