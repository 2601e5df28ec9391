"""Which queue and parameters suit a link and its traffic: a multi-objective search by Optuna.

Trials are drawn in rounds of `ROUND`, whatever the number of threads. Each trial gets a sampler with a seed from its
number. So a trial depends only on the seed and on earlier rounds, and a search that was killed continues with the
same trials.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab import language
from bloatlab.analysis.bottleneck import Bottleneck
from bloatlab.analysis.choice import Choice, choose
from bloatlab.analysis.front import Found, Objective, front
from bloatlab.analysis.knobs import default_of, knobs, table_of
from bloatlab.analysis.space import Vary
from bloatlab.errors import BloatlabError, EngineError, ParameterError, StoreError
from bloatlab.language import ScenarioError
from bloatlab.settings import RunSettings
from bloatlab.store import Store, Writer, canonical, layout
from bloatlab.store.keep import Keep
from bloatlab.sweeps import (
    DEFAULT_SETTINGS,
    Ended,
    PlannedRun,
    Progress,
    Source,
    Standing,
    Summary,
    execute,
    plan_points,
)

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial, Trial

STUDY = "tune.sqlite"
ROUND = 8
"""Trials per round."""
REPLICATIONS = 3
"""Default number of replications of a trial: enough to tell a difference from noise."""
QUEUE = "queue"
QUEUES = ("fifo", "codel", "fq_codel", "pie", "cake")
"""Default queues: those of home routers."""


@dataclass(frozen=True)
class Problem:
    """A search: what is varied and what is optimised."""

    source: Source
    base: Mapping[str, Any]
    bottleneck: Bottleneck
    """What is tuned; its `path` is the parameter, or the dotted path, of the queue."""
    queues: Sequence[str]
    varied: Sequence[Vary]
    objectives: Sequence[Objective]
    replications: int = 1
    seed: int = 42
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of varied inputs in the trials with default parameters, where they are known."""

    @property
    def path(self) -> str:
        """Parameter, or dotted path, of the queue."""
        return self.bottleneck.path

    def settings(self) -> dict[str, Any]:
        """What must be equal for a search to continue in the same directory."""
        return {
            "source": self.source.name,
            "scenario": self._whole(),
            "engine": self.source.engine.version(),
            "queues": list(self.queues),
            "ranges": [[knob.name, knob.text] for kind in self.queues for knob in knobs(kind, self.bottleneck)],
            "varied": [[of.name, of.text] for of in self.varied],
            "objectives": [[of.direction, of.reading.text] for of in self.objectives],
            "replications": self.replications,
            "seed": self.seed,
        }

    def _whole(self) -> str:
        """The canonical scenario with fixed values for everything that is searched."""
        point = {self.path: self.start(self.queues[0]), **{of.name: of.at(0.0) for of in self.varied}}
        return plan_points(self.source, [point], self.base)[0].scenario

    def start(self, kind: str) -> dict[str, Any]:
        """The queue with its default parameters, and with the rate of the link where it shapes."""
        return table_of(kind, {knob.name: default_of(knob) for knob in knobs(kind, self.bottleneck)}, self.bottleneck)

    def point(self, trial: Trial) -> dict[str, Any]:
        """The values that a trial sets."""
        kind = _suggest(trial, Vary(QUEUE, tuple(self.queues)), self.seed)
        drawn = {knob.name: _suggest(trial, knob, self.seed) for knob in knobs(kind, self.bottleneck)}
        table = table_of(kind, drawn, self.bottleneck)
        others = {of.name: _suggest(trial, of, self.seed) for of in self.varied}
        return {
            self.path: table,
            **{of.name: others[of.name] if of.values else of.write(others[of.name]) for of in self.varied},
        }

    def runs(self, point: Mapping[str, Any]) -> list[PlannedRun]:
        """The replications of a trial.

        Raises:
            ParameterError: A value is not allowed.
            ScenarioError: The engine refuses the scenario.
        """
        return plan_points(
            self.source, [point], self.base, replications=self.replications, seed=self.seed, keep=Keep.METRICS
        )

    def queue_of(self, scenario: str) -> Mapping[str, Any]:
        """The tuned queue with all its parameters."""
        return language.plan(scenario).queues[self.bottleneck.links[0]].queue


def _suggest(trial: Trial, of: Vary, seed: int) -> Any:
    """A number in the unit of the range, or one of the values."""
    # A sampler per parameter: an interrupted trial keeps its drawn values, and these must not shift later draws.
    _seed(trial.study, seed, trial.number, of.name)
    if of.name == QUEUE:
        return trial.suggest_categorical(QUEUE, list(of.values))
    if of.values:
        return json.loads(trial.suggest_categorical(of.name, [canonical(value) for value in of.values]))
    if of.whole:
        return trial.suggest_int(of.name, int(of.low), int(of.high), log=of.log)
    return trial.suggest_float(of.name, of.low, of.high, log=of.log)


@dataclass(frozen=True)
class Outcome:
    """Result of a search."""

    trials: Sequence[Found]
    failed: int
    front: Sequence[Found]
    """The Pareto front, sorted by the first objective."""
    choice: Choice | None
    total: int
    interrupted: bool = False

    @property
    def recommended(self) -> Found | None:
        """The recommended trial; `None` if every trial failed."""
        return self.choice.recommended if self.choice else None

    @property
    def shown(self) -> list[Found]:
        """The front, then the recommended trial and the default of its queue if they are not on it."""
        more = (self.choice.recommended, self.choice.default) if self.choice else ()
        known = {one.number for one in self.front}
        rest = {one.number: one for one in more if one is not None and one.number not in known}
        return [*self.front, *rest.values()]


def tune(
    problem: Problem,
    directory: Path,
    trials: int,
    settings: RunSettings = DEFAULT_SETTINGS,
    *,
    command: str = "",
    progress: Progress | None = None,
    ended: Ended | None = None,
) -> Outcome:
    """Searches until there are `trials` trials; trials that the directory already has count.

    `progress` is called now and then, and `ended` with each run that has ended.

    Raises:
        ParameterError: The number of trials is below 1, a name is both varied and set, or the engine refuses what the
            problem says.
        EngineError: The engine gives other results in each run.
        StoreError: The directory holds another search, or cannot be written.
    """
    if trials < 1:
        raise ParameterError(f"trials: must be at least 1, not {trials}")
    if not problem.source.engine.reproducible:
        raise EngineError(f"engine {problem.source.engine.name}: gives other results in each run, so it cannot tune")
    for name in (problem.path, *problem.base):
        if any(of.name == name for of in problem.varied):
            raise ParameterError(f"{name}: is both varied and {'tuned' if name == problem.path else 'set'}")
    for kind in problem.queues:
        first = {of.name: of.at(0.0) for of in problem.varied}
        problem.runs({problem.path: problem.start(kind), **first})
    study = _study(problem, directory)
    interrupted = False
    while not interrupted and (trials_of_round := _next(study, trials)):
        interrupted = not _round(study, problem, directory, trials_of_round, trials, settings, command, progress, ended)
    return _outcome(study, problem, trials, interrupted)


def _study(problem: Problem, directory: Path) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # Refuses a directory with other contents before anything is written to it.
    Writer(directory).close()
    layout.refuse_link(directory / STUDY)
    settings = problem.settings()
    try:
        study = optuna.create_study(
            storage=optuna.storages.RDBStorage(f"sqlite:///{(directory / STUDY).resolve()}"),
            study_name="tune",
            directions=[of.direction for of in problem.objectives],
            load_if_exists=True,
        )
        known = study.user_attrs.get("settings")
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("optuna", "sqlalchemy", "sqlite3"):
            raise
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(f"{directory / STUDY}: is damaged, or is not a search ({why})") from error
    if known is None:
        study.set_user_attr("settings", settings)
    elif known != settings:
        apart = ", ".join(name for name, value in settings.items() if known.get(name) != value)
        raise StoreError(f"{directory}: has another search (it differs in {apart}); choose another --out")
    # The defaults of the registry come first, so that every queue is tried as Linux sets it up.
    for kind in list(problem.queues)[len(study.get_trials(deepcopy=False)) :]:
        queue = {knob.name: _stored(knob, default_of(knob)) for knob in knobs(kind, problem.bottleneck)}
        study.enqueue_trial({QUEUE: kind, **queue, **problem.defaults})
    return study


def _stored(of: Vary, value: Any) -> Any:
    """A value as the study has it: one of several values is text."""
    return canonical(value) if of.values else value


def _next(study: optuna.Study, total: int) -> list[int]:
    """Numbers of the trials of the next round; an interrupted round comes first."""
    known = study.get_trials(deepcopy=False)
    first = next((trial.number for trial in known if not trial.state.is_finished()), len(known))
    return list(range(first, min((first // ROUND + 1) * ROUND, total)))


def _seed(study: optuna.Study, seed: int, number: int, name: str = "") -> None:
    """Gives the study the sampler of a trial or of one of its parameters: a tree-structured Parzen estimator.

    This sampler takes parameters that only some queues have, and finds a front in a few dozen trials. NSGA-II (Deb et
    al. 2002) needs several generations. Source: Bergstra et al. 2011; Ozaki et al. 2022 for several objectives.
    """
    import optuna

    drawn = hashlib.sha256(f"{seed}\n{number}\n{name}".encode()).digest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.TPESampler(
            seed=int.from_bytes(drawn[:4], "big"),
            n_startup_trials=2 * ROUND,
            multivariate=True,
            group=True,
            constant_liar=True,
        )


def _ask(study: optuna.Study, problem: Problem, number: int) -> Trial:
    """Draws all parameters of a trial; an interrupted trial gets the same values again."""
    import optuna

    _seed(study, problem.seed, number)
    known = study.get_trials(deepcopy=False)
    if number < len(known) and known[number].state == optuna.trial.TrialState.RUNNING:
        return optuna.trial.Trial(study, known[number]._trial_id)
    return study.ask()


def _round(
    study: optuna.Study,
    problem: Problem,
    directory: Path,
    numbers: Sequence[int],
    total: int,
    settings: RunSettings,
    command: str,
    progress: Progress | None,
    ended: Ended | None,
) -> bool:
    """Draws, runs and records one round; `False` if it was interrupted."""
    asked: list[tuple[Trial, list[PlannedRun]]] = []
    for number in numbers:
        trial = _ask(study, problem, number)
        point = problem.point(trial)
        try:
            runs = problem.runs(point)
        except (EngineError, ParameterError, ScenarioError) as error:
            trial.set_user_attr("reason", str(error))
            runs = []
        else:
            queue = problem.queue_of(runs[0].scenario)
            # One attribute, because each is a commit.
            trial.set_user_attr("made", {"point": point, "queue": queue, "runs": [run.run_id for run in runs]})
        asked.append((trial, runs))
    planned = list({run.run_id: run for _, runs in asked for run in runs}.values())
    share = len(numbers) / max(1, len(planned))

    def tell(standing: Standing) -> None:
        if progress is not None:
            progress(replace(standing, done=min(total, numbers[0] + share * standing.done)))

    summary = execute(planned, directory, settings, progress=tell, ended=ended, command=command)
    if summary.interrupted:
        return False
    metrics = Store(directory).run_metrics([run.run_id for run in planned])
    for trial, runs in asked:
        _tell(study, problem, trial, runs, summary, metrics)
    return True


def _tell(
    study: optuna.Study,
    problem: Problem,
    trial: Trial,
    runs: Sequence[PlannedRun],
    summary: Summary,
    metrics: Mapping[str, Mapping[str, Any]],
) -> None:
    """The worst values over the replications of a trial, or the reason of its failure."""
    import optuna

    reasons = {run.run_id: reason for run, reason in (*summary.failed, *summary.suspect)}
    why = next((reasons[run.run_id] for run in runs if run.run_id in reasons), "" if runs else "refused")
    columns = []
    for objective in problem.objectives:
        column = [objective.reading.of(metrics[run.run_id]) for run in runs] if not why else []
        kept = [value for value in column if value is not None and math.isfinite(value)]
        if not why and len(kept) < len(column):
            why = f"a run has no `{objective.reading.text}`"
        columns.append(kept)
    if why:
        trial.set_user_attr("reason", trial.user_attrs.get("reason", why))
        study.tell(trial, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)
        return
    trial.set_user_attr("samples", columns)
    worst = [
        max(column) if of.minimise else min(column) for of, column in zip(problem.objectives, columns, strict=True)
    ]
    study.tell(trial, worst, skip_if_finished=True)


def _outcome(study: optuna.Study, problem: Problem, total: int, interrupted: bool) -> Outcome:
    import optuna

    complete = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    failed = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.FAIL,))
    found = [_found(problem, trial) for trial in complete]
    chosen = choose(found, problem.objectives)
    return Outcome(found, len(failed), front(found, problem.objectives), chosen, total, interrupted)


def _found(problem: Problem, trial: FrozenTrial) -> Found:
    made = trial.user_attrs["made"]
    point = made["point"]
    table = point[problem.path]
    # The first trials are the queues with their defaults.
    default = trial.number < len(problem.queues)
    tuned = ["(defaults)"] if default else [f"{name} {value}" for name, value in table.items() if name != "kind"]
    others = [f"{of.name}={point[of.name]}" for of in problem.varied]
    return Found(
        trial.number, table["kind"], ", ".join([" ".join([table["kind"], *tuned]), *others]), made["queue"],
        list(trial.values), trial.user_attrs["samples"], point, made["runs"], default,
    )  # fmt: skip


def describe(problem: Problem, found: Outcome) -> dict[str, Any]:
    """The result in the form of `--json`."""
    from bloatlab.analysis.knobs import tc_of

    def one(of: Found) -> dict[str, Any]:
        return {
            "trial": of.number,
            "queue": dict(of.queue),
            "set": dict(of.point),
            "default": of.default,
            "values": list(of.values),
            "means": of.means,
            "half_widths": of.half_widths,
            "runs": list(of.runs),
            "tc": tc_of(of.queue, problem.bottleneck),
        }

    return {
        "experiment": problem.source.name,
        "objectives": [
            {"metric": of.reading.text, "unit": of.reading.unit, "goal": of.direction} for of in problem.objectives
        ],
        "trials": len(found.trials),
        "failed": found.failed,
        "replications": problem.replications,
        "seed": problem.seed,
        "front": [one(of) for of in found.front],
        "recommended": one(found.recommended) if found.recommended else None,
        "why": found.choice.why if found.choice else None,
        "default": one(found.choice.default) if found.choice and found.choice.default else None,
        "best": one(found.choice.best) if found.choice else None,
    }


def nothing(found: Outcome, problem: Problem) -> BloatlabError:
    """The error where every trial failed."""
    return BloatlabError(f"{problem.source.name}: all {found.failed} trials failed, so there is nothing to recommend")
