"""Why claims do not hold, and what a reader must know beside a verdict. Every number is read from runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from bloatlab.experiments.aqm_survey import margins, ns2
from bloatlab.experiments.aqm_survey.cases import (
    CAPS,
    EXACT,
    LATER,
    LIKE_CHOKE,
    LONG,
    NICE_LIMITS,
    NICE_STARTS,
    PACKETS,
    REPLICATIONS,
    TWO_PAIRS,
    WLDS,
    Point,
    along,
    error,
    mean,
    means,
    samples,
)
from bloatlab.experiments.aqm_survey.claims import (
    ALIKE,
    FITTED,
    IN_NS2,
    RATIO_AGAIN,
    WINNER,
    again,
    quotient_text,
    scored,
)
from bloatlab.experiments.aqm_survey.measures import MEASURES, TITLES
from bloatlab.experiments.aqm_survey.published import RANKS, SFQ_DROP_RATIOS, SLIDE_15, drop_of_rest
from bloatlab.experiments.aqm_survey.scores import CRITERIA
from bloatlab.experiments.aqm_survey.setup import CCPS, QUEUES, mbps
from bloatlab.experiments.aqm_survey.trends import AQMS, LAST_DIGIT, over
from bloatlab.experiments.claim import Cases, Verdict

Text = Callable[[Cases], str]
FAIRNESS = ("fair", "fair_tcp", "fair_ccp")


def remarked(verdicts: Sequence[Verdict], cases: Cases) -> list[Verdict]:
    """The verdicts with their reasons and remarks as notes."""
    return [replace(verdict, claim=replace(verdict.claim, note=_note(verdict, cases))) for verdict in verdicts]


def _note(verdict: Verdict, cases: Cases) -> str:
    name = verdict.claim.name
    texts = [REMARKS[name](cases)] if name in REMARKS else []
    if verdict.holds is False and name in REASONS:
        texts.append(REASONS[name](cases))
    if name in FITTED:
        texts.append("the set-up or the rule for ranks was fitted to this table")
    return "; ".join(texts)


def _rises(ccp: str) -> Text:
    """FAIR over CAP with DropTail."""

    def tell(cases: Cases) -> str:
        points = along(Point("fifo", ccp), "cap")
        share = [mean(cases, point, "tcp_share") for point in points]
        first, last = (mean(cases, points[place], "fair_tcp") for place in (0, -1))
        said = [
            f"the Reno flows have {min(share):.0f} to {max(share):.0f} % at every CAP, so FAIR follows F_TCP, which "
            f"rises from {first:.0f} % at {mbps(CAPS[0]):g} Mbit/s to {last:.0f} % at {mbps(CAPS[-1]):g}"
        ]
        if ccp == "nice":
            said.append("ns-2 2.35 has no TCP-NICE")
        else:
            rho = over(points[0], "cap", "fair")(ns2.metrics)
            ends = [ns2.metrics(points[place])["fair_tcp"] for place in (0, -1)]
            said.append(
                f"both rise in ns-2 2.35 too (FAIR's coefficient {rho:+.2f}, F_TCP from {ends[0]:.0f} to {ends[1]:.0f} %)"
            )
        if ccp == "ledbat":
            long = [mean(cases, point, "fair") for point in along(Point("fifo", time=LONG), "cap")]
            said.append(f"in runs of 600 s FAIR rises here too, from {long[0]:.0f} to {long[-1]:.0f} %")
        return "; ".join(said)

    return tell


def _syn(cases: Cases) -> str:
    """DRR beside ns-2."""
    data = ns2.metrics(Point("drr", ns2.DATA))
    here = means(cases, Point("drr"))
    return (
        "the first packet of a flow in ns-2 is a SYN of 40 bytes, which gets through DRR before the packets of the "
        "others. LEDBAT takes its base delay from it and so yields more. Without this sample ns-2 2.35 has TCP% "
        f"{data['tcp_share']:.1f}, FAIR {data['fair']:.1f} and F_CCP {data['fair_ccp']:.1f} % (here "
        f"{here['tcp_share']:.1f}, {here['fair']:.1f} and {here['fair_ccp']:.1f})"
    )


def _least_fair(cases: Cases) -> str:
    drr, codel = Point("drr"), Point("codel")
    return (
        f"CoDel's is lower here ({mean(cases, codel, 'fair'):.1f} against {mean(cases, drr, 'fair'):.1f} %), and DRR's "
        f"in ns-2 2.35 ({ns2.metrics(drr)['fair']:.1f}, CoDel {ns2.metrics(codel)['fair']:.1f}). The reason: "
        f"{_syn(cases)}"
    )


def _most_fair_to_tcp(cases: Cases) -> str:
    low = [
        QUEUES[queue] for queue in AQMS if ns2.metrics(Point(queue))["fair_tcp"] > ns2.metrics(Point("drr"))["fair_tcp"]
    ]
    return (
        f"slide 15 itself has DRR's F_TCP ({SLIDE_15['drr']['fair_tcp']:.1f} %) below that of every other AQM, and "
        f"ns-2 2.35 has it below that of {', '.join(low)}. A Reno flow that shares a queue has less: with a queue for "
        f"every flow F_TCP is {mean(cases, EXACT, 'fair_tcp'):.1f} % here"
    )


def _changed(name: str, queue: str) -> Text:
    """A metric with TCP-LP instead of LEDBAT, here and in ns-2."""
    lp, ledbat = Point(queue, "lp"), Point(queue)
    sign = 1 if name == "tcp_share" else -1

    def tell(cases: Cases) -> str:
        here = (mean(cases, ledbat, name), mean(cases, lp, name))
        there = (ns2.metrics(ledbat)[name], ns2.metrics(lp)[name])
        neither = "" if sign * (there[1] - there[0]) >= LAST_DIGIT else ", which does not show the order either"
        return (
            f"{TITLES[name]} with LEDBAT and TCP-LP is {here[0]:.2f} and {here[1]:.2f} % here, and {there[0]:.2f} and "
            f"{there[1]:.2f} % in ns-2 2.35{neither}"
        )

    return tell


def _with(text: Text, more: str) -> Text:
    return lambda cases: f"{text(cases)}. {more}"


def _shared(cases: Cases) -> str:
    return (
        f"{_changed('fair_ccp', 'drr')(cases)}. A LEDBAT flow that shares its queue with a Reno flow gets less than "
        f"the others: with a queue for every flow F_CCP is {mean(cases, EXACT, 'fair_ccp'):.1f} % here"
    )


def _two_drops(cases: Cases) -> str:
    again, red = along(Point("choke"), "wld"), along(LIKE_CHOKE, "wld")
    there = [ns2.metrics(point)["leff"] for point in (again[0], again[-1])]
    own = [mean(cases, point, "leff") for point in (red[0], red[-1])]
    return (
        f"LEFF falls in ns-2 2.35 too, from {there[0]:.1f} to {there[1]:.1f} %. CHOKe drops an arrival together with a "
        "queued packet of its flow. RED with the same thresholds drops the arrival alone, and its LEFF rises here, "
        f"from {own[0]:.2f} to {own[1]:.2f} %"
    )


def _both(queue: str) -> Text:
    """TCP% and FAIR over WLD."""
    share, fair = (over(Point(queue), "wld", name) for name in ("tcp_share", "fair"))

    def tell(cases: Cases) -> str:
        here = cache(lambda point: means(cases, point))
        values = [here(point)["fair"] for point in along(Point(queue), "wld")]
        return (
            f"over WLD the coefficients of TCP% and FAIR are {share(here):+.2f} and {fair(here):+.2f} here, and "
            f"{share(ns2.metrics):+.2f} and {fair(ns2.metrics):+.2f} in ns-2 2.35. FAIR is {values[0]:.0f} % with "
            f"{WLDS[0]} Reno flow and {values[-1]:.0f} % with {WLDS[-1]}, when no LEDBAT is left"
        )

    return tell


def _alike(cases: Cases) -> str:
    here, there = means(cases, Point("drr")), ns2.metrics(Point("drr"))
    slide, pairs, again = SLIDE_15["drr"], means(cases, TWO_PAIRS), ns2.metrics(replace(TWO_PAIRS, ccp=ns2.DATA))
    close = ", ".join(f"{TITLES[name]} is {pairs[name]:.1f} ({slide[name]:g})" for name in FAIRNESS)
    tried = ns2.tried_for_drr()
    return (
        f"DRR's D_CCP is the difference: {slide['drop_ccp']:.2f} % on slide 15, {here['drop_ccp']:.2f} here and "
        f"{there['drop_ccp']:.2f} in ns-2 2.35. The slide's row contradicts itself: with its DROP, TCP% and D_TCP, D_CCP "
        f"is {drop_of_rest(slide):.2f} %. If two Reno flows share queues with two LEDBAT flows, {close} here (slide), and "
        f"D_CCP is {pairs['drop_ccp']:.2f} % here and {again['drop_ccp']:.2f} in ns-2 without the SYN's delay. "
        f"{len(tried)} set-ups of ns-2 with none to two shared queues, LEDBAT with and without the SYN's delay, and starts "
        f"from 0 to 10 s have {min(tried):.2f} to {max(tried):.2f} %"
    )


def _below_choke(cases: Cases) -> str:
    def apart(values: Mapping[str, float]) -> str:
        return " and ".join(f"{values[queue] - values['choke']:+.1f}" for queue in ("sfq", "drr"))

    here = {queue: mean(cases, Point(queue), "tcp_share") for queue in AQMS}
    there = {queue: ns2.metrics(Point(queue))["tcp_share"] for queue in AQMS}
    slide = {queue: SLIDE_15[queue]["tcp_share"] for queue in AQMS}
    return (
        "queues share a rank if neighbours are less than a point of TCP% apart. SFQ and DRR minus CHOKe is "
        f"{apart(here)} points here, {apart(slide)} on slide 15 and {apart(there)} in ns-2 2.35"
    )


def _score(queue: str) -> Text:
    def tell(cases: Cases) -> str:
        found = scored(cases)[queue].ranks
        changed = [
            f"rank {own} instead of {published} by {criterion}"
            for own, published, criterion in zip(found, RANKS[queue], CRITERIA, strict=True)
            if own != published
        ]
        return f"follows from {' and '.join(changed)}"

    return tell


def _nothing_lost(cases: Cases) -> str:
    point = Point("sfq")
    own, there = samples(cases, point, "drop_ccp"), ns2.row(point)
    none = "none" if not there.means["drop_ccp"] else f"{there.means['drop_ccp']:.4f} %"
    share = 1 - SLIDE_15["sfq"]["tcp_share"] / 100
    lost = SLIDE_15["sfq"]["drop_ccp"] / 100 * share * PACKETS
    return (
        f"LEDBAT loses no packet in {sum(one == 0 for one in own)} of {len(own)} runs here, and {none} in {there.runs} "
        "runs of "
        f"ns-2 2.35, so the ratio is {quotient_text(means(cases, point))}; the slide's D_CCP is about {lost:.0f} "
        "packet a run"
    )


def _lp_ratio(cases: Cases) -> str:
    there, plain = ns2.metrics(Point("sfq", "lp")), ns2.metrics(Point("sfq", ns2.NO_TIMESTAMPS))
    return (
        f"ns-2 2.35 has {quotient_text(there)}. Without TCP timestamps, where TCP-LP measures no delay, it has "
        f"{quotient_text(plain)}, as flows without low priority would"
    )


def _nice_ratio(cases: Cases) -> str:
    found = means(cases, Point("sfq", "nice"))
    own = 1 - found["tcp_share"] / 100
    lost, needed = (
        share / 100 * own * PACKETS for share in (found["drop_ccp"], found["drop_tcp"] / SFQ_DROP_RATIOS["nice"])
    )
    starts = _ratios(cases, NICE_STARTS)
    rates = _ratios(cases, along(Point("sfq", "nice"), "cap"))
    limits = [quotient_text(means(cases, point)) for point in NICE_LIMITS]
    many = [quotient_text(means(cases, Point("sfq", "nice", wld=wld))) for wld in (7, 9)]
    return (
        f"NICE loses about {lost:.0f} packets a run here; the slide's ratio needs {needed:.0f}. Tried here: other starts "
        f"(ratios of {starts}), other CAP ({rates}), SFQ of 60 and 100 packets ({' and '.join(limits)}), and 7 and 9 Reno "
        f"flows ({' and '.join(many)}). So it takes a longer queue or fewer NICE flows; ns-2 2.35 has no TCP-NICE"
    )


def _ratios(cases: Cases, points: Sequence[Point]) -> str:
    """The lowest and the highest D_TCP / D_CCP."""
    found = [means(cases, point) for point in points]
    ordered = sorted(found, key=lambda one: one["drop_tcp"] / one["drop_ccp"] if one["drop_ccp"] else math.inf)
    return f"{quotient_text(ordered[0])} to {quotient_text(ordered[-1])}"


def _order(cases: Cases) -> str:
    lp, nice = (quotient_text(means(cases, Point("sfq", ccp))) for ccp in ("lp", "nice"))
    return (
        f"D_TCP / D_CCP is {nice} with TCP-NICE and {lp} with TCP-LP here. The order follows from the slide's "
        f"{SFQ_DROP_RATIOS['lp']} with TCP-LP: {_lp_ratio(cases)}"
    )


def _explains(name: str, here: float, there: float) -> bool:
    """Whether two values agree within the tolerance for our runs of ns-2."""
    absolute, relative = IN_NS2[name]
    return abs(here - there) <= (absolute or 0) + (relative or 0) * abs(there)


def _tcp(name: str, point: Point) -> Text:
    """A value of ns-2 with rules of Linux in its TCP, which are ours, or with a rule less in its TCP-LP."""
    late = (
        "ns-2's retransmission timeout, sRTT plus four deviations and at least 0.2 s, can be shorter than the RTT of a "
        "growing queue"
    )
    half = "ns-2's retransmission timeout is shorter than Linux's, and during recovery its window is half of ssthresh"
    growth = "in ns-2 the ACK at which TCP-LP reduces its window also lets it grow by a segment"
    recovery = "Linux's timeout and ssthresh during recovery"
    one = replace(point, ccp=ns2.ONE_STEP)
    changes = [
        (point, ns2.LINUX_TIMEOUT, late, "With Linux's timeout"),
        (point, ns2.LINUX_RECOVERY, half, f"With {recovery}"),
    ]
    if point.ccp == "lp" and point.queue in ns2.WITH_ONE_STEP:
        changes.insert(0, (one, ns2.SHIPPED, growth, "Without this growth"))
        changes.append((one, ns2.LINUX_RECOVERY, f"{half}; {growth}", f"With {recovery} and without this growth"))

    def tell(cases: Cases) -> str:
        here = mean(cases, point, name)
        found = [(ns2.metrics(of, tcp)[name], rule, change) for of, tcp, rule, change in changes]
        there, rule, change = next((one for one in found if _explains(name, here, one[0])), found[-1])
        rest = "" if _explains(name, here, there) else ", so this is not the whole difference"
        return f"{rule}. {change}, as here, ns-2 2.35 has {TITLES[name]} {there:.1f} (here {here:.1f}){rest}"

    return tell


def _first_packets(cases: Cases) -> str:
    """DropTail's D_CCP beside ns-2."""
    here, there = (read("drop_ccp") for read in (partial(mean, cases, LATER), ns2.metrics(LATER).__getitem__))
    few = PACKETS * (1 - mean(cases, Point("fifo"), "tcp_share") / 100)
    return (
        f"{_tcp('drop_ccp', Point('fifo'))(cases)}. The low-priority flows send about {few:.0f} of {PACKETS:,} packets and "
        "lose the first of them if the queue is full when they join. If they join at 10 s, without random starts, D_CCP is "
        f"{here:.1f} here and {there:.1f} in ns-2"
    )


def _ratio_again(cases: Cases) -> str:
    here = means(cases, Point("sfq", "lp"))
    there, one = (ns2.metrics(Point("sfq", ccp)) for ccp in ("lp", ns2.ONE_STEP))
    lost = [of["drop_ccp"] / 100 * (1 - of["tcp_share"] / 100) * PACKETS for of in (here, one)]
    return (
        f"D_CCP is {here['drop_ccp']:.2f} % here and {there['drop_ccp']:.2f} there. In ns-2, the ACK at which TCP-LP "
        "reduces its window also lets it grow by a segment. Without this growth ns-2 2.35 has D_CCP "
        f"{one['drop_ccp']:.2f} % and the ratio {quotient_text(one)}: about {lost[1]:.0f} packets a run (here {lost[0]:.0f})"
    )


def _few_points(cases: Cases) -> str:
    """CoDel's TCP%, which is near the limit."""
    point, first = Point("codel"), range(REPLICATIONS)
    there = ns2.row(point)
    return (
        f"{mean(cases, point, 'tcp_share'):.2f} with a standard error of {error(cases, point, 'tcp_share'):.2f} over "
        f"{point.replications} runs; the first {REPLICATIONS} have {means(cases, point, first)['tcp_share']:.2f}; ns-2 "
        f"2.35 has {there.means['tcp_share']:.2f} with {there.errors['tcp_share']:.2f}"
    )


def _a_little(queue: str) -> Text:
    def tell(cases: Cases) -> str:
        higher = mean(cases, Point(queue, "lp"), "tcp_share") - mean(cases, Point(queue), "tcp_share")
        return f"the slide says a little higher; here the difference is {higher:+.1f} points, and any positive one is accepted"

    return tell


def _slide_16() -> Mapping[str, Text]:
    names = {"tcp_share": "above", "leff": "below", "fair_ccp": "below"}
    found = {
        f"{called}: {TITLES[name]} with TCP-LP {side} that with LEDBAT": _changed(name, queue)
        for name, side in names.items() for queue, called in QUEUES.items()
    }  # fmt: skip
    for called in ("DropTail", "DRR", "SFQ"):
        name = f"{called}: LEFF with TCP-LP below that with LEDBAT"
        found[name] = _with(found[name], "The link is full, so LEFF hardly changes")
    found["DRR: F_CCP with TCP-LP below that with LEDBAT"] = _shared
    return found


def _ns2_values() -> Mapping[str, Text]:
    """By the name of the claim about a value of ns-2."""
    found: dict[str, Text] = {}
    for name in MEASURES:
        points = (Point("fifo"), *(Point(queue, "lp") for queue in QUEUES))
        found |= {again(point, name): _tcp(name, point) for point in points}
        found[again(Point("drr"), name)] = _syn
    return {**found, again(Point("fifo"), "drop_ccp"): _first_packets, RATIO_AGAIN: _ratio_again}


REASONS: Mapping[str, Text] = {
    **{f"DropTail, {called}: FAIR falls with CAP (Spearman)": _rises(ccp) for ccp, called in CCPS.items()},
    "DRR: FAIR below that of every other AQM": _least_fair,
    "DRR: F_TCP above that of every other AQM": _most_fair_to_tcp,
    **_slide_16(),
    "SFQ: D_CCP / D_TCP with TCP-NICE below that with TCP-LP": _order,
    "CHOKe: LEFF rises with WLD (Spearman)": _two_drops,
    **{
        f"{called}: TCP% and FAIR change with WLD in opposite directions (Spearman)": _both(queue)
        for queue, called in QUEUES.items()
    },
    ALIKE: _alike,
    **dict.fromkeys(("DRR: rank by TCP%", "SFQ: rank by TCP%"), _below_choke),
    **{f"{QUEUES[queue]}: rank by F_TCP + F_CCP": margins.told for queue in AQMS},
    **{f"{QUEUES[queue]}: score": _score(queue) for queue in AQMS},
    "SFQ: D_TCP / D_CCP with LEDBAT": _nothing_lost,
    "SFQ: D_TCP / D_CCP with TCP-LP": _lp_ratio,
    "SFQ: D_TCP / D_CCP with TCP-NICE": _nice_ratio,
    **_ns2_values(),
}
"""Reasons of claims that may not hold, by claim."""
REMARKS: Mapping[str, Text] = {
    "CoDel: TCP%, 52 to 64": _few_points,
    WINNER: margins.told,
    **{f"{called}: TCP% with TCP-LP above that with LEDBAT": _a_little(queue) for queue, called in QUEUES.items()},
}
"""What a reader must know beside a verdict, whether the claim holds or not."""
