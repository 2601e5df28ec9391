"""Findings from the runs: the best schemes per point, and common claims about buffers in 5G."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bloatlab.experiments import phrases
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.ranking import Observation

DELAY = "voip_delay_p99"
ROUND_TRIP = "bulk_rtt_p95"
GOODPUT = "tcp_goodput"
PAGE = "web_p95"
LOST = "retransmitted"
NEAR = 0.95
"""Share of the best goodput above which a scheme counts as keeping the throughput."""
FAR = 1.5
"""Factor between two delays above which the page mentions them."""
SIZED = ("drql", "dynrlc", "bdp", "upf_pacer")
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
        """Values of a criterion at a point by scheme."""
        return {scheme: value for scheme in self.schemes if (value := self.get(point, scheme, criterion)) is not None}

    def ratios(self, scheme: str, other: str, criterion: str) -> dict[str, float]:
        """Ratio of the values of two schemes at each point where both have one."""
        pairs = (
            (point, self.get(point, scheme, criterion), self.get(point, other, criterion)) for point in self.points
        )
        return {point: mine / theirs for point, mine, theirs in pairs if mine is not None and theirs}


def remarks(observed: Sequence[Observation]) -> list[Finding]:
    """All findings that the schemes of the runs allow."""
    table = Table.of(observed)
    said = (winners, deep, disciplines, cost, moved, shaped, marking, modes)
    return [remark for say in said if (remark := say(table)) is not None]


def winners(table: Table) -> Finding | None:
    """The best scheme at each point by delay, by goodput, and by two measures of both."""
    rows, best = [], []
    for point in table.points:
        delays, rates = table.column(point, DELAY), table.column(point, GOODPUT)
        both = [name for name in delays if name in rates]
        if len(both) < 2:
            continue
        top = max(rates[name] for name in both)
        full = [name for name in both if rates[name] >= NEAR * top]
        chosen = (
            _within({name: (delays[name], -rates[name]) for name in both}),
            _within({name: (-rates[name], delays[name]) for name in both}),
            _within({name: (delays[name], -rates[name]) for name in full}),
            _within({name: (-rates[name] / delays[name], delays[name]) for name in both}),
        )
        best.append(chosen)
        rows.append((
            _place(point),
            *(
                f"{phrases.listed(names, len(names))}: {delays[names[0]]:.1f} ms, {rates[names[0]]:.0f} Mbit/s"
                for names in chosen
            ),
        ))  # fmt: skip
    if not rows:
        return None
    titles = (
        "shortest delay",
        "highest goodput",
        f"shortest delay with {phrases.percent(NEAR)} of the highest goodput",
        "highest power",
    )
    leads = (
        "The delay is shortest with",
        "The goodput is highest with",
        f"Among schemes with {phrases.percent(NEAR)} of the highest goodput, the delay is shortest with",
        "The power is highest with",
    )
    tallies = (f"{lead} {_tally([chosen[index] for chosen in best])}." for index, lead in enumerate(leads))
    text = (
        "The delay is the call's one-way delay at the 99th percentile; power is goodput divided by this delay. Schemes "
        f"within one percent count as equal, and the table has the numbers of the first. {' '.join(tallies)}"
    )
    return Finding("The best scheme in each set-up", "", text, ("channel, RLC mode", *titles), tuple(rows))


def deep(table: Table) -> Finding | None:
    """The delay of an unmanaged buffer."""
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
    times = {
        point: column["tail"] / min(column.values())
        for point in table.points
        if "tail" in (column := table.column(point, DELAY))
    }
    text = (
        f"With a deep buffer the call's delay (p99) is {_range(times, 1, '')} times that of the best scheme in the same "
        "set-up."
    )
    kept = table.ratios("tail_small", "tail", GOODPUT)
    if kept:
        text += f" A shallow buffer keeps {_range(kept, 100, ' %')} of its goodput."
    columns = ("channel, RLC mode", "tail (ms)", "tail_small (ms)", "best (ms)")
    return Finding("A deep buffer is bloat in 5G too", "", text, columns, tuple(rows))


def disciplines(table: Table) -> Finding | None:
    """Compares queue disciplines in the RLC with those above a short RLC."""
    rows, better, sized = [], [], []
    for scheme in ("codel", "pie", *SIZED):
        delays, rates = table.ratios(scheme, "fq_codel", DELAY), table.ratios(scheme, "fq_codel", GOODPUT)
        trips = table.ratios(scheme, "fq_codel", ROUND_TRIP)
        if not (delays and rates and trips):
            continue
        quicker = sum(ratio < 1 for ratio in delays.values())
        if scheme in SIZED:
            sized.append(scheme)
            better += [scheme] if 2 * quicker > len(delays) else []
        rows.append((
            scheme, f"{quicker} of {len(delays)}", _spread(delays), _spread(trips), _spread(rates),
        ))  # fmt: skip
    if not rows:
        return None
    text = (
        "The claim: an AQM in the RLC is not enough; the RLC must be kept short, so that a queue above it can separate "
        "flows."
    )
    if sized:
        text += (
            f" Compared with FQ-CoDel in the RLC, the call's delay is shorter in most set-ups with {' and '.join(better)}."
            if better
            else f" Compared with FQ-CoDel in the RLC, none of {', '.join(sized)} gives a shorter delay in most set-ups."
        )
        text += " Here the RLC takes a packet only when it fills a block, so packets wait in front of the RLC."
    columns = (
        "scheme",
        "shorter delay of the call than fq_codel",
        "call p99 / fq_codel's",
        "RTT p95 / fq_codel's",
        "goodput / fq_codel's",
    )
    return Finding("An AQM in the RLC, or a short RLC", "", text, columns, tuple(rows))


def cost(table: Table) -> Finding | None:
    """The goodput that short delays cost."""
    kept = {
        name: ratios for name in table.schemes if name != "tail" and (ratios := table.ratios(name, "tail", GOODPUT))
    }
    if not kept:
        return None
    least = {name: min(ratios, key=ratios.__getitem__) for name, ratios in kept.items()}
    order = sorted(kept, key=lambda name: -fmean(kept[name].values()))
    rows = tuple(
        (
            name,
            f"{100 * fmean(kept[name].values()):.0f} %",
            f"{100 * kept[name][least[name]]:.0f} %",
            _place(least[name]),
        )
        for name in order
    )
    full = [name for name in order if kept[name][least[name]] >= NEAR]
    text = (
        f"The claim: short buffers cost no throughput. {len(full)} of {len(rows)} schemes keep at least "
        f"{phrases.percent(NEAR)} of the deep buffer's goodput in every set-up{_listed(full)}."
    )
    columns = ("scheme", "of the goodput with tail, mean", "least", "channel, RLC mode")
    return Finding("What short delays cost", "", text, columns, rows)


def moved(table: Table) -> Finding | None:
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
    text = (
        f"With 5G-BDP and a plain queue the call has {_range(table.ratios('bdp_tail', 'tail', DELAY), 100, ' %')} of "
        "the deep buffer's delay. The sizing decides where packets wait, and the queue discipline decides how long."
    )
    columns = ("channel, RLC mode", "tail (ms)", "5G-BDP, plain queue (ms)", "5G-BDP, FQ-CoDel (ms)")
    return Finding("Sizing alone moves the queue", "", text, columns, tuple(rows))


def shaped(table: Table) -> Finding | None:
    """A UPF that shapes to a rate that the channel does not always have."""
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
    far = [point for point, ratio in ratios.items() if ratio > FAR]
    text = (
        "The claim: the operator's router can solve the problem. With FQ-CoDel in a UPF that sends at a fixed rate, "
        f"compared with the same queue in the RLC, the call's delay is {_range(ratios, 1, '')} times as long"
        + (f", more than {FAR:g} times in {'; '.join(_place(point) for point in far)}" if far else "")
        + ". Where the rate of the radio falls below the UPF's rate, packets wait in the RLC, which has no queue "
        "management."
    )
    columns = ("channel, RLC mode", "FQ-CoDel in the UPF (ms)", "FQ-CoDel in the RLC (ms)", "of the best goodput")
    return Finding("A queue in the UPF", "", text, columns, tuple(rows))


def marking(table: Table) -> Finding | None:
    """Marks instead of drops."""
    rows, full, places = [], 0, 0
    for scheme in MARKING:
        trips = {point: value for point in table.points if (value := table.get(point, scheme, ROUND_TRIP)) is not None}
        shares = {
            point: rate / max(table.column(point, GOODPUT).values())
            for point in table.points
            if (rate := table.get(point, scheme, GOODPUT)) is not None
        }
        if not trips or not shares:
            continue
        lost = {point: value for point in table.points if (value := table.get(point, scheme, LOST)) is not None}
        least = min(shares, key=shares.__getitem__)
        full, places = full + sum(share >= NEAR for share in shares.values()), places + len(shares)
        rows.append((
            scheme, _spread(trips), _spread(table.ratios(scheme, "tail", ROUND_TRIP)), f"{100 * fmean(shares.values()):.0f} %",
            f"{100 * shares[least]:.0f} % ({_place(least)})", f"{100 * fmean(lost.values()):.2f} %" if lost else "–",
        ))  # fmt: skip
    if not rows:
        return None
    text = (
        f"The claim: marks give short delays at full throughput. In {full} of {places} set-ups with these schemes, TCP has "
        f"{phrases.percent(NEAR)} of the best goodput."
    )
    columns = ("scheme", "RTT p95 (ms)", "over tail's", "of the best goodput, mean", "least", "retransmitted")
    return Finding("Marks instead of drops", "", text, columns, tuple(rows))


def modes(table: Table) -> Finding | None:
    """Compares unacknowledged with acknowledged mode."""
    rows, longer = [], []
    for um in (point for point in table.points if "rlc=um" in point):
        am = um.replace("rlc=um", "rlc=am")
        if am not in table.points:
            continue
        where = ", ".join(part for part in _place(um).split(", ") if part != "um") or "here"
        lost, rates = ([_mean(table, point, criterion) for point in (um, am)] for criterion in (LOST, GOODPUT))
        least = [min(table.column(point, DELAY).values(), default=None) for point in (um, am)]
        if least[0] is not None and least[1] is not None and least[0] > FAR * least[1]:
            longer.append(f"{where} ({least[0]:.0f} against {least[1]:.0f} ms)")
        rows.append((
            where, *_pair(lost, lambda value: f"{100 * value:.2f} %"),
            *_pair(rates, "{:.1f}".format), *_pair(least, "{:.1f}".format),
        ))  # fmt: skip
    if not rows:
        return None
    text = (
        "Loss and goodput are means over the schemes; the delay is that of the best scheme. AM retransmits what HARQ "
        "gives up. In UM it is lost, and PDCP's receiver holds back later packets until t-Reordering expires. "
    )
    text += (
        f"No scheme avoids that: the shortest delay in UM is more than {FAR:g} times that in AM on the channels "
        f"{' and '.join(longer)}."
        if longer
        else "Here that makes no great difference to the shortest delay."
    )
    columns = (
        "channel",
        "retransmitted, UM",
        "retransmitted, AM",
        "goodput, UM (Mbit/s)",
        "goodput, AM (Mbit/s)",
        "shortest p99 of the call, UM (ms)",
        "shortest p99 of the call, AM (ms)",
    )
    return Finding("UM and AM", "", text, columns, tuple(rows))


def _mean(table: Table, point: str, criterion: str) -> float | None:
    found = table.column(point, criterion)
    return fmean(found.values()) if found else None


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _pair(values: Sequence[float | None], write: Callable[[float], str]) -> list[str]:
    return ["–" if value is None else write(value) for value in values]


def _place(point: str) -> str:
    """`channel=static, rlc=um` as `static, um`."""
    return ", ".join(part.partition("=")[2] or part for part in point.split(", ")) or "here"


def _within(values: Mapping[str, tuple[float, float]]) -> list[str]:
    """Names with the smallest first value and those within one percent, sorted by the second value."""
    least = min(first for first, _ in values.values())
    found = [name for name, (first, _) in values.items() if first <= least + 0.01 * abs(least)]
    return sorted(found, key=lambda name: values[name][1])


def _range(values: Mapping[str, float], times: float, unit: str) -> str:
    low, high = (f"{times * bound:.3g}" for bound in (min(values.values()), max(values.values())))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _spread(values: Mapping[str, float]) -> str:
    return _range(values, 1, "") if values else "–"


def _tally(chosen: Sequence[Sequence[str]]) -> str:
    names = [name for tied in chosen for name in tied]
    counts = sorted(((names.count(name), name) for name in dict.fromkeys(names)), key=lambda pair: -pair[0])
    told = [
        f"{name} ({count if index else f'in {count} of {len(chosen)} set-ups'})"
        for index, (count, name) in enumerate(counts)
    ]
    return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))
