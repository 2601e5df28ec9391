"""A sweep as one document: a TOML file, or a `Plan` made in Python."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bloatlab.engines import DEFAULT, Engine, find
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.suite import Suite
from bloatlab.loading import NO_PLUGINS, AllowedPlugins
from bloatlab.scenario.read import read as read_document
from bloatlab.store.keep import Keep
from bloatlab.sweeps.conditions import Condition, condition
from bloatlab.sweeps.grid import Grid
from bloatlab.sweeps.plan import PlannedRun, Seeds, Source, plan_points
from bloatlab.sweeps.source import ExperimentSource, ScenarioSource


class Plan(BaseModel):
    """The runs of a sweep: every combination of the axes at each of the points, if the conditions hold.

    The experiment's own axes are ignored: a parameter that is neither set nor swept has its default.

    Raises:
        ValidationError: An unknown field or a value of the wrong type.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, validate_by_name=True)

    experiment: str | None = None
    """Name of an experiment."""
    scenario: dict[str, Any] | str | None = None
    """A scenario document, or the file that holds one (from the plan's own directory)."""
    fixed: dict[str, Any] = Field(default_factory=dict, alias="set")
    """Values that all runs share: parameters of the experiment, or dotted paths into the scenario."""
    axes: dict[str, list[Any]] = Field(default_factory=dict)
    """Values that are combined with all others."""
    points: list[dict[str, Any]] = Field(default_factory=list)
    """Values that belong together: a list of points in place of a product, or in addition to one."""
    where: str | list[str | Callable[[Mapping[str, Any]], bool]] = Field(default_factory=list)
    """Conditions (`sweeps.conditions`, or functions of the parameters) that a point must meet, all of them."""
    replications: int = 1
    """Runs of each point."""
    seed: int = 42
    """Where seeds come from."""
    seeds: Seeds = "common"
    """`common`: replication r has the seed `seed + r` at every point; `independent`: every run has another."""
    engine: str = DEFAULT
    """What runs the scenarios: a built-in engine, or one that the user has named as well or allowed."""
    keep: str = "tables"
    """How much of a run is stored: `measures`, `metrics`, `tables` or `packets`."""
    out: str | None = None
    """Results directory; absent: results/NAME."""
    expect: list[Any] = Field(default_factory=list)
    """What the runs must achieve. Only `bloatlab check` reads it."""

    def changed(self, given: Mapping[str, Any], **fields: Any) -> Plan:
        """The plan with other values.

        Args:
            given: Values that all runs share. They replace what the plan sets or sweeps.
            **fields: Other fields, unless None.
        """
        update = {name: value for name, value in fields.items() if value is not None}
        axes = {name: values for name, values in self.axes.items() if name not in given}
        return self.model_copy(update={"fixed": {**self.fixed, **given}, "axes": axes, **update})

    def source(
        self, plugins: AllowedPlugins = NO_PLUGINS, engine: Engine | None = None, name: str = "scenario"
    ) -> Source:
        """The source of its scenarios.

        Args:
            plugins: The plugins that they may name.
            engine: What runs them; absent: the plan's own.
            name: The name of a scenario in the plan that has none.

        Raises:
            ParameterError: Neither an experiment nor a scenario, or both; an unknown experiment, or one that may not be
                imported.
            EngineError: The plan's engine may not be imported, or cannot run on this machine.
        """
        engine = engine or find(self.engine, plugins)
        if (self.experiment is None) == (self.scenario is None):
            raise ParameterError("plan: names one of `experiment` and `scenario`")
        if self.experiment is not None:
            experiment = get(self.experiment, may_import=self.experiment in plugins)
            if isinstance(experiment, Suite):
                names = ", ".join(member.name for member in experiment.members)
                raise ParameterError(
                    f"experiment: {experiment.name} sweeps by itself; name one of its experiments ({names})"
                )
            return ExperimentSource(experiment, plugins, engine)
        if isinstance(self.scenario, str):
            return ScenarioSource(read_document(Path(self.scenario)), Path(self.scenario).stem, plugins, engine)
        return ScenarioSource(self.scenario or {}, name, plugins, engine)

    def swept(self) -> dict[str, list[Any]]:
        """The values of every swept parameter in the plan's order: those of the points, then those of the axes."""
        found: dict[str, list[Any]] = {}
        for point in self.points:
            for name, value in point.items():
                values = found.setdefault(name, [])
                if value not in values:
                    values.append(value)
        return {**found, **self.axes}

    def grid(self) -> Grid:
        """Its points in their order, before the conditions.

        Raises:
            ParameterError: An axis has no values, or something is both set and swept.
        """
        return Grid(self.axes, self.fixed, self.points)

    def conditions(self) -> list[Condition]:
        """Its conditions as functions of the parameters.

        Raises:
            ParameterError: A condition cannot be read.
        """
        where = [self.where] if isinstance(self.where, str) else self.where
        return [condition(one) if isinstance(one, str) else one for one in where]

    def runs(self, source: Source | None = None, *, dry: bool = False) -> list[PlannedRun]:
        """The runs, each once: points outermost, then the axes (the last varies fastest), replications innermost.

        Args:
            source: Where its scenarios come from, with the plugins that they may name and the engine; absent:
                `source()`.
            dry: Only list the runs, and import no plugin (`plan_points`).

        Raises:
            ParameterError: A value is not allowed, something is both set and swept, or no point meets the conditions.
            ScenarioError: A scenario is not valid.
            EngineError: The engine cannot run a scenario.
        """
        runs = plan_points(
            source or self.source(),
            self.grid(),
            self.fixed,
            replications=self.replications,
            seed=self.seed,
            seeds=self.seeds,
            keep=Keep.named(self.keep),
            where=self.conditions(),
            dry=dry,
        )
        if not runs:
            raise ParameterError("where: no point of the plan meets the conditions")
        return runs


def read_plan(path: Path | str) -> Plan:
    """The plan in a TOML file, or the one called `plan` in a Python file, which is a program: it is executed.

    Raises:
        ParameterError: The file cannot be read, or holds no plan; the text names file and key.
    """
    path = Path(path)
    try:
        if path.suffix == ".py":
            found = runpy.run_path(str(path)).get("plan")
            if not isinstance(found, Plan):
                raise ParameterError(f"{path}: defines no `plan = bloatlab.Plan(...)`")
            return found
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror or error}") from error
    except (ValueError, SyntaxError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{path}: cannot be read ({error})") from error
    document = read_document(path)
    try:
        plan = Plan.model_validate(document)
    except ValidationError as error:
        raise ParameterError(f"{path}: {_first(error)}") from error
    if isinstance(plan.scenario, str):
        plan.scenario = str(path.parent / plan.scenario)
    return plan


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(key) for key in first["loc"])
    if first["type"] == "extra_forbidden":
        names = ", ".join(field.alias or name for name, field in Plan.model_fields.items())
        return f"unknown key `{where}` (known: {names})"
    return f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}, not {first['input']!r}"
