"""Conditions that change during the run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

from bloatlab.experiments import criteria
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.rfc7928.base import LEVELS, Rfc7928, bulk, common, flows_at

PHASE = 20
"""Seconds of a phase: RFC 7928 section 8.2.5."""


class VaryingCongestion(Rfc7928):
    """Mild, then medium, then heavy congestion."""

    name = "rfc7928-varying-congestion"
    title = "Congestion that grows and falls"
    summary = (
        "Long flows come and go so that congestion is mild, medium, heavy and mild again, 20 s each: whether the queue "
        "follows, and what its delay is on the way."
    )
    section = "section 8.2.5"
    parameters: ClassVar[tuple[Parameter, ...]] = common(stop="80s", warmup="5s")
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.delay(),
        criteria.utilization(),
        criteria.loss(),
        criteria.loss_bursts(),
    )

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The mild level's flows throughout, and for each further level those that it adds, until the fourth phase."""
        counts = {level: flows_at(level, params) for level in LEVELS}
        found = [bulk(params, counts["mild"], name="bulk_mild")]
        for index, (below, level) in enumerate(pairwise(LEVELS)):
            if counts[level] > counts[below]:
                start, stop = PHASE * (index + 1), PHASE * len(LEVELS)
                more = counts[level] - counts[below]
                found.append(bulk(params, more, name=f"bulk_{level}", start=f"{start}s", stop=f"{stop}s"))
        return found
