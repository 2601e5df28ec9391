"""Writes Vega-Lite specifications as plain dicts.

Altair checks and copies every part of a chart, and takes a quarter of a second to import. A page with fifteen figures would
take longer than its run. So figures are written with the few words of Vega-Lite below, and become Altair charts only for
those who ask for one (`Figure.__call__`). Tests check every figure against the schema of Vega-Lite.
Source: https://vega.github.io/vega-lite/docs/spec.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}
_SORTED_BY_DEFAULT = frozenset(
    ("x", "y", "xOffset", "yOffset", "color", "shape", "strokeDash", "opacity", "size", "facet", "row", "column")
)
_SECONDARY = frozenset(("x2", "y2"))
"""Channels whose type is that of `x` and `y`."""


class Unset:
    """An option that is left out. `None` is written as `null`, which turns a title, an axis or a legend off."""


UNSET: Final = Unset()


def options(**keys: Any) -> dict[str, Any]:
    """Options as Vega-Lite names them, without those that are `UNSET`."""
    return {name: value for name, value in keys.items() if not isinstance(value, Unset)}


class Rows:
    """The data of a view: equally long columns. Views share them."""

    def __init__(
        self, values: Sequence[Mapping[str, Any]] = (), columns: Mapping[str, list[Any]] | None = None
    ) -> None:
        """Takes rows or columns.

        Args:
            values: Rows. Columns that a row lacks are null.
            columns: The columns by name.
        """
        if columns is None:
            names = list(dict.fromkeys(name for row in values for name in row))
            columns = {name: [row.get(name) for row in values] for name in names}
        self.columns: Mapping[str, list[Any]] = columns

    @property
    def values(self) -> list[dict[str, Any]]:
        """The rows."""
        names = list(self.columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]


class View(dict[str, Any]):
    """A specification: one mark over data, or a composition of views."""

    def encode(self, **channels: Any) -> Self:
        """The view with these encodings. A text is a field. Nominal values keep the order of the data."""
        encoding = {name: _channel(name, of) for name, of in channels.items() if not isinstance(of, Unset)}
        return self.properties(encoding=encoding)

    def properties(self, **keys: Any) -> Self:
        """The view with further properties, such as `width`."""
        return type(self)({**self, **options(**keys)})

    def resolve(self, part: str, **how: str) -> Self:
        """Says whether views share scales or legends: `resolve("legend", color="shared")`."""
        return self.properties(resolve={**self.get("resolve", {}), part: how})

    def facet(self, facet: dict[str, Any], data: Rows, columns: int, spacing: int) -> View:
        """Repeats the view, without data, for each value of a field."""
        return View(facet=_channel("facet", facet), data=data, columns=columns, spacing=spacing, spec=self)


def _channel(name: str, of: Any) -> Any:
    found = field(of) if isinstance(of, str) else of
    if name in _SECONDARY:
        return {key: item for key, item in found.items() if key != "type"}
    if name in _SORTED_BY_DEFAULT and found.get("type") == "nominal":
        # Vega-Lite sorts by the alphabet otherwise.
        return {"sort": None, **found}
    return found


def field(shorthand: str, **keys: Any) -> dict[str, Any]:
    """A field of the data: its name with its type, such as `time_s:Q`, and options of the channel."""
    name, _, kind = shorthand.rpartition(":")
    return options(field=name, type=_TYPES[kind], **keys)


def value(of: Any) -> dict[str, Any]:
    """A constant: pixels, a colour or a size."""
    return {"value": of}


def datum(of: Any) -> dict[str, Any]:
    """A constant in the units of the data."""
    return {"datum": of}


def mark(data: Rows | Unset, kind: str, **style: Any) -> View:
    """A view with one kind of mark.

    Args:
        data: The rows; unset if a view around it has them.
        kind: `line`, `area`, `bar`, `point`, `circle`, `rule`, `tick`, `rect` or `text`.
        **style: Options of the mark.
    """
    return View(options(data=data, mark=options(type=kind, **style)))


def layer(*views: View, **keys: Any) -> View:
    """Views over each other."""
    return View(options(layer=list(views), **keys))


def vconcat(*views: View, **keys: Any) -> View:
    """Views one below the other."""
    return View(options(vconcat=list(views), **keys))


def hconcat(*views: View, **keys: Any) -> View:
    """Views side by side."""
    return View(options(hconcat=list(views), **keys))


def concat(*views: View, **keys: Any) -> View:
    """Views in rows of `columns`."""
    return View(options(concat=list(views), **keys))


def parts_of(view: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The views of a composition, from the top or the left."""
    for key in ("layer", "vconcat", "hconcat", "concat"):
        yield from view.get(key, ())
    if "spec" in view:
        yield view["spec"]
