"""Figures as data of a page, which its script draws where the reader looks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import separated
from bloatlab.figures.html_page import in_script

_AXIS = 40
"""Pixels of an axis with its title."""
_LEGEND = 30
_UNKNOWN = 300


@dataclass(frozen=True)
class Picture:
    """A chart on a page.

    Attributes:
        name: Unique on the page.
        specification: JSON for a script element: the specification, and the names of its tables.
        height: Its height in pixels, roughly. The page keeps this room free until the chart is drawn.
    """

    name: str
    specification: Markup
    height: int


class Drawings:
    """The charts of one page. Charts with equal tables share them."""

    def __init__(self) -> None:
        self._tables: dict[str, Markup] = {}

    def add(self, chart: Any, name: str) -> Picture:
        """Adds a chart under a name that is unique on the page."""
        spec, tables = separated(chart)
        for key, rows in tables.items():
            if key not in self._tables:
                self._tables[key] = Markup(in_script(compact(rows)))
        text = Markup(in_script({"tables": list(tables), "spec": spec}))
        return Picture(name, text, round(_height(spec)) + _LEGEND)

    @property
    def tables(self) -> Mapping[str, Markup]:
        """JSON of each table for a script element, by its name."""
        return self._tables


def compact(rows: vl.Rows) -> dict[str, Any]:
    """The columns of a table in a short form, which `figures.js` expands.

    `{"rows": 3, "columns": {"time_s": [0, 1, 2], "flow": {"of": ["a", "b"], "at": [0, 0, 1]}, "link": {"of": ["x"]}}}`: a
    column that repeats a few values has each value once; one that is constant needs no indices.
    """
    count = max((len(column) for column in rows.columns.values()), default=0)
    return {"rows": count, "columns": {name: _column(column) for name, column in rows.columns.items()}}


def _column(column: list[Any]) -> list[Any] | dict[str, Any]:
    if not column or isinstance(column[0], (list, dict)):
        return column
    # 1, 1.0 and true are equal keys of a dict, but not equal in JSON.
    keys = list(zip(map(type, column), column, strict=True))
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    if len(places) == len(column) > 1:
        return column
    at = [places[key] for key in keys]
    distinct = [item for _, item in places]
    if len(distinct) == 1:
        return {"of": distinct}
    return (
        {"of": distinct, "at": at} if len(json.dumps(distinct)) + 2 * len(at) < len(json.dumps(column)) / 2 else column
    )


def _height(view: Mapping[str, Any]) -> float:
    """Height of a specification in pixels, roughly."""
    if "vconcat" in view:
        parts = view["vconcat"]
        return sum(map(_height, parts)) + 14.0 * (len(parts) - 1)
    if "hconcat" in view:
        return max(map(_height, view["hconcat"]), default=0)
    if "concat" in view:
        parts = view["concat"]
        columns = view.get("columns", len(parts)) or 1
        return sum(max(map(_height, parts[at : at + columns])) for at in range(0, len(parts), columns))
    if "spec" in view:
        return _height(view["spec"]) * math.ceil(2 / (view.get("columns") or 1))
    height = view.get("height", _UNKNOWN)
    return (height if isinstance(height, (int, float)) else _UNKNOWN) + _AXIS
