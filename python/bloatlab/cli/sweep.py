"""`sweep`: the runs of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bloatlab.cli.console import console
from bloatlab.cli.options import Output
from bloatlab.cli.run import Job, carry_out
from bloatlab.cli.values import assignments, named, value
from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.experiments import CATALOGUE
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.store.remote import place
from bloatlab.sweeps.document import Plan, read_plan
from bloatlab.sweeps.plan import PlannedRun
from bloatlab.visible import one_line

SHOWN = 10
"""Number of points that a dry run lists."""


def sweep_plan(
    file: Path,
    changes: dict[str, Any],
    set_: Sequence[str],
    output: Output,
    settings: RunSettings,
    *,
    dry_run: bool,
    allow_plugins: bool,
) -> int:
    """Makes the runs of a plan and returns the exit code.

    Args:
        file: The plan.
        changes: Fields of the plan that the command line gives, where not None.
        set_: `key=value` that override what the plan sets.
        output: Where results go.
        settings: How runs are made.
        dry_run: Only say what would be run.
        allow_plugins: Import whatever plugin the plan names.

    Raises:
        ParameterError: The plan cannot be read, or has a value that is not allowed.
    """
    program = file.suffix == ".py"
    if dry_run and program and not allow_plugins:
        raise ParameterError(
            f"{file}: --dry-run would execute this Python file to read its plan; allow it with --allow-plugins"
        )
    plan = read_plan(file)
    given = {name: named(name, value, text) for name, text in assignments(set_, "--set").items()}
    plan = plan.changed(given, **changes)
    try:
        # A plan in Python can import anything. For a document, the user must allow plugins.
        allowed = AllowedPlugins.named_in(set_, all=allow_plugins or program)
        # A dry run imports no engine that only the plan names. Its runs are listed without their identities.
        engine = settings.find_engine(allowed) if settings.engine is not None or dry_run else None
        source = plan.source(allowed, engine)
        runs = plan.runs(source, dry=dry_run)
    except BloatlabError as error:
        raise type(error)(f"{file}: {error}") from error
    swept = dict.fromkeys([*(name for point in plan.points for name in point), *plan.axes])
    if dry_run:
        _list(plan, source.name, runs, list(swept))
        return 0
    of_plan = plan.out is not None and output.out is None
    directory = place(str(plan.out)) if of_plan else output.directory(source.name)
    experiment = CATALOGUE.get(source.name) if plan.experiment is not None else None
    return carry_out(Job(source.name, runs, swept, experiment), directory, output, settings)


def _list(plan: Plan, name: str, runs: Sequence[PlannedRun], swept: Sequence[str]) -> None:
    points = {run.scenario: run.parameters for run in runs}
    out = console()
    out.print(f"{name}: {len(runs):,} runs, {len(points):,} points; {plan.keep} are kept of each run", highlight=False)
    for parameters in list(points.values())[:SHOWN]:
        out.print("  " + one_line(", ".join(f"{key}={parameters.get(key)}" for key in swept)), soft_wrap=True)
    if len(points) > SHOWN:
        out.print(f"  and {len(points) - SHOWN:,} more")
