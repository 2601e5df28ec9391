"""The target of `sensitivity` and `tune`: an experiment or a scenario file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bloatlab.analysis import readings
from bloatlab.engines import Engine
from bloatlab.experiments import CATALOGUE, get
from bloatlab.experiments.base import Experiment
from bloatlab.loading import AllowedPlugins
from bloatlab.scenario.read import read
from bloatlab.sweeps import ExperimentSource, ScenarioSource, Source


@dataclass(frozen=True)
class Target:
    """An experiment or a scenario file that the command line names."""

    source: Source
    experiment: Experiment | None

    @classmethod
    def named(cls, name: str, plugins: AllowedPlugins, engine: Engine) -> Target:
        """Finds the target: an experiment by its name, or a TOML or JSON file by its path.

        Args:
            name: The name or path.
            plugins: The plugins that may be imported.
            engine: What makes the runs.
        """
        if name in CATALOGUE or not (Path(name).exists() or Path(name).suffix in (".toml", ".json")):
            experiment = get(name, may_import=True)
            return cls(ExperimentSource(experiment, plugins, engine), experiment)
        file = Path(name)
        return cls(ScenarioSource(read(file), file.stem, plugins, engine), None)

    def reading(self, text: str) -> readings.Reading:
        """A metric, or a criterion of the experiment."""
        if self.experiment is None:
            return readings.number(text)
        return readings.number(text, self.experiment.criteria, self.experiment.measures)
