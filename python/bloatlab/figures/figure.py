"""What a figure is: a function from tables to a chart, with its title, its caption and the tables it needs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bloatlab.figures import network
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.network import Tables
from bloatlab.figures.theme import WIDE
from bloatlab.visible import visible

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


class Drawing(Protocol):
    """Draws tables with a given width in pixels: as a `vega_lite.View`, or as an Altair chart."""

    __name__: str

    def __call__(self, tables: Tables, *, width: int) -> Any:
        """The chart."""


def specification(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, with its data, without the characters that crash the renderer.

    Args:
        chart: A `vega_lite.View` or an Altair chart.
    """
    spec, data = separated(chart)
    datasets = {name: rows.values for name, rows in data.items()}
    return {"$schema": SCHEMA, **spec, "datasets": datasets}


def separated(chart: Any) -> tuple[dict[str, Any], dict[str, vl.Rows]]:
    """As `specification`, with the data apart: the specification and the rows by name. Equal rows have equal names."""
    data: dict[str, vl.Rows] = {}
    if isinstance(chart, vl.View):
        return _named(chart, data), data
    spec = chart.to_dict(validate=False)
    names: dict[str, str] = {}
    for name, rows in spec.pop("datasets", {}).items():
        names[name] = _add(vl.Rows(rows), data)
    spec = _renamed(spec, names)
    spec.pop("$schema", None)
    return _named(spec, data), data


def _named(value: Any, data: dict[str, vl.Rows]) -> Any:
    """The specification with visible text, and with a name in the place of each table. Adds the tables to `data`."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_named(key, data): _named(item, data) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_named(item, data) for item in value]
    return {"name": _add(value, data)} if isinstance(value, vl.Rows) else value


def _add(rows: vl.Rows, data: dict[str, vl.Rows]) -> str:
    kept = vl.Rows(columns={visible(name): _shown(column) for name, column in rows.columns.items()})
    text = json.dumps(kept.columns, separators=(",", ":"))
    name = f"data-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    data[name] = kept
    return name


def _shown(column: Sequence[Any]) -> list[Any]:
    """The column with visible text, and null for what JSON does not have: infinities and NaN."""
    kinds = set(map(type, column))
    if any(issubclass(kind, float) for kind in kinds):
        column = [None if isinstance(item, float) and not math.isfinite(item) else item for item in column]
    if str in kinds:
        # A column repeats a few texts.
        texts = {item: visible(item) for item in {item for item in column if isinstance(item, str)}}
        column = [texts[item] if isinstance(item, str) else item for item in column]
    return list(column)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: {**item, "name": names[item["name"]]}
            if key == "data" and isinstance(item, dict) and item.get("name") in names
            else _renamed(item, names)
            for key, item in value.items()
        }
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value


def as_altair(chart: Any) -> Any:
    """The Altair chart of a `vega_lite.View`. An Altair chart is returned as it is."""
    if not isinstance(chart, vl.View):
        return chart
    import altair as alt

    kinds: dict[str, Any] = {
        "layer": alt.LayerChart,
        "vconcat": alt.VConcatChart,
        "hconcat": alt.HConcatChart,
        "concat": alt.ConcatChart,
        "spec": alt.FacetChart,
    }
    kind: Any = next((kind for key, kind in kinds.items() if key in chart), alt.Chart)
    return kind.from_dict(specification(chart), validate=False)


@dataclass(frozen=True)
class Figure:
    """A figure; call it with tables to draw it.

    Attributes:
        name: Name for `bloatlab figure`.
        title: Its heading.
        caption: What it shows, in a few sentences.
        needs: Names of the tables that must have rows.
        function: Draws the chart.
        when: Whether the tables hold the values that it shows.
        of_runs: It compares the runs of a store; otherwise it shows one run.
        width: Usual width in pixels.
        note: What was pooled or left out of these tables; empty if nothing.
    """

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]
    function: Drawing
    when: Callable[[Tables], bool]
    of_runs: bool
    width: int
    note: Callable[[Tables], str]

    def __call__(self, tables: Tables, *, width: int | None = None) -> Any:
        """Draws the figure as an Altair chart.

        Args:
            tables: Tables of a run, or for a figure that compares runs, tables of a store.
            width: Width of the whole figure in pixels; absent: its usual width.
        """
        return as_altair(self.view(tables, width=width))

    def view(self, tables: Tables, *, width: int | None = None) -> Any:
        """As `__call__`, without importing Altair: a `vega_lite.View`. A figure of a user may still be an Altair chart."""
        return self.function(tables, width=width or self.width)

    def applicable(self, tables: Tables) -> bool:
        """Whether the tables that it needs have rows with the values that it shows."""
        return all(not network.table(tables, name).is_empty() for name in self.needs) and self.when(tables)


def as_figure(
    *,
    title: str,
    caption: str,
    needs: tuple[str, ...],
    when: Callable[[Tables], bool] = lambda _: True,
    of_runs: bool = False,
    width: int = WIDE,
    note: Callable[[Tables], str] = lambda _: "",
) -> Callable[[Drawing], Figure]:
    """Decorator that makes a function a `Figure` of the same name. The arguments are the attributes of `Figure`."""

    def decorated(function: Drawing) -> Figure:
        return Figure(function.__name__, title, caption, needs, function, when, of_runs, width, note)

    return decorated
