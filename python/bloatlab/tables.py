"""Tables of a result, for all libraries that read Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bloatlab.errors import StoreError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from bloatlab.engines import ArrowTable


def named(run_id: str, tables: Mapping[str, ArrowTable], name: str) -> ArrowTable:
    """A table of a run's outcome.

    Raises:
        StoreError: The outcome has no table of that name.
    """
    if name not in tables:
        raise StoreError(f"run {run_id}: has no table `{name}` (it has {', '.join(sorted(tables))})")
    return tables[name]


class Table:
    """One table with the Arrow PyCapsule interface, which polars, pandas, pyarrow and DuckDB read directly."""

    def __init__(self, source: ArrowTable) -> None:
        """Wraps anything that has `__arrow_c_stream__`."""
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow C stream."""
        return self._source.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> pl.DataFrame:
        """The table as a polars frame, without a copy where possible."""
        import polars as pl

        return self._source if isinstance(self._source, pl.DataFrame) else pl.DataFrame(self._source)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame. Needs pandas."""
        import pandas as pd

        columns = self.to_polars().to_dict(as_series=False)
        return pd.DataFrame(columns)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self.to_polars().columns

    def __len__(self) -> int:
        return self.to_polars().height

    def __repr__(self) -> str:
        return f"Table({', '.join(self.column_names)}; {len(self)} rows)"
