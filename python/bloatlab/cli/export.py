"""`export`: tables as CSV, Parquet or SQLite, packets as pcap."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.errors import ParameterError, StoreError
from bloatlab.store import Store
from bloatlab.store.layout import MARKER
from bloatlab.store.parts import mark
from bloatlab.store.remote import Place, is_url
from bloatlab.visible import spreadsheet_safe

if TYPE_CHECKING:
    import polars as pl

TABLES = ("flows", "links", "probes", "flow_series", "link_series", "probe_series", "histograms", "packets")


def export_tables(place: Place, form: str, out: Path | None) -> list[Path]:
    """Writes each table that has rows to a file. The first column is `run_id`.

    Args:
        place: Results directory, or its URL.
        form: `csv` or `parquet`.
        out: Directory to write to; absent: `NAME-csv` or `NAME-parquet` here, where NAME is that of the results directory.
    """
    store = Store(place)
    target = out if out is not None else _beside(place, form)
    frames = {
        "runs": store.runs(),
        "parameters": store.parameters(),
        "metrics": store.metrics(),
        "claims": store.claims(),
        **{name: store.table(name) for name in TABLES},
    }
    return _write_all({name: frame for name, frame in frames.items() if not frame.is_empty()}, target, form)


def export_summary(place: Place, form: str, out: Path | None, *, bootstrap: bool = False) -> Path:
    """Writes one table with a row per point and metric: the mean over replications and its intervals.

    Args:
        place: Results directory, or its URL.
        form: `csv` or `parquet`.
        out: Directory to write to; absent: `NAME-csv` or `NAME-parquet` here, where NAME is that of the results directory.
        bootstrap: Give the bootstrap's interval too.
    """
    from bloatlab.analysis.aggregate import summary

    store = Store(place)
    frame = summary(store, bootstrap=bootstrap)
    (written,) = _write_all({"summary": frame}, out if out is not None else _beside(place, form), form)
    return written


def export_database(place: Place, out: Path | None) -> Path:
    """Writes all runs to one SQLite file.

    Args:
        place: Results directory, or its URL.
        out: The file; absent: `NAME.sqlite` here, where NAME is that of the results directory.
    """
    from bloatlab.exchange import tidy_database

    target = out if out is not None else Path(f"{_name(place)}.sqlite")
    tidy_database.write(Store(place), target)
    return target


def _name(place: Place) -> str:
    return (str(place).rstrip("/").rpartition("/")[2] if is_url(place) else Path(place).resolve().name) or "results"


def _beside(place: Place, form: str) -> Path:
    """Default directory for tables. It is in the working directory, because an export never writes into a store."""
    return Path(f"{_name(place)}-{form}")


def _write_all(frames: Mapping[str, pl.DataFrame], target: Path, form: str) -> list[Path]:
    """Writes a file for each table. Overwrites files only in a directory that an export made."""
    paths = [target / f"{name}.{form}" for name in frames]
    try:
        if not target.exists() or not any(target.iterdir()):
            target.mkdir(parents=True, exist_ok=True)
            mark(target)
        there = next((path for path in paths if path.exists() or path.is_symlink()), None)
        if there is not None and not (target / MARKER).is_file():
            raise StoreError(f"{there}: exists, and bloatlab did not export it; choose another --out")
        return [_write(frame, target / f"{name}.{form}", form) for name, frame in frames.items()]
    except OSError as error:
        raise StoreError(f"{error.filename or target}: {error.strerror or error}") from error


def _write(frame: pl.DataFrame, path: Path, form: str) -> Path:
    with path.open("wb") as file:
        if form == "csv":
            spreadsheet_safe(frame).write_csv(file)
        else:
            frame.write_parquet(file)
    return path


def export_packets(
    place: Place,
    run_id: str,
    out: Path | None,
    link: str | None,
    *,
    engine: str | None = None,
    allow_plugins: bool = False,
) -> Path:
    """Writes the packets of one run as a pcap. Simulates the run again, which gives the same packets."""
    store = Store(place)
    result = store.run(run_id)
    if allow_plugins:
        result.allow_plugins()
    if engine is not None:
        result.with_engine(engine)
    if link is not None and link not in result.link_metrics:
        known = ", ".join(result.link_metrics) or "none"
        raise ParameterError(f"--link {link}: run {result.run_id} has no such link (links: {known})")
    path = out if out is not None else Path(f"{result.run_id}.pcap")
    result.write_pcap(path, link)
    return path
