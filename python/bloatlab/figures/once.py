"""Tables that several figures draw, with what they have computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import polars as pl

T = TypeVar("T")


class SharedTables(dict[str, pl.DataFrame]):
    """Tables of a run or of a store that do not change while figures are drawn from them."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Nothing is computed from them yet."""
        super().__init__(tables)
        self.computed: dict[Callable[..., Any], Any] = {}


def once(function: Callable[[Mapping[str, pl.DataFrame]], T]) -> Callable[[Mapping[str, pl.DataFrame]], T]:
    """Makes a function compute its result for `SharedTables` once. For other tables, it computes it at each call."""

    @wraps(function)
    def result(tables: Mapping[str, pl.DataFrame]) -> T:
        if not isinstance(tables, SharedTables):
            return function(tables)
        if function not in tables.computed:
            tables.computed[function] = function(tables)
        found: T = tables.computed[function]
        return found

    return result
