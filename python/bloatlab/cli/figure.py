"""`figure`: saves one figure of a results directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.errors import BloatlabError, ParameterError, StoreError
from bloatlab.store import Store
from bloatlab.store.remote import Place, shown

if TYPE_CHECKING:
    from bloatlab.figures.figure import Figure
    from bloatlab.figures.network import Tables


def save_figure(
    directory: Place,
    name: str,
    out: Path,
    run_id: str | None = None,
    *,
    engine: str | None = None,
    allow_plugins: bool = False,
) -> Path:
    """Draws a figure of all runs or of one run, and saves it.

    Raises:
        ParameterError: There is no such figure, or it cannot be drawn from these results. The text says what it needs and
            which figures can be drawn.
        StoreError: There is no finished run, or the file cannot be written.
    """
    from bloatlab.figures import find, of_run, of_runs, save

    store = Store(directory)
    figure = find(name)
    if figure.of_runs:
        tables = of_runs(store)
    else:
        tables = of_run(store, run_id or first_run(store), allow_plugins=allow_plugins, engine=engine)
    if not figure.applicable(tables):
        other = of_run(store, run_id or first_run(store)) if figure.of_runs else of_runs(store)
        of_all, of_one = (tables, other) if figure.of_runs else (other, tables)
        raise ParameterError(
            f"figure `{figure.name}` cannot be drawn from {shown(store.directory)}: {_missing(figure, tables)}; figures that "
            f"can be drawn: {', '.join(of.name for of in drawable(of_all, of_one)) or 'none'}"
        )
    try:
        return save(figure(tables), out)
    except OSError as error:
        raise StoreError(f"{out}: {error.strerror or error}") from error
    except ValueError as error:
        raise BloatlabError(str(error)) from error


def drawable(of_all: Tables, of_one: Tables) -> list[Figure]:
    """The figures that can be drawn from a store.

    Args:
        of_all: Tables over all runs.
        of_one: Tables of one run.
    """
    from bloatlab.figures import REGISTRY

    return [figure for figure in REGISTRY.values() if figure.applicable(of_all if figure.of_runs else of_one)]


def _missing(figure: Figure, tables: Tables) -> str:
    """What a figure needs and does not find."""
    missing = [name for name in figure.needs if name not in tables or tables[name].is_empty()]
    of = "these runs" if figure.of_runs else "this run"
    if missing:
        return f"it needs {', '.join(missing)}, which {of} do{'' if figure.of_runs else 'es'} not have"
    return f"{of} lack{'' if figure.of_runs else 's'} the values that it shows ({figure.title})"


def first_run(store: Store) -> str:
    """Identity of the first finished run.

    Raises:
        StoreError: No run has finished.
    """
    runs = store.runs().filter(status="done")
    if runs.is_empty():
        raise StoreError(f"{store.directory}: holds no finished run")
    return str(runs["run_id"][0])
