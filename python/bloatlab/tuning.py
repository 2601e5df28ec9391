"""What the command `tune` does, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.analysis import readings
from bloatlab.analysis import tune as search
from bloatlab.analysis.advice import advice
from bloatlab.analysis.front import Found, Objective
from bloatlab.analysis.knobs import tc_of
from bloatlab.analysis.problem import problem_of
from bloatlab.analysis.space import Vary
from bloatlab.api import Scenario, source_of
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.sweeps import ExperimentSource

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import Engine

TRIALS = 100
"""Default number of trials, as of the command."""


class Tuned:
    """The result of a search: what it recommends and why, and the Pareto front."""

    def __init__(self, problem: search.Problem, outcome: search.Outcome, recommended: Found) -> None:
        """Made by `bloatlab.tune`."""
        self.problem = problem
        """What was tuned, over which ranges, for which goals."""
        self.outcome = outcome
        """All trials."""
        self.recommended = recommended
        """The recommended trial."""

    @property
    def queue(self) -> dict[str, Any]:
        """The recommended queue as a table, which a scenario takes."""
        return dict(self.recommended.queue)

    @property
    def tc(self) -> list[str]:
        """The commands that set the recommended queue up on Linux; or one comment that says why Linux cannot."""
        return tc_of(self.recommended.queue, self.problem.bottleneck).split("; ")

    @property
    def advice(self) -> list[str]:
        """Sentences: what is recommended and why, its worst values, and its distance to the default."""
        return advice(self.problem, self.outcome, "{:.4g}".format)

    def to_polars(self) -> pl.DataFrame:
        """The Pareto front, the recommended trial and the default of its queue, one row each.

        `trial`, `queue` (with its tuned parameters), `recommended`, `front`, and a column for each goal: its worst value
        over the replications.
        """
        import polars as pl

        on_front = {one.number for one in self.outcome.front}
        rows = [
            {
                "trial": one.number,
                "queue": one.label,
                "recommended": one.number == self.recommended.number,
                "front": one.number in on_front,
                **{of.title: value for of, value in zip(self.problem.objectives, one.values, strict=True)},
            }
            for one in self.outcome.shown
        ]
        return pl.DataFrame(rows)

    def __repr__(self) -> str:
        return "\n".join([*self.advice, *self.tc])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.advice)
        return f"<div>{said}<pre>{escape(chr(10).join(self.tc))}</pre>{self.to_polars()._repr_html_()}</div>"


def tune(
    scenario: Scenario,
    /,
    *,
    queues: Sequence[str] | None = None,
    vary: Mapping[str, Sequence[Any] | str] | None = None,
    minimise: Sequence[str] = (),
    maximise: Sequence[str] = (),
    trials: int = TRIALS,
    replications: int | None = None,
    seed: int = 42,
    engine: str | Engine | None = None,
    out: Path | str | None = None,
    jobs: int | None = None,
    allow_plugins: bool = False,
    **parameters: Any,
) -> Tuned:
    """Searches the best queue and parameters for a link and its traffic. It needs the packages of `bloatlab[analysis]`.

    Args:
        scenario: As for `bloatlab.run`: an experiment with a parameter `queue`, or a document.
        queues: Queues to try; absent: those that are common in home routers.
        vary: What else is varied: values, or a range such as `"5ms..200ms"`, by parameter or path.
        minimise: Metrics to minimise, such as `"probe.ping.p95_rtt"`; absent, as `maximise`: the default goals.
        maximise: Metrics to maximise.
        trials: Number of trials. Trials that `out` already has count.
        replications: Runs of each trial, whose worst value counts; absent: three.
        seed: Seed of the first replication.
        engine: What makes the runs; absent: the simulator.
        out: Directory of the search, which can be continued; absent: `results/NAME-tune`.
        jobs: Number of threads; absent: one per CPU core.
        allow_plugins: Import all plugins (`"module:Class"`) that the document names.
        **parameters: Values that all trials share.

    Returns:
        The recommendation with its reasons, and the front. A shell prints the advice and the tc commands.

    Raises:
        ParameterError: There is nothing to tune, or a queue, a range or a metric is not allowed.
        ScenarioError: The scenario is not valid.
        EngineError: The engine gives other results in each run.
        StoreError: `out` holds another search, or cannot be written.
        BloatlabError: Every trial failed.
        KeyboardInterrupt: Ctrl-C; finished trials are kept.
    """
    settings = RunSettings(engine=engine, jobs=jobs)
    source = source_of(scenario, AllowedPlugins.named_in(parameters, all=allow_plugins), settings)
    experiment = source.experiment if isinstance(source, ExperimentSource) else None
    criteria, measures = (experiment.criteria, experiment.measures) if experiment else ((), {})

    def read(text: str) -> readings.Reading:
        return readings.number(text, criteria, measures)

    ranges = [
        Vary.between(name, *values.split("..", 1)) if isinstance(values, str) else Vary(name, tuple(values))
        for name, values in (vary or {}).items()
    ]
    goals = [Objective(read(text), True) for text in minimise] + [Objective(read(text), False) for text in maximise]
    problem = problem_of(
        source,
        experiment,
        parameters,
        queues=queues,
        ranges=ranges,
        objectives=goals,
        read=read,
        replications=replications,
        seed=seed,
    )
    directory = Path("results") / f"{source.name}-tune" if out is None else Path(out)
    found = search.tune(problem, directory, trials, settings, command=f"bloatlab.tune({source.name!r})")
    if found.interrupted:
        raise KeyboardInterrupt
    if found.recommended is None:
        raise search.nothing(found, problem)
    return Tuned(problem, found, found.recommended)
