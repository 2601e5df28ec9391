"""Makes the runs of a scenario or plan and judges its expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.expectations.expectation import Expectation
from bloatlab.expectations.expectation import read as read_expectations
from bloatlab.expectations.judging import Judged, judge, points_of
from bloatlab.language import EXPECT, ScenarioError
from bloatlab.loading import AllowedPlugins
from bloatlab.scenario.read import read
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store
from bloatlab.store.remote import Place, place
from bloatlab.sweeps import ExperimentSource, PlannedRun, ScenarioSource, Source, Summary, execute
from bloatlab.sweeps.collector import Progress
from bloatlab.sweeps.document import Plan, read_plan

PLAN_KEYS = ("experiment", "scenario")
"""A document with one of these keys is a plan."""


@dataclass(frozen=True)
class Checked:
    """A file whose expectations are judged."""

    file: Path
    directory: Place
    summary: Summary
    judged: Sequence[Judged]

    @property
    def holds(self) -> bool:
        """Whether every expectation holds; not if the runs were interrupted."""
        return not self.summary.interrupted and all(judged.holds for judged in self.judged)


@dataclass(frozen=True)
class Prepared:
    """The planned runs of a file, and its expectations with the points to which each applies."""

    file: Path
    runs: Sequence[PlannedRun]
    axes: Mapping[str, Sequence[Any]]
    """The values of each swept parameter as they are stored, in the order of the file."""
    expectations: Sequence[Expectation]
    directory: Place

    def check(self, settings: RunSettings, *, progress: Progress | None = None, command: str = "") -> Checked:
        """Makes the runs that are not stored and judges the expectations. Nothing is judged after Ctrl-C.

        Args:
            settings: How runs are made.
            progress: Called now and then with the progress.
            command: The command that requested the runs, for the store.

        Raises:
            ParameterError: A run has no value of a metric.
            StoreError: The results directory cannot be written.
            ClusterError: The scheduler cannot be reached or was lost.
        """
        summary = execute(self.runs, self.directory, settings, progress=progress, command=command, axes=self.axes)
        if summary.interrupted:
            return Checked(self.file, self.directory, summary, [])
        invalid = {run.run_id: reason for run, reason in (*summary.failed, *summary.suspect)}
        metrics = Store(self.directory).run_metrics([run.run_id for run in summary.measured])
        try:
            judged = [judge(of, points_of(of, summary.runs), metrics, invalid) for of in self.expectations]
        except ParameterError as error:
            raise ParameterError(f"{self.file}: {error}") from error
        return Checked(self.file, self.directory, summary, judged)


def prepare(
    file: Path,
    settings: RunSettings,
    *,
    given: Mapping[str, Any] | None = None,
    replications: int | None = None,
    seed: int | None = None,
    out: Place | None = None,
    plugins: AllowedPlugins | None = None,
) -> Prepared:
    """Reads a scenario or plan with its expectations and plans its runs. Makes none.

    Args:
        file: A scenario or a plan, TOML or JSON, or a plan in Python, which is executed.
        settings: How runs will be made.
        given: Values at dotted paths, or of an experiment's parameters; they replace what a plan sets or sweeps.
        replications: Runs of each point; absent: those of the plan, or 1.
        seed: Seed of the first replication; absent: that of the plan, or 42.
        out: Results directory or URL; absent: that of the plan, or `results/NAME`.
        plugins: The plugins that may be imported.

    Raises:
        ParameterError: The file cannot be read, has no expectations, or one of them is not allowed. The text names file and
            key.
        ScenarioError: The scenario is not valid.
        EngineError: The engine cannot run it.
    """
    for name in given or {}:
        if name.partition(".")[0] == EXPECT:
            raise ParameterError(
                f"{name}: expectations are not part of the scenario that is run; change them in {file}"
            )
    allowed = plugins or AllowedPlugins()
    program = file.suffix == ".py"
    document = {} if program else read(file)
    planned = program or any(key in document for key in PLAN_KEYS)
    plan = read_plan(file) if planned else Plan(scenario=document)
    allowed = AllowedPlugins(allowed.names, allowed.all or program)
    engine = settings.find_engine(allowed) if settings.engine is not None else None
    try:
        plan = plan.changed(given or {}, replications=replications, seed=seed)
        if Keep.named(plan.keep) < Keep.METRICS:
            plan = plan.changed({}, keep="metrics")
        source = plan.source(allowed, engine, file.stem)
        runs = plan.runs(source)
        expectations = _expectations(source, plan.expect)
        if not expectations:
            raise ParameterError(f"has no [[{EXPECT}]], so there is nothing to check (docs/check.md)")
        for of in expectations:
            points_of(of, runs)
    except (BloatlabError, ScenarioError) as error:
        raise type(error)(f"{file}: {error}") from error
    if out is None:
        out = Path("results") / source.name if plan.out is None else place(plan.out)
    return Prepared(file, runs, source.stored(plan.swept()), expectations, out)


def _expectations(source: Source, own: Any) -> list[Expectation]:
    """The expectations of a plan, then those of its scenario."""
    if isinstance(source, ExperimentSource):
        of = source.experiment
        return read_expectations(own, EXPECT, of.criteria, of.measures)
    found = read_expectations(own)
    if isinstance(source, ScenarioSource) and EXPECT in source.document:
        found += read_expectations(source.document[EXPECT], f"scenario.{EXPECT}" if own else EXPECT)
    return found
