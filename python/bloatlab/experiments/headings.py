"""Headings of the metrics that an experiment defines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bloatlab.experiments.base import Experiment


def headings(experiment: Experiment | None, measures: Mapping[str, str]) -> dict[str, str]:
    """The heading of each metric in a table: its title, or else its name, with its unit.

    Args:
        experiment: The experiment that defines them. None if it is not in the catalogue.
        measures: The metrics and their units.
    """
    return {
        name: f"{said} ({measures[name]})" if measures[name] else said
        for name, said in titles(experiment, measures).items()
    }


def titles(experiment: Experiment | None, measures: Mapping[str, str]) -> dict[str, str]:
    """The title of each metric, or else its name in words.

    Args:
        experiment: The experiment that defines them. None if it is not in the catalogue.
        measures: The metrics and their units.
    """
    given = experiment.measure_titles if experiment else {}
    return {name: given.get(name, name.replace("_", " ")) for name in measures}
