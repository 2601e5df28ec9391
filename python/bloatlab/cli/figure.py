"""`figure`: one figure of a results directory, saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.errors import BloatlabError, StoreError, unknown
from bloatlab.store import Store

if TYPE_CHECKING:
    import polars as pl


def save_figure(directory: Path, name: str, out: Path, run_id: str | None = None) -> Path:
    """Draws a figure over all runs, or of one run, and saves it."""
    from bloatlab.figures import REGISTRY, draw, save

    store = Store(directory)
    figure = REGISTRY.get(name.replace("-", "_"))
    if figure is None:
        raise unknown("figure", name, REGISTRY)
    tables = _tables_of_runs(store) if figure.of_runs else _tables_of_run(store, run_id)
    try:
        return save(draw(figure.name, tables), out)
    except OSError as error:
        raise StoreError(f"{out}: {error.strerror or error}") from error
    except ValueError as error:
        raise BloatlabError(str(error)) from error


def _tables_of_runs(store: Store) -> dict[str, pl.DataFrame]:
    return {"runs": store.runs(), "parameters": store.parameters(), "metrics": store.metrics()}


def _tables_of_run(store: Store, run_id: str | None) -> dict[str, pl.DataFrame]:
    runs = store.runs().filter(status="done")
    if runs.is_empty():
        raise StoreError(f"{store.directory}: holds no finished run")
    identity = store.find(run_id)["run_id"] if run_id else runs["run_id"][0]
    names = ("flows", "links", "probes", "flow_series", "link_series", "probe_series", "histograms")
    return {name: store.table(name, [identity]).drop("run_id") for name in names}
