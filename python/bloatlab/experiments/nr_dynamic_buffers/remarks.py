"""Who wins where, and what becomes of common claims about buffers in 5G, read from the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bloatlab.experiments.ranking import Observation
from bloatlab.experiments.remark import Remark

DELAY = "voip_delay_p99"
ROUND_TRIP = "bulk_rtt_p95"
GOODPUT = "bulk_goodput"
PAGE = "web_p95"
LOST = "retransmitted"
NEAR = 0.95
"""Share of the best goodput from which on none is said to have given throughput up."""
SIZED = ("drql", "dynrlc", "bdp")
MARKING = ("dualpi2_prague", "l4span", "l4span_ecn")


@dataclass(frozen=True)
class Table:
    """Means over replications."""

    means: dict[tuple[str, str, str], float]
    """By point, scheme and criterion."""
    points: list[str]
    schemes: list[str]

    @classmethod
    def of(cls, observed: Sequence[Observation]) -> Table:
        """From the runs."""
        found: dict[tuple[str, str, str], list[float]] = {}
        for one in observed:
            for criterion, value in one.values.items():
                if value is not None:
                    found.setdefault((one.point, one.contender, criterion), []).append(value)
        return cls(
            {key: fmean(values) for key, values in found.items()},
            list(dict.fromkeys(one.point for one in observed)),
            list(dict.fromkeys(one.contender for one in observed)),
        )

    def get(self, point: str, scheme: str, criterion: str) -> float | None:
        """One mean."""
        return self.means.get((point, scheme, criterion))

    def column(self, point: str, criterion: str) -> dict[str, float]:
        """Of each scheme that has a value at a point."""
        return {scheme: value for scheme in self.schemes if (value := self.get(point, scheme, criterion)) is not None}

    def ratios(self, scheme: str, other: str, criterion: str) -> dict[str, float]:
        """A scheme's value over another's, at each point where both have one."""
        pairs = (
            (point, self.get(point, scheme, criterion), self.get(point, other, criterion)) for point in self.points
        )
        return {point: mine / theirs for point, mine, theirs in pairs if mine is not None and theirs}


def remarks(observed: Sequence[Observation]) -> list[Remark]:
    """What the runs say; only of schemes that took part."""
    table = Table.of(observed)
    said = (winners, deep, disciplines, cost, moved, shaped, marking, modes)
    return [remark for say in said if (remark := say(table)) is not None]


def winners(table: Table) -> Remark | None:
    """The best at each point by delay, by goodput, and by both."""
    rows = []
    for point in table.points:
        delays, rates = table.column(point, DELAY), table.column(point, GOODPUT)
        if len(delays) < 2 or len(rates) < 2:
            continue
        quick, fast = min(delays, key=delays.__getitem__), max(rates, key=rates.__getitem__)
        full = {name: delays[name] for name in delays if rates.get(name, 0.0) >= NEAR * rates[fast]}
        both = min(full, key=full.__getitem__) if full else None
        rows.append((
            _place(point),
            f"{quick} ({delays[quick]:.1f} ms, {rates.get(quick, 0.0):.0f} Mbit/s)",
            f"{fast} ({rates[fast]:.0f} Mbit/s, {delays[fast]:.1f} ms)" if fast in delays else fast,
            f"{both} ({full[both]:.1f} ms, {rates[both]:.0f} Mbit/s)" if both else "none",
        ))  # fmt: skip
    if not rows:
        return None
    text = (
        f"The last column is who has the shortest delay among those that carry at least {NEAR:.0%} of the highest goodput. "
        + "; ".join(
            f"{title}: {_tally([row[column].partition(' ')[0] for row in rows])}"
            for column, title in ((1, "shortest delay"), (2, "highest goodput"), (3, "both"))
        )
        + "."
    )
    columns = ("where", "shortest delay of the call (p99)", "highest goodput", "shortest delay at full goodput")
    return Remark("Who wins where", text, columns, tuple(rows))


def deep(table: Table) -> Remark | None:
    """What an unmanaged buffer costs."""
    rows = []
    for point in table.points:
        delays = table.column(point, DELAY)
        if "tail" in delays and len(delays) > 1:
            best = min(delays, key=delays.__getitem__)
            small = delays.get("tail_small")
            rows.append((
                _place(point), f"{delays['tail']:.0f}", "–" if small is None else f"{small:.0f}", f"{delays[best]:.1f} ({best})",
            ))  # fmt: skip
    if not rows:
        return None
    worst = [max(column, key=column.__getitem__) for point in table.points if (column := table.column(point, DELAY))]
    text = (
        f"99 in 100 packets of the call come within these ms. The deep buffer is the slowest at {worst.count('tail')} of "
        f"{len(worst)} places."
    )
    kept = table.ratios("tail_small", "tail", GOODPUT)
    if kept:
        text += f" A shallow one keeps {_range(kept, 100, ' %')} of its goodput."
    columns = ("where", "tail (ms)", "tail_small (ms)", "best (ms)")
    return Remark("A deep buffer is bloat in 5G too", text, columns, tuple(rows))


def disciplines(table: Table) -> Remark | None:
    """Queue disciplines in the RLC against those above a short RLC."""
    rows = []
    for scheme in ("codel", "fq_codel", "pie", *SIZED, "upf_pacer"):
        if scheme == "fq_codel":
            continue
        delays, rates = table.ratios(scheme, "fq_codel", DELAY), table.ratios(scheme, "fq_codel", GOODPUT)
        trips = table.ratios(scheme, "fq_codel", ROUND_TRIP)
        if delays and rates and trips:
            quicker = sum(ratio < 1 for ratio in delays.values())
            rows.append((
                scheme, f"{quicker} of {len(delays)}", _range(delays, 1, ""), _range(trips, 1, ""), _range(rates, 1, ""),
            ))  # fmt: skip
    if not rows:
        return None
    sizing = [row for row in rows if row[0] in (*SIZED, "upf_pacer")]
    better = [row[0] for row in sizing if 2 * int(row[1].split()[0]) > int(row[1].split()[2])]
    text = "The claim: an AQM in the RLC is not enough, the RLC must be kept short so that a queue above can treat flows apart. "
    if sizing:
        text += (
            f"Against FQ-CoDel in the RLC itself the call is quicker at most places under {' and '.join(better)}."
            if better
            else "Against FQ-CoDel in the RLC itself none of the laws of sizing makes the call quicker at most places."
        )
    columns = (
        "scheme",
        "call quicker than under fq_codel",
        "its delay p99 over fq_codel's",
        "RTT p95 over its",
        "goodput over its",
    )
    return Remark("An AQM in the RLC, or a short RLC", text, columns, tuple(rows))


def cost(table: Table) -> Remark | None:
    """What short delays cost in goodput."""
    rows = []
    for scheme in table.schemes:
        kept = table.ratios(scheme, "tail", GOODPUT)
        if scheme == "tail" or not kept:
            continue
        least = min(kept, key=kept.__getitem__)
        rows.append((scheme, f"{100 * fmean(kept.values()):.0f} %", f"{100 * kept[least]:.0f} %", _place(least)))
    if not rows:
        return None
    rows.sort(key=lambda row: -float(row[1].split()[0]))
    low = [row[0] for row in rows if float(row[2].split()[0]) < 100 * NEAR]
    text = f"The claim: short buffers cost no throughput. {len(rows) - len(low)} of {len(rows)} schemes keep at least {NEAR:.0%} of the deep buffer's goodput everywhere."
    columns = ("scheme", "of the goodput under tail, mean", "least", "where")
    return Remark("What short delays cost", text, columns, tuple(rows))


def moved(table: Table) -> Remark | None:
    """Sizing without a queue discipline."""
    rows = [
        (_place(point), f"{tail:.0f}", f"{plain:.0f}", f"{fair:.1f}")
        for point in table.points
        if (tail := table.get(point, "tail", DELAY)) is not None
        and (plain := table.get(point, "bdp_tail", DELAY)) is not None
        and (fair := table.get(point, "bdp", DELAY)) is not None
    ]
    if not rows:
        return None
    ratios = table.ratios("bdp_tail", "tail", DELAY)
    text = (
        f"5G-BDP over a plain queue leaves the call {_range(ratios, 100, ' %')} of the deep buffer's delay: the law decides where "
        "packets wait, the queue discipline there how long."
    )
    columns = ("where", "tail (ms)", "5G-BDP, plain queue (ms)", "5G-BDP, FQ-CoDel (ms)")
    return Remark("Sizing alone moves the queue", text, columns, tuple(rows))


def shaped(table: Table) -> Remark | None:
    """A UPF that shapes to a rate which the channel does not keep."""
    rows = [
        (_place(point), f"{aqm:.1f}", f"{inside:.1f}", f"{100 * rate / best:.0f} %")
        for point in table.points
        if (aqm := table.get(point, "upf_aqm", DELAY)) is not None
        and (inside := table.get(point, "fq_codel", DELAY)) is not None
        and (rate := table.get(point, "upf_aqm", GOODPUT)) is not None
        and (best := max(table.column(point, GOODPUT).values(), default=0.0))
    ]
    if not rows:
        return None
    ratios = table.ratios("upf_aqm", "fq_codel", DELAY)
    holds = sum(ratio <= 1.5 for ratio in ratios.values())
    text = (
        "The claim: the operator's router can do it. FQ-CoDel in a UPF that sends at a fixed rate stays within one and a half times the delay of "
        f"the same queue in the RLC at {holds} of {len(ratios)} places; where the radio falls below that rate the queue stands in the RLC, "
        "which nothing manages."
    )
    columns = ("where", "FQ-CoDel in the UPF (ms)", "FQ-CoDel in the RLC (ms)", "of the best goodput")
    return Remark("A queue in the UPF", text, columns, tuple(rows))


def marking(table: Table) -> Remark | None:
    """Marks instead of drops."""
    rows = []
    for scheme in (name for name in MARKING if name in table.schemes):
        for point in table.points:
            trip, rate = table.get(point, scheme, ROUND_TRIP), table.get(point, scheme, GOODPUT)
            best = max(table.column(point, GOODPUT).values(), default=0.0)
            if trip is not None and rate is not None and best:
                lost = table.get(point, scheme, LOST)
                rows.append((
                    scheme, _place(point), f"{trip:.0f}", f"{100 * rate / best:.0f} %", "–" if lost is None else f"{100 * lost:.2f} %",
                ))  # fmt: skip
    if not rows:
        return None
    shares = {f"{row[0]} {row[1]}": float(row[3].split()[0]) / 100 for row in rows}
    full = sum(share >= NEAR for share in shares.values())
    text = (
        "The claim: with marks there are short delays at full throughput. "
        f"At {full} of {len(rows)} places of these schemes the transfers come to {NEAR:.0%} of the best goodput there."
    )
    columns = ("scheme", "where", "RTT p95 (ms)", "of the best goodput", "retransmitted")
    return Remark("Marks instead of drops", text, columns, tuple(rows))


def modes(table: Table) -> Remark | None:
    """Unacknowledged against acknowledged mode."""
    pairs = [(point, point.replace("rlc=um", "rlc=am")) for point in table.points if "rlc=um" in point]
    rows = []
    for um, am in pairs:
        if am not in table.points:
            continue
        lost = [_mean(table, point, LOST) for point in (um, am)]
        rates = [_mean(table, point, GOODPUT) for point in (um, am)]
        delays = [_mean(table, point, DELAY) for point in (um, am)]
        where = _place(um).replace(", um", "")
        rows.append((
            where, *_pair(lost, lambda value: f"{100 * value:.2f} %"), *_pair(rates, "{:.1f}".format), *_pair(delays, "{:.0f}".format),
        ))  # fmt: skip
    if not rows:
        return None
    text = (
        "Means over the schemes. AM repeats what HARQ gives up and holds back what came after it; where HARQ repairs everything the two differ "
        "by their headers and status reports alone."
    )
    columns = (
        "where", "retransmitted, UM", "AM", "goodput, UM (Mbit/s)", "AM", "call p99, UM (ms)", "AM",
    )  # fmt: skip
    return Remark("UM and AM", text, columns, tuple(rows))


def _mean(table: Table, point: str, criterion: str) -> float | None:
    found = table.column(point, criterion)
    return fmean(found.values()) if found else None


def _pair(values: Sequence[float | None], write: Callable[[float], str]) -> list[str]:
    return ["–" if value is None else write(value) for value in values]


def _place(point: str) -> str:
    """`channel=static, rlc=um` as `static, um`."""
    return ", ".join(part.partition("=")[2] or part for part in point.split(", ")) or "here"


def _range(values: dict[str, float], times: float, unit: str) -> str:
    low, high = (f"{times * bound:.3g}" for bound in (min(values.values()), max(values.values())))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _tally(names: Sequence[str]) -> str:
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count} of {len(names)}" for name, count in ordered)
