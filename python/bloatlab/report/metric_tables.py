"""Tables of metrics, with one row per metric and one column per flow, link or probe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from bloatlab.analysis import order
from bloatlab.metrics import for_people
from bloatlab.report import text

# With more columns, a table shows the distribution over the entities instead.
MOST = 8

TITLES = {"flow": "Flow metrics", "link": "Link metrics", "network": "Network metrics", "probe": "Probe metrics"}


class Definition(Protocol):
    """Definition of a metric, such as `bloatlab.metrics.Definition`."""

    @property
    def unit(self) -> str:
        """Its unit."""

    @property
    def formula(self) -> str:
        """How it is computed."""

    @property
    def source(self) -> str:
        """The source that defines it."""

    @property
    def better(self) -> str:
        """`higher`, `lower` or `none`."""


Definitions = Mapping[tuple[str, str], Definition]


@dataclass(frozen=True)
class Cell:
    """One value of a table.

    Attributes:
        text: The text to show.
        sort: The number or text by which to sort.
        best: Whether it is the best of its row or column.
        link: Link target: an anchor on the page, or a file beside it. Empty for no link.
    """

    text: str
    sort: float | str | None = None
    best: bool = False
    link: str = ""


@dataclass(frozen=True)
class Row:
    """A metric: its name, its unit, what it means, and its cells."""

    name: str
    unit: str
    meaning: str
    anchor: str
    cells: list[Cell]


@dataclass(frozen=True)
class MetricTable:
    """Metrics of one scope: heading, names of the columns, rows, and a note if many entities are summarised."""

    scope: str
    title: str
    columns: list[str]
    rows: list[Row]
    note: str = ""


def tables(metrics: pl.DataFrame, definitions: Definitions, prefix: str = "") -> list[MetricTable]:
    """One table per scope that has metrics.

    Args:
        metrics: Rows of one run in `metrics` of the store.
        definitions: Definition of each (scope, metric).
        prefix: Prefix of the anchors of the definitions.
    """
    found = []
    for scope in TITLES:
        rows = metrics.filter(pl.col("scope") == scope)
        if not rows.is_empty():
            found.append(_table(scope, rows, definitions, prefix))
    return found


def _table(scope: str, metrics: pl.DataFrame, definitions: Definitions, prefix: str) -> MetricTable:
    entities = sorted(metrics["entity"].unique().to_list(), key=order.natural)
    pooled = len(entities) > MOST
    places = {name: index for index, (of, name) in enumerate(definitions) if of == scope}
    rows = []
    by_metric: dict[str, dict[str, float | None]] = {}
    units: dict[str, str | None] = {}
    for name, entity, value, unit in metrics.select("metric", "entity", "value", "unit").iter_rows():
        by_metric.setdefault(name, {})[entity] = value
        units.setdefault(name, unit)
    for name in sorted(by_metric, key=lambda name: (places.get(name, len(definitions)), name)):
        values, definition = by_metric[name], definitions.get((scope, name))
        better = definition.better if definition else "none"
        factor, unit = for_people(name, units[name] or (definition.unit if definition else ""))
        scaled = [None if (value := values.get(entity)) is None else factor * value for entity in entities]
        cells = (
            spread(pl.Series(scaled), unit)
            if pooled
            else best(scaled, better, [text.amount(value, unit) for value in scaled])
        )
        meaning = f"{definition.formula} ({definition.source})" if definition else ""
        anchor = f"{prefix}{scope}-{name}" if definition else ""
        rows.append(Row(name, unit, meaning, anchor, cells))
    if pooled:
        note = f"Distribution over {len(entities)} {scope}s."
        return MetricTable(scope, TITLES[scope], ["lowest", "median", "mean", "highest"], rows, note)
    return MetricTable(scope, TITLES[scope], ["value"] if scope == "network" else entities, rows)


def spread(values: pl.Series, unit: str) -> list[Cell]:
    """Lowest, median, mean and highest."""
    numbers = [values.min(), values.median(), values.mean(), values.max()]
    return [Cell(text.amount(float(value) if isinstance(value, int | float) else None, unit)) for value in numbers]


def best(values: Sequence[float | None], better: str, texts: Sequence[str], most: int | None = None) -> list[Cell]:
    """Cells of compared values, with the best marked.

    Values with the same text are equally good. None is marked if there is only one, or if more than half share the best.

    Args:
        values: The compared values.
        better: Whether `higher` or `lower` is better. With any other text, none is marked.
        texts: The values as text.
        most: Number of values to return, from the first. All if absent.
    """
    marked = ""
    present = [(value, shown) for value, shown in zip(values, texts, strict=True) if value is not None]
    if len(present) > 1 and better in {"higher", "lower"}:
        pick = max if better == "higher" else min
        _, winner = pick(present, key=lambda pair: pair[0])
        same = sum(shown == winner for _, shown in present)
        marked = winner if 2 * same <= len(present) else ""
    pairs = zip(values[:most], texts[:most], strict=True)
    return [Cell(shown, value, value is not None and shown == marked) for value, shown in pairs]


def unit_of(title: str) -> str:
    """The unit in a heading such as `delay (ms)`; empty if there is none."""
    return title.removesuffix(")").rpartition(" (")[2] if title.endswith(")") else ""
