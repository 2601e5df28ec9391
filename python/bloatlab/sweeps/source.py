"""Sources of scenarios: an experiment with parameters, or a user's document with paths into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.engines import DEFAULT, Engine, find
from bloatlab.experiments import CATALOGUE
from bloatlab.experiments.base import Experiment, plain
from bloatlab.loading import NO_PLUGINS, AllowedPlugins
from bloatlab.scenario.paths import with_values
from bloatlab.scenario.sound import check
from bloatlab.sweeps.plan import FilesOf, Measure


class ExperimentSource:
    """An experiment. Its parameters can be set."""

    def __init__(
        self, experiment: Experiment, plugins: AllowedPlugins = NO_PLUGINS, engine: Engine | None = None
    ) -> None:
        """With the plugins that its parameters may name, and the engine that runs it; absent: the simulator."""
        self.engine = engine or find(DEFAULT)
        self.experiment = experiment = experiment.for_engine(self.engine.name)
        self.plugins = plugins
        self.name = experiment.name
        self.files: FilesOf | None = experiment.files if experiment.leaves_files else None
        self.measures: Mapping[str, str] = experiment.measures
        self.measure: Measure | None = experiment.measure if experiment.measures else None

    def point(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters in the form in which they are stored, and the resulting scenario document."""
        values = self.experiment.resolve(given)
        return {name: plain(value) for name, value in values.items()}, self.experiment.scenario(values)

    def axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """The experiment's own axes that the user did not set, then the user's axes."""
        return self.experiment.all_axes(base, given)

    def stored(self, axes: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """The values of axes in the form in which they are stored."""
        known = {parameter.name: parameter for parameter in self.experiment.parameters}
        return {
            name: [None if value is None else plain(known[name].value(value)) for value in values]
            for name, values in axes.items()
        }


class ScenarioSource:
    """A user's scenario. Dotted paths into it can be set."""

    def __init__(
        self,
        document: Mapping[str, Any],
        name: str = "scenario",
        plugins: AllowedPlugins = NO_PLUGINS,
        engine: Engine | None = None,
    ) -> None:
        """A source of one document.

        Args:
            document: The scenario.
            name: Its name, if the document says none.
            plugins: The plugins that it may name.
            engine: What runs it; absent: the simulator.
        """
        # Checked before the document is copied, because copying needs a stack as deep as the document.
        check(document)
        self.document = document
        self.plugins = plugins
        self.engine = engine or find(DEFAULT)
        self.files: FilesOf | None = None
        self.measures: Mapping[str, str] = {}
        self.measure: Measure | None = None
        given = document.get("name")
        self.name = _stored_name(given if isinstance(given, str) and given else name)

    def point(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The paths in the form in which they are stored, and the document with their values."""
        document = {"name": self.name, **with_values(self.document, given)}
        return {path: plain(value) for path, value in given.items()}, document

    def axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """The given axes, because a document has no axes."""
        return dict(given)

    def stored(self, axes: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """The values of axes in the form in which they are stored."""
        return {name: [plain(value) for value in values] for name, values in axes.items()}


def _stored_name(name: str) -> str:
    """The name of a scenario in a store: not an experiment's, because runs of an experiment have its parameters."""
    return f"{name} (own scenario)" if name in CATALOGUE else name
