"""Commands that maintain a results directory: `store check`, `store repair`, `store upgrade`, and `runs`."""

from __future__ import annotations

from cyclopts import App

from bloatlab.cli.options import AllowPlugins, EngineName, Flag, Jobs, Stored
from bloatlab.settings import RunSettings

store = App(name="store", help="Checks, repairs or upgrades a results directory.")


@store.command
def check(directory: Stored, *, json: Flag = False) -> int:
    """Checks every file of a results directory.

    Lists missing and altered files. The exit code is 1 if there are any.

    Args:
        directory: Results directory, or its URL.
        json: Print one JSON object and nothing else.
    """
    import json as text

    from bloatlab.cli.console import complain, counted
    from bloatlab.store import Store
    from bloatlab.store.check import problems
    from bloatlab.store.remote import shown

    opened = Store(directory)
    where, runs, parts = shown(directory), opened.runs().height, len(opened.manifests())
    if json:
        listed = list(problems(opened))
        print(text.dumps({"directory": where, "runs": runs, "parts": parts, "problems": listed}))
        return 1 if listed else 0
    found = 0
    for problem in problems(opened):
        print(problem)
        found += 1
    if not found:
        print(f"{where}: {counted(runs, 'run')} in {counted(parts, 'part')}, no file is missing or altered")
        return 0
    complain(f"{where}: {counted(found, 'problem')}; `bloatlab store repair {where}` repairs what it can")
    return 1


@store.command
def upgrade(directory: Stored) -> None:
    """Converts a results directory of an older bloatlab to this version.

    Keeps a copy of the old database.

    Args:
        directory: Results directory, or its URL.
    """
    from bloatlab.store import Store, Writer
    from bloatlab.store.layout import Kind, kind
    from bloatlab.store.remote import is_url, local, shown

    if not is_url(directory) and kind(local(directory)) is Kind.EMPTY:
        Store(directory)
    with Writer(directory) as writer:
        copy = writer.upgraded
    print(
        f"{shown(directory)}: is already up to date"
        if copy is None
        else f"{shown(directory)}: upgraded; the old database is kept as {copy.name}"
    )


@store.command
def repair(
    directory: Stored, *, jobs: Jobs = None, engine: EngineName = None, allow_plugins: AllowPlugins = False
) -> int:
    """Repairs a damaged results directory.

    Rebuilds a missing or damaged database from the parts, and makes runs again whose files are missing or altered.
    Deletes only damaged parts whose runs were made again. The exit code is 1 if something could not be repaired.

    Args:
        directory: Results directory, or its URL.
        jobs: Number of threads that make runs [default: one per CPU core].
        engine: Engine that made the runs, if it is not built in.
        allow_plugins: Import the plugins (module:Class) that the runs name, which runs their code.
    """
    from bloatlab.cli.repair import repair_store

    return repair_store(directory, engine, RunSettings(jobs=jobs), allow_plugins=allow_plugins)


def runs(directory: Stored, *, json: Flag = False) -> None:
    """Lists the runs of a results directory.

    Each has its identity, state, engine, seed, experiment and parameters.

    Args:
        directory: Results directory, or its URL.
        json: Print one JSON object and nothing else.
    """
    from bloatlab.cli.repair import list_runs

    list_runs(directory, as_json=json)
