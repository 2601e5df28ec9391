"""The base class of experiments: parameters, the scenario that they make, and what the source published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bloatlab.errors import unknown
from bloatlab.experiments.claim import Cases, Claim, Metrics, Verdict, judge
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.parameters import Parameter
from bloatlab.plugins import Configured

if TYPE_CHECKING:
    from bloatlab.experiments.answering import Runs
    from bloatlab.experiments.ranking import Observation
    from bloatlab.result import Result

FileMaker = Callable[[Path], None]
"""Writes a file to a path."""


@dataclass(frozen=True)
class PublishedRun:
    """One of the runs of a reproduction: its parameters and its seed."""

    parameters: Mapping[str, Any]
    seed: int = 42


class Experiment:
    """Base class of experiments. An experiment of the catalogue is one file and one line in `bloatlab.experiments`."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    question: ClassVar[str] = ""
    """The question that it asks, in one sentence. Empty: its pages give the verdict without a question."""
    source: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    claims: ClassVar[tuple[Claim, ...]] = ()
    comparison: ClassVar[tuple[Claim, ...]] = ()
    """Published values without a tolerance: shown beside ours without a verdict."""
    fitted: ClassVar[str] = ""
    """Which inputs were fitted to the published values, so that these do not confirm them; shown beside the verdict."""
    reproduce_params: ClassVar[Mapping[str, Any]] = {}
    """Parameters of the published run that differ from the defaults."""
    cases: ClassVar[Sequence[str]] = ()
    """Values of the parameter `case`, if the published values come from several runs."""
    reproduce_seed: ClassVar[int] = 42
    published: ClassVar[Mapping[str, PublishedRun]] = {}
    """The runs of a reproduction by case, if they differ in several parameters."""
    data: ClassVar[tuple[str, ...]] = ()
    """Parameters for data of the source that are not shipped; `reproduce` may set them."""
    series: ClassVar[tuple[str, ...]] = ()
    """Tables of all runs that its figures need."""
    figures: ClassVar[tuple[str, ...]] = ()
    measures: ClassVar[Mapping[str, str]] = {}
    """Metrics that `measure` computes, and their units."""
    measure_titles: ClassVar[Mapping[str, str]] = {}
    """What tables call these metrics, if it is not the name."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Headings of columns that a table of its runs keeps on a narrow terminal."""
    replications: ClassVar[int] = 1
    """Default number of replications of each point of the experiment's axes."""
    on_linux: ClassVar[Mapping[str, Any]] = {}
    """Defaults of parameters on engines whose hosts are Linux's, where the others name what Linux does not have."""
    criteria: ClassVar[tuple[Criterion, ...]] = ()
    """Criteria of the ranking; empty: there is no ranking."""
    compared: ClassVar[tuple[str, ...]] = ("queue", "ecn")
    """Parameters whose values make the contenders of the ranking."""
    graded: ClassVar[bool] = True
    """Whether a grade of its delays belongs to its answer."""

    def for_engine(self, engine: str) -> Self:
        """This experiment with the defaults that the hosts of an engine need.

        Args:
            engine: Name of the engine.
        """
        if not self.on_linux or not engine.startswith("linux"):
            return self
        adapted = copy(self)
        values = self.on_linux
        adapted.parameters = tuple(  # type: ignore[misc]  # A class attribute that this instance hides.
            replace(one, default=values[one.name]) if one.name in values else one for one in self.parameters
        )
        return adapted

    @property
    def subject(self) -> str:
        """Name of what is compared, such as `queue`."""
        return {"cca": "congestion control"}.get(self.compared[0], self.compared[0])

    @property
    def leaves_files(self) -> bool:
        """Whether its runs leave files beside their tables."""
        return type(self).files is not Experiment.files

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario document that resolved parameters make."""
        raise NotImplementedError

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter with its value: given values are checked, the others get their defaults.

        Raises:
            ParameterError: An unknown parameter, or a value that is not allowed.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise unknown(f"parameter of {self.name}", name, known)
        values = {
            name: parameter.value(given[name]) if given.get(name) is not None else parameter.default
            for name, parameter in known.items()
        }
        return self.derive(values)

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Its own axes: values of parameters that are swept unless the user sets or sweeps them."""
        return {}

    def all_axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """Its own axes without those that the user sets or sweeps, then the user's axes."""
        own = {name: values for name, values in self.axes().items() if name not in base and name not in given}
        return {**own, **given}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """Fills in defaults that depend on other parameters."""
        return values

    def published_axes(self) -> dict[str, Sequence[Any]]:
        """The axes of the published runs."""
        return {"case": self.cases} if self.cases else {}

    def published_runs(self, data: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
        """The resolved parameters of each published run by case; a single run has the case `""`.

        Args:
            data: Values of the parameters named in `data`.
        """
        if self.published:
            return {name: self.resolve({**(data or {}), **run.parameters}) for name, run in self.published.items()}
        base = {**self.reproduce_params, **(data or {})}
        if not self.cases:
            return {"": self.resolve(base)}
        return {case: self.resolve({**base, "case": case}) for case in self.cases}

    def seed_of(self, case: str) -> int:
        """The seed of a published run."""
        return self.published[case].seed if self.published else self.reproduce_seed

    def verdicts(self, metrics: Cases, parameters: Mapping[str, Any] | None = None) -> list[Verdict]:
        """Compares the claims, then the other published values, with the published runs.

        Args:
            metrics: Metrics of each published run.
            parameters: Parameters that the runs share, for claims that need data.
        """
        return [judge(claim, metrics, parameters) for claim in (*self.claims, *self.comparison)]

    def measure(self, metrics: Metrics) -> dict[str, float]:
        """Computes the metrics of `measures` from the metrics of a run; a metric without a value is left out."""
        return {}

    def readings(self, run: Result) -> dict[str, float]:
        """Numbers from the tables of a run, for claims that no metric covers."""
        return {}

    def remarks(self, observed: Sequence[Observation]) -> list[Finding]:
        """Findings from the ranked runs, for the page."""
        return []

    def findings(self, cases: Cases) -> list[Finding]:
        """Findings from the published runs about the conclusions of the source."""
        return []

    def answer(self, runs: Runs) -> list[str]:
        """Answers `question` from the metrics of any runs of it, in one to three sentences.

        Returns:
            The sentences. Empty if the runs do not have the metrics; then readers see the verdict alone.
        """
        return []

    def answers(self, runs: Sequence[Result]) -> list[Finding]:
        """Answers to the questions of its source from the available runs, for the page."""
        return []

    def files(self, run: Result) -> Mapping[str, FileMaker]:
        """Files that a run writes in the form of its source: a writer for each name."""
        return {}


def plain(value: Any) -> Any:
    """A parameter's value for JSON; a class becomes its `module:Class`."""
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    if isinstance(value, Configured):
        return {"kind": "python", "class": plain(value.plugin), "params": value.parameters}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
