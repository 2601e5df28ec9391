"""`figure`: saves one figure of a results directory."""

from __future__ import annotations

from pathlib import Path

from bloatlab.errors import BloatlabError, StoreError
from bloatlab.store import Store
from bloatlab.store.remote import Place


def save_figure(
    directory: Place,
    name: str,
    out: Path,
    run_id: str | None = None,
    *,
    engine: str | None = None,
    allow_plugins: bool = False,
) -> Path:
    """Draws a figure of all runs or of one run, and saves it."""
    from bloatlab.figures import draw, find, of_run, of_runs, save

    store = Store(directory)
    figure = find(name)
    if figure.of_runs:
        tables = of_runs(store)
    else:
        tables = of_run(store, run_id or first_run(store), allow_plugins=allow_plugins, engine=engine)
    try:
        return save(draw(figure.name, tables), out)
    except OSError as error:
        raise StoreError(f"{out}: {error.strerror or error}") from error
    except ValueError as error:
        raise BloatlabError(str(error)) from error


def first_run(store: Store) -> str:
    """The first finished run."""
    runs = store.runs().filter(status="done")
    if runs.is_empty():
        raise StoreError(f"{store.directory}: holds no finished run")
    return str(runs["run_id"][0])
