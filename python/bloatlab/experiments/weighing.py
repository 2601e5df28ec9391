"""Weights of the groups of criteria in the score of a ranking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bloatlab.errors import ParameterError


@dataclass(frozen=True)
class Weights:
    """Weights that a user gives; every other group has weight 1.

    A key is the name of a group with `-` for spaces, such as `bulk-delay`, or one word of it: `delay` means every
    group with this word. The whole name has precedence over a word.
    """

    given: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Weights:
        """Reads weights as users write them.

        Raises:
            ParameterError: A weight is not a finite number of at least 0.
        """
        return cls({name: _number(name, text) for name, text in given.items()})

    def of(self, group: str) -> float:
        """Weight of a group.

        Raises:
            ParameterError: Two words name the group with different weights.
        """
        name = _key(group)
        if name in self.given:
            return self.given[name]
        words = [key for key in self.given if key in name.split("-")]
        if len({self.given[key] for key in words}) > 1:
            raise ParameterError(f"{' and '.join(words)}: both name the group `{name}`, with different weights")
        return self.given[words[0]] if words else 1.0

    def check(self, groups: Iterable[str]) -> None:
        """Checks that every weight belongs to a group, and that a group with a weight is left.

        Raises:
            ParameterError: One of them does not hold.
        """
        names = list(dict.fromkeys(_key(group) for group in groups))
        words = {word for name in names for word in (name, *name.split("-"))}
        for key in self.given:
            if key not in words:
                raise ParameterError(f"{key}: is no group of criteria of the ranking (allowed: {', '.join(names)})")
        if not any(self.of(name) for name in names):
            raise ParameterError("every group of criteria has weight 0, so there is nothing to rank by")


EQUAL = Weights()
"""Every group of criteria has the same weight."""


def _key(group: str) -> str:
    return group.replace(" ", "-")


def _number(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not (math.isfinite(weight) and weight >= 0):
        raise ParameterError(f"{name}: must be a number of at least 0, such as 2, not `{text}`")
    return weight
