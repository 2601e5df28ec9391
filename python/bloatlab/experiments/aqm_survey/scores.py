"""The score: the sum of the ranks by TCP%, fairness within classes and ratio of drops; lower is better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

FAIRNESS_APART = 0.5
"""Points of F_TCP + F_CCP from which two neighbours have different ranks."""
CRITERIA = ("TCP%", "F_TCP + F_CCP", "D_TCP / D_CCP")


@dataclass(frozen=True)
class Score:
    """Ranks of a queue by each criterion, and the values behind them."""

    values: tuple[float, float, float]
    """TCP% and F_TCP + F_CCP in percent, D_TCP / D_CCP; the last is infinite if only TCP loses packets."""
    ranks: tuple[int, int, int]

    @property
    def total(self) -> int:
        """The sum of the ranks."""
        return sum(self.ranks)


def scores(measured: Mapping[str, Mapping[str, float]]) -> dict[str, Score]:
    """Scores of queues that are compared with each other.

    The slides do not say when queues share a rank. The following distances between neighbours give the published
    ranks from the published values: less than one point of TCP%, half a point of the sum of fairness, a tenth of the
    ratio. Queues that share a rank have the best of their ranks.

    Args:
        measured: Measures of each queue; both classes must have flows.
    """
    values = {
        queue: (of["tcp_share"], of["fair_tcp"] + of["fair_ccp"], _ratio(of["drop_tcp"], of["drop_ccp"]))
        for queue, of in measured.items()
    }
    places = [
        _places({queue: of[0] for queue, of in values.items()}, apart=1.0),
        _places({queue: of[1] for queue, of in values.items()}, apart=FAIRNESS_APART),
        _places({queue: math.log(of[2]) for queue, of in values.items()}, apart=math.log(1.1)),
    ]
    return {queue: Score(of, (places[0][queue], places[1][queue], places[2][queue])) for queue, of in values.items()}


def _ratio(tcp: float, ccp: float) -> float:
    if ccp > 0:
        # Without drops of TCP the ratio is the best possible value.
        return max(tcp / ccp, 1e-9)
    return math.inf if tcp > 0 else 1.0


def _places(values: Mapping[str, float], apart: float) -> dict[str, int]:
    """Ranks by value, the highest first; a neighbour within `apart` shares the rank."""
    order = sorted(values, key=lambda queue: -values[queue])
    places: dict[str, int] = {}
    for position, queue in enumerate(order):
        before = order[position - 1] if position else queue
        near = position > 0 and (values[before] == values[queue] or values[before] - values[queue] < apart)
        places[queue] = places[before] if near else position + 1
    return places
