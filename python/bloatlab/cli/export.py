"""`export`: tables as CSV or Parquet, packets as pcap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.errors import StoreError
from bloatlab.store import Store
from bloatlab.store.remote import Place

if TYPE_CHECKING:
    import polars as pl

TABLES = ("flows", "links", "probes", "flow_series", "link_series", "probe_series", "histograms", "packets")


def export_tables(place: Place, form: str, out: Path | None) -> list[Path]:
    """Writes every table that has rows; one file a table, `run_id` first.

    Args:
        place: Results directory, or its URL.
        form: `csv` or `parquet`.
        out: Directory to write to; absent: `DIRECTORY/csv` or `DIRECTORY/parquet`.
    """
    store = Store(place)
    target = out if out is not None else store.directory / form
    frames = {
        "runs": store.runs(),
        "parameters": store.parameters(),
        "metrics": store.metrics(),
        "claims": store.claims(),
        **{name: store.table(name) for name in TABLES},
    }
    written = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, frame in frames.items():
            if not frame.is_empty():
                written.append(_write(frame, target / f"{name}.{form}", form))
    except OSError as error:
        raise StoreError(f"{error.filename or target}: {error.strerror or error}") from error
    store.publish()
    return written


def _write(frame: pl.DataFrame, path: Path, form: str) -> Path:
    with path.open("wb") as file:
        if form == "csv":
            frame.write_csv(file)
        else:
            frame.write_parquet(file)
    return path


def export_packets(place: Place, run_id: str, out: Path | None, link: str | None) -> Path:
    """Writes one run's packets as a pcap. The run is simulated again, which gives the same packets."""
    store = Store(place)
    result = store.run(run_id)
    path = out if out is not None else store.directory / f"{result.run_id}.pcap"
    result.write_pcap(path, link)
    store.publish()
    return path
