"""The language of scenarios: its schema, its checks, its algorithms and its metrics.

It is always the extension module's, whichever engine runs a scenario (`bloatlab.engines`).
"""

from bloatlab._core import ScenarioError, algorithms, metric_definitions, normalise, queue, schema, sysctl, tc
from bloatlab._core import engine_version as version

__all__ = [
    "ScenarioError",
    "algorithms",
    "metric_definitions",
    "normalise",
    "queue",
    "schema",
    "sysctl",
    "tc",
    "version",
]
