"""What an experiment is: parameters, the scenario they make, and what its source published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bloatlab.errors import unknown
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.parameters import Parameter
from bloatlab.plugins import Configured

if TYPE_CHECKING:
    from bloatlab.experiments.ranking import Observation
    from bloatlab.result import Result

Metrics = Mapping[str, Any]
"""Metrics of a run in the form of `--json`."""
Cases = Mapping[str, Metrics]
"""Metrics of every published run, by the name of its case; `readings` in them are what `Experiment.readings` gives."""
FileMaker = Callable[[Path], None]
"""Writes a file to a path."""


@dataclass(frozen=True)
class Claim:
    """A published value and how near ours must come to it."""

    name: str
    published: float
    metric: str | Callable[[Cases], float | None]
    """Path in the result of the published run, `flow_metrics.flow_1.mean_srtt_l4`; or the value from those of all cases."""
    unit: str
    source: str
    absolute: float | None = None
    """Largest difference that holds, in `unit`."""
    relative: float | None = None
    """Largest difference that holds, as a share of the published value."""
    note: str = ""
    bound: Literal["", "at least", "at most"] = ""
    """On which side of the published value ours must be; empty: near it."""
    needs: str = ""
    """A parameter without which there is nothing to judge: it names data of the source that are not shipped."""

    @property
    def tolerance(self) -> float | None:
        """Largest difference that holds, in `unit`; `None`: the source states none, so there is no verdict."""
        if self.relative is not None:
            return abs(self.published) * self.relative
        return 0.0 if self.bound and self.absolute is None else self.absolute

    @property
    def published_text(self) -> str:
        """The published value, or the bound."""
        return f"{self.bound} {self.published:g}".lstrip()

    @property
    def tolerance_text(self) -> str:
        """The tolerance as the source states it."""
        if self.relative is not None:
            return f"{100 * self.relative:g} %"
        if self.absolute is None or (self.bound and not self.absolute):
            return ""
        return f"{self.absolute:g} {self.unit}".rstrip() if self.absolute else "exact"


@dataclass(frozen=True)
class Verdict:
    """A claim held against a result."""

    claim: Claim
    measured: float | None
    holds: bool | None
    """`None`: not judged. The source states no tolerance, or `why`."""
    why: str = ""
    """Why a claim that has a tolerance was not judged."""


@dataclass(frozen=True)
class PublishedRun:
    """One of the runs that a reproduction makes: what is set, and the seed."""

    parameters: Mapping[str, Any]
    seed: int = 42


class Experiment:
    """Base of the catalogue's experiments: one file each, and one line in the registry."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    claims: ClassVar[tuple[Claim, ...]] = ()
    comparison: ClassVar[tuple[Claim, ...]] = ()
    """Published values whose source states no tolerance: shown beside ours, without a verdict."""
    reproduce_params: ClassVar[Mapping[str, Any]] = {}
    """Parameters of the published run, where they differ from the defaults."""
    cases: ClassVar[Sequence[str]] = ()
    """Values of the parameter `case`, if what is published took several runs."""
    reproduce_seed: ClassVar[int] = 42
    published: ClassVar[Mapping[str, PublishedRun]] = {}
    """The runs of a reproduction by the names of their cases, where they differ in more than one parameter."""
    data: ClassVar[tuple[str, ...]] = ()
    """Parameters that name data of the source that are not shipped, or say how they are read; a reproduction may set them."""
    series: ClassVar[tuple[str, ...]] = ()
    """Tables of every run that its figures over all runs draw."""
    figures: ClassVar[tuple[str, ...]] = ()
    measures: ClassVar[Mapping[str, str]] = {}
    """Metrics of its own that `measure` computes from those of a run, and their units."""
    replications: ClassVar[int] = 1
    """Runs of each point of its own axes, where the user names no number."""
    criteria: ClassVar[tuple[Criterion, ...]] = ()
    """What its runs are ranked by; empty: they are not."""
    compared: ClassVar[tuple[str, ...]] = ("queue", "ecn")
    """Parameters that make a contender of the ranking."""

    @property
    def subject(self) -> str:
        """What is compared, in words."""
        return {"cca": "congestion control"}.get(self.compared[0], self.compared[0])

    @property
    def leaves_files(self) -> bool:
        """Whether its runs leave files beside their tables."""
        return type(self).files is not Experiment.files

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario document that resolved parameters make."""
        raise NotImplementedError

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter with its value: the given ones checked, the others by default.

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
        """What is swept when the user neither sets nor sweeps it."""
        return {}

    def all_axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """The axes of its own that the user left alone, then the user's."""
        own = {name: values for name, values in self.axes().items() if name not in base and name not in given}
        return {**own, **given}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """Fills in defaults that depend on other parameters."""
        return values

    def published_axes(self) -> dict[str, Sequence[Any]]:
        """What the published runs differ in."""
        return {"case": self.cases} if self.cases else {}

    def published_runs(self, data: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
        """The resolved parameters of each published run, by the name of its case; a single one has no name.

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
        """The claims, then the comparison, held against the published runs.

        Args:
            metrics: Of each published run.
            parameters: What the runs have in common, for claims that need data.
        """
        return [judge(claim, metrics, parameters) for claim in (*self.claims, *self.comparison)]

    def measure(self, metrics: Metrics) -> dict[str, float]:
        """The metrics named in `measures`, from those of a run; one without a value is left out."""
        return {}

    def readings(self, run: Result) -> dict[str, float]:
        """Numbers of a run that claims read and no metric holds, from its tables."""
        return {}

    def remarks(self, observed: Sequence[Observation]) -> list[Finding]:
        """What its ranked runs say, for the page; computed from them."""
        return []

    def findings(self, cases: Cases) -> list[Finding]:
        """What the published runs say of the source's conclusions, computed from their metrics."""
        return []

    def answers(self, runs: Sequence[Result]) -> list[Finding]:
        """What its source asks, answered from whatever runs there are, for the page."""
        return []

    def files(self, run: Result) -> Mapping[str, FileMaker]:
        """Files that a run leaves beside its tables, in the form of its source: what writes each, by name."""
        return {}


def judge(claim: Claim, metrics: Cases, parameters: Mapping[str, Any] | None = None) -> Verdict:
    """Holds a claim against the metrics of the published runs."""
    measured = _measured(claim, metrics)
    if claim.tolerance is None:
        return Verdict(claim, measured, None)
    if claim.needs and (parameters or {}).get(claim.needs) is None:
        return Verdict(claim, measured, None, f"not judged: needs the data of the source (--set {claim.needs}=...)")
    if measured is None:
        return Verdict(claim, None, False)
    # A tolerance counts to the last digit that a double carries.
    allowed = claim.tolerance + 1e-9 * max(1.0, abs(claim.published))
    above = measured - claim.published
    low, high = claim.bound != "at most", claim.bound != "at least"
    return Verdict(claim, measured, not (low and above < -allowed) and not (high and above > allowed))


def _measured(claim: Claim, metrics: Cases) -> float | None:
    if callable(claim.metric):
        try:
            return claim.metric(metrics)
        # A run without packets lacks metrics, or has them at 0.
        except (KeyError, ZeroDivisionError):
            return None
    at: Any = next(iter(metrics.values()))
    for key in claim.metric.split("."):
        at = at.get(key) if isinstance(at, Mapping) else None
    return None if at is None else float(at)


def plain(value: Any) -> Any:
    """A parameter's value as JSON can hold it: classes become their `module:Class`."""
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    if isinstance(value, Configured):
        return {"kind": "python", "class": plain(value.plugin), "params": value.parameters}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
