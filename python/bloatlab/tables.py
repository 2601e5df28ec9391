"""Tables of a result, for whatever speaks Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from bloatlab.engines import ArrowTable


class Table:
    """One table through the Arrow PyCapsule interface: polars, pandas, pyarrow and DuckDB take it as it is."""

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
