"""How the values of each row depend on the slot in which the UE sounds the channel, which 5G-LENA draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bloatlab.experiments.claim import Claim, judge
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.nr_rlc.cases import OFFSETS, sounded
from bloatlab.experiments.nr_rlc.claims import CLAIMS, ROWS
from bloatlab.experiments.nr_rlc.reading import Reader, span
from bloatlab.experiments.nr_rlc.setup import ELEPHANT, MICE

VALUES: tuple[tuple[str, str, str, Callable[[float], str]], ...] = (
    ("mice received", MICE, "rx_packets", "{:,.0f}".format),
    ("their delay (ms)", MICE, "mean_delay", "{:,.3f}".format),
    ("elephant received", ELEPHANT, "rx_packets", "{:,.0f}".format),
    ("its delay (ms)", ELEPHANT, "mean_delay", "{:,.3f}".format),
)
"""Values that are shown of each row: heading, flow, metric and form."""


def of_row(case: str) -> list[Claim]:
    """The claims about a row, without the conclusions and the figure."""
    return [claim for claim in CLAIMS if claim.name.startswith(f"{case}: ") and claim.source == ROWS[case][-1]]


def holding(read: Reader, case: str, offset: int) -> int:
    """How many of the claims about a row hold with this slot."""
    cases = {case: read.cases[sounded(case, offset)]}
    return sum(judge(claim, cases).holds is True for claim in of_row(case))


def by_offset(read: Reader, offsets: Sequence[int] = OFFSETS) -> Finding:
    """The finding about the slot: ranges of the values, and with how many slots the claims hold.

    Args:
        read: Metrics of each row with each slot.
        offsets: The slots.
    """
    rows = []
    every = dict.fromkeys(offsets, 0)
    judged = 0
    for case in ROWS:
        runs = [sounded(case, offset) for offset in offsets]
        hold = {offset: holding(read, case, offset) for offset in offsets}
        claims = len(of_row(case))
        judged += claims
        for offset, count in hold.items():
            every[offset] += count
        rows.append(
            (
                case,
                *(_between([read.flow(run, flow, name) for run in runs], form) for _, flow, name, form in VALUES),
                f"{span(list(hold.values()))} of {claims}",
                f"{sum(count == claims for count in hold.values())} of {len(offsets)}",
            )
        )

    def most(flow: str, name: str) -> float:
        """The largest range of a metric over the slots in one row."""
        ranges = ([read.flow(sounded(case, offset), flow, name) for offset in offsets] for case in ROWS)
        return max(max(values) - min(values) for values in ranges)

    best = max(every.values())
    leaders = [offset for offset, count in every.items() if count == best]
    return Finding(
        "The slot of the sounding moves counts by a packet and delays by a fraction of a slot",
        "one value for each row; the slot in which the UE sounds the channel is not stated.",
        f"5G-LENA draws this slot from 80, and ours is fitted to these values. Over {len(offsets)} slots from {offsets[0]} to "
        f"{offsets[-1]}, a row's elephant receives up to {most(ELEPHANT, 'rx_packets'):.0f} packet more or less and its mean "
        f"delay changes by up to {most(ELEPHANT, 'mean_delay'):.2f} ms, the mice's by up to {most(MICE, 'mean_delay'):.2f} ms. "
        f"The mice's count changes by {most(MICE, 'rx_packets'):.0f} and the AQM's drops by "
        f"{max(most(MICE, 'dropped_aqm'), most(ELEPHANT, 'dropped_aqm')):.0f}. With the same slot in all rows, "
        f"{min(every.values())} to {best} of {judged} values agree within their tolerances, most with {_slots(leaders)}.",
        ("row", *(heading for heading, *_ in VALUES), "values that agree", "slots with which all agree"),
        tuple(rows),
        "Ranges over the slots.",
    )


def _slots(found: Sequence[int]) -> str:
    first, last = found[0], found[-1]
    if len(found) > 2 and last - first + 1 == len(found):
        return f"slots {first} to {last}"
    return f"{'slot' if len(found) == 1 else 'slots'} {', '.join(map(str, found))}"


def _between(values: Sequence[float], form: Callable[[float], str]) -> str:
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"
