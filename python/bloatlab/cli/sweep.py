"""`sweep`: the runs of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bloatlab.cli.console import patience
from bloatlab.cli.dry_run import show_plan
from bloatlab.cli.options import Output
from bloatlab.cli.ranking import weights_of
from bloatlab.cli.run import Job, carry_out
from bloatlab.cli.values import assignments, named, value
from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.experiments import CATALOGUE
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.store import Keep
from bloatlab.store.remote import place
from bloatlab.sweeps.document import read_plan
from bloatlab.sweeps.preview import preview


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
        dry_run: Only say what would be run, and what it would cost.
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
        swept = plan.swept()
        if dry_run:
            found = preview(
                source,
                plan.grid(),
                plan.fixed,
                replications=plan.replications,
                seed=plan.seed,
                where=plan.conditions(),
            )
            return show_plan(source.name, found, list(swept), Keep.named(plan.keep), output, settings)
        with patience("planning the runs", silent=output.quiet or output.json):
            runs = plan.runs(source)
    except BloatlabError as error:
        raise type(error)(f"{file}: {error}") from error
    of_plan = plan.out is not None and output.out is None
    directory = place(str(plan.out)) if of_plan else output.directory(source.name)
    experiment = CATALOGUE.get(source.name) if plan.experiment is not None else None
    weights = weights_of(output.weigh, {source.name: experiment})
    return carry_out(Job(source.name, runs, source.stored(swept), experiment, weights), directory, output, settings)
