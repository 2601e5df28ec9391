"""Every metric: name, unit, formula, source. All engines use these definitions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from bloatlab import language
from bloatlab.metrics.queue_statistics import MEANINGS, SOURCE


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric is."""

    scope: str
    """`flow`, `link`, `network` or `probe`."""
    name: str
    unit: str
    formula: str
    source: str
    better: str
    """`higher`, `lower` or `none`."""


SHARES = frozenset({
    "capacity_share", "cpu_steal", "goodput_share", "link_cpu", "loss_rate", "loss_rate_l4", "loss_synchronization",
    "mean_utilization_bw_l4", "utilization",
})  # fmt: skip
"""Metrics that are shares of a whole. Tables for people show them in percent, data has them between 0 and 1."""


def for_people(metric: str, unit: str) -> tuple[float, str]:
    """The factor and the unit with which tables for people show a metric."""
    return (100.0, "%") if metric in SHARES and not unit else (1.0, unit)


@cache
def definitions() -> dict[tuple[str, str], Definition]:
    """Definition of each (scope, name)."""
    fields = ("scope", "name", "unit", "formula", "source", "better")
    found = [Definition(**{name: row[name] for name in fields}) for row in json.loads(language.metric_definitions())]
    return {(definition.scope, definition.name): definition for definition in found}


@cache
def every_definition() -> dict[tuple[str, str], Definition]:
    """As `definitions`, with the counters and the state that queue disciplines report."""
    reported = {("link", name): Definition("link", name, "", what, SOURCE, "none") for name, what in MEANINGS.items()}
    return {**definitions(), **{key: what for key, what in reported.items() if key not in definitions()}}


def units() -> dict[tuple[str, str], str]:
    """Unit of each (scope, name)."""
    return {key: definition.unit for key, definition in definitions().items()}
