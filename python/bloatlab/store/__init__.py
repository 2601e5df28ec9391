"""Results on disk: SQLite for runs, points and claims; Parquet parts for metrics, series and histograms."""

from bloatlab.store.identity import canonical, run_id
from bloatlab.store.keep import Keep
from bloatlab.store.records import RunRecord
from bloatlab.store.store import Store
from bloatlab.store.writer import Writer

__all__ = ["Keep", "RunRecord", "Store", "Writer", "canonical", "run_id"]
