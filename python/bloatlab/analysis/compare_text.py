"""The verdict of a comparison in one sentence, and the metrics that its table shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bloatlab.analysis.compare import Comparison, Row
from bloatlab.analysis.readings import WORDS, named
from bloatlab.experiments.phrases import plural
from bloatlab.metrics import for_people

Number = Callable[[float], str]
"""Writes a number."""

CERTAIN = (
    "All replications of a side are equal, so nothing in these scenarios is random. Flows with a `start_jitter` show how "
    "much of the difference depends on chance."
)
"""Said where replications cannot tell how much is noise."""
LEAST = 1e-4
"""Smallest relative difference that counts where noise is not judged: the tables show four digits."""
_DELAYS = [
    ("probe", "p95_rtt"),
    ("link", "p95_sojourn"),
    ("link", "mean_sojourn"),
    ("network", "mean_srtt"),
    ("flow", "mean_srtt_l4"),
]
_THROUGHPUTS = [("network", "agg_throughput"), ("flow", "mean_throughput_l4"), ("flow", "mean_throughput_l7")]
"""Metrics that the verdict names, the first that differs of each kind."""


def sentence(found: Comparison, number: Number) -> str:
    """What changed, by how much, and whether it is more than noise."""
    if found.identical:
        return f"Nothing differs: all {plural(len(found.rows), 'value')} of {found.b} equal those of {found.a}."
    named = _headline(found)
    if not named and not found.judged:
        return f"No metric differs by {100 * LEAST:g} % or more between {found.a} and {found.b}."
    if not named:
        closest = next(row for row in found.rows if not row.difference.identical)
        return (
            f"No metric differs by more than noise between {found.a} and {found.b}; the largest effect is that "
            f"{_change(closest, number)}."
        )
    changes = " and ".join(_change(row, number) for row in named)
    at = f" with {named[0].said}" if found.matched > 1 else ""
    both = "both " if len(named) > 1 else ""
    noise = (
        f", {both}by more than noise"
        if found.judged
        else "; one replication cannot tell whether this is more than noise"
    )
    return f"From {found.a} to {found.b}{at}, {changes}{noise}."


def _headline(found: Comparison) -> list[Row]:
    """The delay and the throughput that differ most, at one point; of other metrics the one with the largest effect."""
    apart = shown(found, everything=False)
    delay = _largest(apart, _DELAYS)
    here = [row for row in apart if delay is None or row.point == delay.point]
    named = [row for row in (delay, _largest(here, _THROUGHPUTS)) if row is not None]
    return named or apart[:1]


def _largest(rows: Sequence[Row], kinds: Sequence[tuple[str, str]]) -> Row | None:
    for kind in kinds:
        if of_kind := [row for row in rows if (row.scope, row.metric) == kind]:
            return max(of_kind, key=lambda row: abs(row.difference.difference))
    return None


def _change(row: Row, number: Number) -> str:
    """Such as `the mean sRTT falls from 80 to 42 ms (-48 %)`."""
    of = row.difference
    text = WORDS.get((row.scope, row.metric))
    name = f"the {text.format(named(row.entity))}" if text else row.name
    percent = 100 * of.difference / abs(of.mean_a) if of.mean_a else None
    share = "" if percent is None else f" ({percent:+,.0f} %)" if abs(percent) >= 100 else f" ({percent:+.2g} %)"
    way = "rises" if of.difference > 0 else "falls"
    factor, unit = for_people(row.metric, row.unit)
    return f"{name} {way} from {number(factor * of.mean_a)} to {number(factor * of.mean_b)} {unit}".rstrip() + share


def advice(found: Comparison) -> str:
    """What to do to judge the noise. Empty if it is judged, or if there is nothing to judge."""
    if found.identical:
        return ""
    if found.judged:
        intervals = [row.difference.interval for row in found.rows if row.difference.interval]
        return CERTAIN if all(interval.low == interval.high for interval in intervals) else ""
    if found.measured:
        return "To judge noise, import several measurements of the same link into each side."
    return "To judge noise, run both with --replications 5."


def shown(found: Comparison, *, everything: bool) -> list[Row]:
    """The rows of the table: those that differ, or all."""
    return [row for row in found.rows if everything or _differs(found, row)]


def _differs(found: Comparison, row: Row) -> bool:
    """Whether the table shows it as a difference. Without a judgement of noise, the last digits are no difference."""
    return row.apart and (found.judged or row.relative >= LEAST)


def counts(found: Comparison) -> str:
    """How many metrics differ, and how many do not."""
    total = len(found.rows)
    apart = sum(_differs(found, row) for row in found.rows)
    same = sum(row.difference.identical for row in found.rows)
    if apart == total:
        said = f"{plural(total, 'metric')} differ{'s' if total == 1 else ''}"
    else:
        said = f"{total - apart} of {plural(total, 'metric')} do{'es' if total - apart == 1 else ''} not differ"
    if not found.judged:
        return said + (f" by {100 * LEAST:g} % or more" if apart + same < total else "")
    rule = f" (p at most {1 - found.confidence:.3g}, adjusted after {found.correction.title()})"
    equal = f"; {same} of them {'is' if same == 1 else 'are'} equal" if same else ""
    return f"{said} by more than noise{rule}{equal}"
