"""Judges a run from its metrics, its plan and two of its tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bloatlab.judges.base import Exchanges
from bloatlab.judges.evidence import Metrics, collect, percentiles, through_bottleneck
from bloatlab.judges.verdict import Verdict, judge

if TYPE_CHECKING:
    from bloatlab.language import Plan

PROBES = ("probe", "interval_ms")
"""Columns of the table `probes` that judges read."""
BINS = ("name", "lower", "upper", "weight")
"""Columns of the table `histograms` that judges read, of the rows with the scope `probe` and the quantity `rtt`."""


def of_run(
    metrics: Metrics,
    plan: Plan | None,
    probes: Iterable[tuple[str, float]] = (),
    bins: Iterable[tuple[str, float, float, float]] = (),
    exchanges: Exchanges | None = None,
) -> Verdict:
    """Judges a run. Scores whose input is in a table that was not kept say so.

    Args:
        metrics: The metrics in the form of `--json`.
        plan: The plan of its scenario. None: this version does not accept the scenario, and all its flows count.
        probes: `PROBES` of each row of that table.
        bins: `BINS` of each row of that table.
        exchanges: What the probes of a responsiveness test measured.
    """
    return judge(
        collect(
            metrics,
            flows=through_bottleneck(plan, metrics),
            intervals_ms={str(name): interval for name, interval in probes if interval is not None},
            percentiles_ms=percentiles(bins),
            exchanges=exchanges,
        )
    )
