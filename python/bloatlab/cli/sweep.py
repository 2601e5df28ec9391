"""`sweep`: the runs of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bloatlab.cli.console import console
from bloatlab.cli.run import Job, carry_out
from bloatlab.cli.values import named, settings, value
from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.experiments import CATALOGUE
from bloatlab.loading import AllowedPlugins
from bloatlab.store.remote import place
from bloatlab.sweeps.document import Plan, read_plan
from bloatlab.sweeps.plan import PlannedRun
from bloatlab.visible import one_line

SHOWN = 10
"""Points that a dry run lists."""


def sweep_plan(
    file: Path,
    changes: dict[str, Any],
    set_: Sequence[str],
    *,
    as_json: bool,
    jobs: int | None,
    scheduler: str | None,
    dry_run: bool,
    allow_plugins: bool,
) -> int:
    """Makes the runs of a plan and gives the exit code.

    Args:
        file: The plan.
        changes: Fields of the plan that the command line gives, where not None.
        set_: `key=value` that override what the plan sets.
        as_json: Print one JSON object.
        jobs: Threads.
        scheduler: Address of a dask scheduler.
        dry_run: Only say what would be run.
        allow_plugins: Import whatever plugin the plan names.

    Raises:
        ParameterError: The plan cannot be read, or says what is not allowed.
    """
    program = file.suffix == ".py"
    if dry_run and program and not allow_plugins:
        raise ParameterError(
            f"{file}: --dry-run would execute this Python file to read its plan; allow it with --allow-plugins"
        )
    plan = read_plan(file)
    given = {name: named(name, value, text) for name, text in settings(set_, "--set").items()}
    plan = plan.model_copy(
        update={
            "fixed": {**plan.fixed, **given},
            "axes": {name: values for name, values in plan.axes.items() if name not in given},
            **{name: new for name, new in changes.items() if new is not None},
        }
    )
    # A program imports what it wants; a document needs the user's word.
    plugins = AllowedPlugins.named_in(set_, all=allow_plugins or program)
    try:
        runs = plan.runs(plugins, dry=dry_run)
    except BloatlabError as error:
        raise type(error)(f"{file}: {error}") from error
    source = plan.source(plugins)
    swept = dict.fromkeys([*(name for point in plan.points for name in point), *plan.axes])
    if dry_run:
        _list(plan, source.name, runs, list(swept))
        return 0
    directory = place(plan.out) if plan.out is not None else Path("results") / source.name
    experiment = CATALOGUE.get(source.name) if plan.experiment is not None else None
    return carry_out(Job(source.name, runs, swept, directory, experiment, as_json, jobs, scheduler))


def _list(plan: Plan, name: str, runs: Sequence[PlannedRun], swept: Sequence[str]) -> None:
    points = {run.scenario: run.parameters for run in runs}
    out = console()
    out.print(f"{name}: {len(runs):,} runs, {len(points):,} points, of each the {plan.keep} are kept", highlight=False)
    for parameters in list(points.values())[:SHOWN]:
        out.print("  " + one_line(", ".join(f"{key}={parameters.get(key)}" for key in swept)), soft_wrap=True)
    if len(points) > SHOWN:
        out.print(f"  and {len(points) - SHOWN:,} more")
