"""The command `check`. `bloatlab.cli.check` implements it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.options import RUNNING, AllowPlugins, Flag, Results, Running, Set


def check(
    file: Path,
    *files: Annotated[Path, Parameter(show=False)],
    set_: Set = [],  # noqa: B006
    replications: int | None = None,
    seed: int | None = None,
    junit: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    out: Results = None,
    json: Flag = False,
    running: Running = RUNNING,
    allow_plugins: AllowPlugins = False,
) -> int:
    """Runs scenarios or plans and judges their expectations (docs/check.md).

    A file states them as `[[expect]]`. Every expectation must hold in every run. The exit code is 1 if one fails, and 2
    for bad input. Stored runs are read.

    Args:
        file: A scenario or a plan; a plan in Python is executed. Several files may follow.
        files: More files.
        set_: Value at a dotted path into the scenario, or of a parameter of the plan's experiment. Repeatable.
        replications: Runs of each point [default: 1, or those of the plan].
        seed: Seed of the first replication [default: 42, or that of the plan].
        junit: Also write the results to this JUnit XML file, with one test case per expectation and point.
        out: Results directory, or a URL such as s3://bucket/path [default: results/NAME, or that of the plan].
        json: Print one JSON object and nothing else.
        running: How runs are made.
        allow_plugins: Import the plugins (module:Class) that FILE names, which runs their code. Plugins named in
            --set need no flag.
    """
    from bloatlab.cli.check import Wanted, check_files

    wanted = Wanted([file, *files], set_, replications, seed, out, junit, json, allow_plugins)
    return check_files(wanted, running.settings())
