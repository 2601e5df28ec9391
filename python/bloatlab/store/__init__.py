"""Results on disk: SQLite for runs, parameters, metrics and claims; Parquet parts for series and histograms."""

from bloatlab.store.identity import canonical, run_id
from bloatlab.store.store import Store
from bloatlab.store.writer import RunRecord, Writer

__all__ = ["RunRecord", "Store", "Writer", "canonical", "run_id"]
