"""The points of a plan, each made when it is asked for: a plan may have millions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, overload

from bloatlab.errors import ParameterError


class Grid(Sequence[dict[str, Any]]):
    """Every combination of the axes at each of the points: points outermost, the last axis varies fastest."""

    def __init__(
        self,
        axes: Mapping[str, Sequence[Any]],
        base: Mapping[str, Any],
        points: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """The combinations of axes and points.

        Args:
            axes: The values of each axis.
            base: Values that all points share, which no axis may have.
            points: Values that belong together; absent: one point without any.

        Raises:
            ParameterError: An axis has no values, or `base` or a point sets it.
        """
        for name, values in axes.items():
            if not values:
                raise ParameterError(f"{name}: no values to sweep")
            if name in base:
                raise ParameterError(f"{name}: is both set and swept")
        for place, point in enumerate(points):
            for name in point:
                if name in axes:
                    raise ParameterError(f"points.{place}.{name}: is on an axis, too")
        self._axes = axes
        self._points = points or [{}]
        self._of_axes = math.prod(map(len, axes.values()))

    def __len__(self) -> int:
        return len(self._points) * self._of_axes

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        outer, inner = divmod(place % len(self), self._of_axes)
        found: dict[str, Any] = {}
        for name, values in reversed(list(self._axes.items())):
            inner, at = divmod(inner, len(values))
            found[name] = values[at]
        return {**self._points[outer], **{name: found[name] for name in self._axes}}
