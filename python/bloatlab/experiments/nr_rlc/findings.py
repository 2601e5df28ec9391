"""Conclusions of the source, and the results of our runs."""

from __future__ import annotations

import math

from bloatlab.experiments.claim import Cases
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.nr_rlc.cases import (
    BUFFERS,
    CCA,
    LOADS,
    PHASED,
    PHASES,
    QUEUES,
    STARTS,
    TCP_QUEUES,
    buffered,
    load,
    phased,
    tcp,
)
from bloatlab.experiments.nr_rlc.claims import ROWS
from bloatlab.experiments.nr_rlc.offsets import by_offset
from bloatlab.experiments.nr_rlc.reading import Reader, fall, ms, span, spread, tenth, whole
from bloatlab.experiments.nr_rlc.setup import AUTHORS_CODEL, ELEPHANT, MICE, TAIL
from bloatlab.experiments.nr_rlc.tuning import optimum


def findings(cases: Cases) -> list[Finding]:
    """All findings, in the order of the source's conclusions."""
    read = Reader(cases)
    return [
        _mislabelled(read), _mice(read), _survivors(read), optimum(read), _buffers(read), _phase(read), by_offset(read),
    ]  # fmt: skip


def _mislabelled(read: Reader) -> Finding:
    tail, codel = load(TAIL, 20), load(AUTHORS_CODEL, 20)
    mice, mice_delay, elephant, elephant_delay, *_ = ROWS[tail]
    rows = [("published as CoDel", f"{mice}", ms(mice_delay), f"{elephant:,}", ms(elephant_delay), "")]
    for case, name in ((tail, "here, tail drop"), (codel, "here, the authors' CoDel")):
        rows.append(
            (
                name, f"{read.got(case, MICE)}", ms(read.delay(case, MICE)), f"{read.got(case, ELEPHANT):,}",
                ms(read.delay(case, ELEPHANT)), f"{read.both(case, 'dropped_aqm'):,}",
            )
        )  # fmt: skip
    return Finding(
        "The block printed as CoDel is a run without CoDel",
        "at 20,000 packets/s CoDel lets 8 mice and 152,679 packets of the elephant through.",
        f"These are the counts of tail drop ({read.got(tail, MICE)} and {read.got(tail, ELEPHANT):,}). With the "
        f"authors' CoDel {read.got(codel, MICE)} mice and {read.got(codel, ELEPHANT):,} packets of the elephant arrive, "
        f"and the AQM drops {read.both(codel, 'dropped_aqm'):,}.",
        (
            "run at 20,000 packets/s",
            "mice received",
            "mean delay (ms)",
            "elephant received",
            "mean delay (ms)",
            "AQM drops",
        ),
        tuple(rows),
        "Our run of tail drop has sounding_offset 0, those of the other rows 50 (see the claim). 5G-LENA draws it; with 50 the "
        "elephant gets one packet less.",
    )


def _mice(read: Reader) -> Finding:
    rows = []
    for thousands in LOADS:
        case = load(TAIL, thousands)
        for flow in (MICE, ELEPHANT):
            sent = round(read.flow(case, flow, "tx_packets"))
            missing = 100 * (1 - read.got(case, flow) / sent)
            dropped, residue = (
                round(sum(read.flow(case, flow, name) for name in names))
                for names in (("dropped_aqm", "dropped_overflow"), ("residue",))
            )
            rows.append(
                (
                    f"{thousands},000", flow, f"{sent:,}", f"{read.got(case, flow):,}", f"{dropped:,}", f"{residue:,}",
                    f"{missing:.1f} %", ms(read.delay(case, flow)),
                )
            )  # fmt: skip
    mice = [read.got(load(TAIL, thousands), MICE) for thousands in LOADS]
    shares = [
        100 * (1 - read.got(load(TAIL, thousands), ELEPHANT) / read.flow(load(TAIL, thousands), ELEPHANT, "tx_packets"))
        for thousands in LOADS
    ]
    dropped = sum(
        read.both(load(TAIL, thousands), name) for thousands in LOADS for name in ("dropped_aqm", "dropped_overflow")
    )
    waiting = read.both(load(TAIL, LOADS[-1]), "residue")
    return Finding(
        "The figures over lambda show ten mice, not the elephant, and what still waits counts as lost",
        f"delay and packet loss over lambda are, in the text of the source, those of the elephant. Loss grows to 60 % from "
        f"{LOADS[0]},000 to {LOADS[-1]},000 packets/s.",
        f"Both figures plot the mice, of which {', '.join(map(str, mice))} of 10 arrive: each packet is 10 %. The elephant "
        f"misses {shares[0]:.1f} to {shares[-1]:.1f} % of its packets. Tail drop "
        f"with this buffer drops {dropped or 'nothing'} in any of these runs. The missing packets still wait in the RLC "
        f"when the run ends: {waiting:,} packets at {LOADS[-1]},000 packets/s. The delays are those of packets that "
        "arrived before the end.",
        ("lambda", "flow", "sent", "received", "dropped", "waiting at the end", "missing", "mean delay (ms)"),
        tuple(rows),
    )


def _survivors(read: Reader) -> Finding:
    def falls(thousands: int, flow: str) -> float:
        return fall(*(read.delay(load(queue, thousands), flow) for queue in (TAIL, AUTHORS_CODEL)))

    rows = [
        (
            f"UDP, {thousands},000/s", queue, ms(read.delay(load(queue, thousands), ELEPHANT)),
            f"{read.flow(load(queue, thousands), ELEPHANT, 'throughput'):.1f}", ms(read.delay(load(queue, thousands), MICE)),
            f"{read.got(load(queue, thousands), MICE)}", f"{read.both(load(queue, thousands), 'dropped_aqm'):,}",
        )
        for thousands in (20, 30) for queue in QUEUES
    ]  # fmt: skip
    mice = {queue: read.mean(tcp(queue), MICE, "mean_delay") for queue in TCP_QUEUES}
    rate = {queue: read.mean(tcp(queue), ELEPHANT, "mean_throughput_l4") for queue in TCP_QUEUES}
    rows += [
        (
            f"TCP, {CCA}", queue, ms(read.mean(tcp(queue), ELEPHANT, "mean_sojourn_l4")), f"{rate[queue]:.1f}",
            ms(mice[queue]), span([read.got(case, MICE) for case in tcp(queue)]),
            span([read.both(case, "dropped_aqm") for case in tcp(queue)]),
        )
        for queue in TCP_QUEUES
    ]  # fmt: skip
    best = min((queue for queue in TCP_QUEUES if queue not in (TAIL, AUTHORS_CODEL)), key=lambda queue: mice[queue])
    longest = max(read.longest(case) for case in tcp(TAIL))
    tail, codel = load(TAIL, 20), load(AUTHORS_CODEL, 20)
    sent, carried = read.both(tail, "tx_packets"), read.both(tail, "rx_packets")
    return Finding(
        "With CoDel the delay of the surviving mice gets better; an AQM helps where senders listen",
        '"we get a better delay even though there is some packet loss".',
        f"The elephant's delay falls by {falls(20, ELEPHANT):.1f} % at 20,000 packets/s and by {falls(30, ELEPHANT):.1f} "
        f"% at 30,000. The mice's mean delay falls by {falls(20, MICE):.0f} and {falls(30, MICE):.0f} % because late mice "
        f"are dropped: at 20,000 packets/s {read.got(codel, MICE)} arrive instead of {read.got(tail, MICE)}. So CoDel loses "
        f"more mice. It does not lose more of the elephant, of which {read.got(codel, ELEPHANT):,} packets arrive instead of "
        f"{read.got(tail, ELEPHANT):,}: the cell is full with and without it. Constant "
        f"UDP above the cell's rate does not slow down. Of {sent:,} packets at 20,000 packets/s {sent - carried:,} are "
        f"too many, and algorithms that space their drops drop {read.both(codel, 'dropped_aqm'):,} (the authors') and "
        f"{read.both(load('codel', 20), 'dropped_aqm'):,} (RFC 8289's). PIE's drop probability has no such bound: it "
        f"drops {read.both(load('pie', 20), 'dropped_aqm'):,}, mice among them ({read.got(load('pie', 20), MICE)} of 10 "
        f"arrive), and keeps the elephant's delay at {ms(read.delay(load('pie', 20), ELEPHANT))} ms. With a queue per "
        f"flow (fq_codel) the mice's delay is {ms(read.delay(load('fq_codel', 30), MICE))} ms even at 30,000 "
        f"packets/s. With one {CCA} flow instead, every AQM helps: the mice's delay is {ms(mice[TAIL])} ms with tail "
        f"drop, {ms(mice[AUTHORS_CODEL])} ms with the authors' CoDel, {ms(mice['codel'])} ms with RFC 8289's and "
        f"{ms(mice[best])} ms with {best}. The flow gets {rate[TAIL]:.1f}, {rate[AUTHORS_CODEL]:.1f}, "
        f"{rate['codel']:.1f} and {rate[best]:.1f} Mbit/s. With tail drop nothing is lost, so the queue grows until the run "
        f"ends, to {ms(longest)} ms.",
        ("elephant", "queue", "its delay (ms)", "its Mbit/s", "mice: delay (ms)", "mice received", "AQM drops"),
        tuple(rows),
        "The elephant's delay is one-way over UDP, and the sojourn time in the RLC over TCP. Buffers have 999,999,999 B. UDP "
        f"has the published starts, TCP {STARTS} random ones: means of delays and throughputs, ranges of counts. The send "
        "buffer of TCP has 64 MB and does not bind.",
    )


def _buffers(read: Reader) -> Finding:
    rows = []
    slopes = []
    for megabytes in BUFFERS:
        case = buffered(megabytes)
        slopes.append(read.longest(case) / megabytes)
        rows.append(
            (
                f"{megabytes}", ms(read.delay(case, ELEPHANT)), ms(read.delay(case, MICE)), ms(read.longest(case)),
                f"{slopes[-1]:.2f}", f"{read.both(case, 'dropped_overflow'):,}",
            )
        )  # fmt: skip
    whole = load(TAIL, 30)
    rows.append(
        (
            "1000", ms(read.delay(whole, ELEPHANT)), ms(read.delay(whole, MICE)), ms(read.longest(whole)), "",
            f"{read.both(whole, 'dropped_overflow'):,}",
        )
    )  # fmt: skip
    return Finding(
        "Delay is proportional to the buffer, not inversely",
        "buffer size is inversely proportional to delay.",
        f"The longest sojourn time is {min(slopes):.2f} to {max(slopes):.2f} ms for every 10^6 B of buffer, from "
        f"{BUFFERS[0]} to {BUFFERS[-1]} MB, which is the time to send the buffer at 194 Mbit/s. The mean delay grows "
        f"too, from {ms(read.delay(buffered(BUFFERS[0]), ELEPHANT))} to "
        f"{ms(read.delay(buffered(BUFFERS[-1]), ELEPHANT))} ms. It stops at {ms(read.delay(whole, ELEPHANT))} ms only "
        "because the run ends before a larger buffer is full, or before its packets arrive.",
        (
            "buffer (MB)",
            "elephant: mean delay (ms)",
            "mice: mean delay (ms)",
            "longest wait (ms)",
            "ms per 10^6 B",
            "overflows",
        ),
        tuple(rows),
        "Tail drop, 30,000 packets/s. Delays are those of packets that arrived before the end.",
    )


def _phase(read: Reader) -> Finding:
    rows = []
    for thousands in (20, 30):
        for queue in PHASED:
            runs = [phased(queue, thousands, phase) for phase in range(PHASES)]
            rows.append(
                (
                    f"{thousands},000", queue,
                    spread([read.got(run, MICE) for run in runs], tenth),
                    spread([read.delay(run, MICE) for run in runs], tenth),
                    spread([read.delay(run, ELEPHANT) for run in runs], tenth),
                    spread([read.both(run, "dropped_aqm") for run in runs], whole),
                    f"{read.got(load(queue, thousands), MICE)}, {ms(read.delay(load(queue, thousands), MICE))} ms",
                )
            )  # fmt: skip

    def drawn(queue: str) -> list[str]:
        return [phased(queue, 20, phase) for phase in range(PHASES)]

    def mean(queue: str) -> float:
        return math.fsum(read.delay(run, MICE) for run in drawn(queue)) / PHASES

    fixed = load(AUTHORS_CODEL, 20)
    before = fall(read.delay(load(TAIL, 20), MICE), read.delay(fixed, MICE))
    return Finding(
        "The authors' variant is not CoDel, and its numbers depend on the phase of constant intervals",
        "the AQM of the source is CoDel.",
        "It drops at the tail, its target and interval are both 100 ms, and it spaces drops by whole milliseconds. "
        f"Here it is {AUTHORS_CODEL}, and codel is RFC 8289's, which drops at the head. Whether it drops a mouse "
        f"depends on the phase between the mice's and the elephant's intervals. As published, {read.got(fixed, MICE)} "
        f"of 10 mice arrive at 20,000 packets/s with a delay of {ms(read.delay(fixed, MICE))} ms, {before:.0f} % less "
        "than with tail drop. With random starts below a millisecond "
        f"{span([read.got(run, MICE) for run in drawn(AUTHORS_CODEL)])} arrive with a mean delay of "
        f"{ms(mean(AUTHORS_CODEL))} ms, {fall(mean(TAIL), mean(AUTHORS_CODEL)):.1f} % less than with tail drop. With "
        f"RFC 8289's CoDel {span([read.got(run, MICE) for run in drawn('codel')])} arrive with {ms(mean('codel'))} "
        f"ms. A fair comparison needs random starts: --set start_jitter=1ms --replications {PHASES}.",
        (
            "lambda",
            "queue",
            "mice received",
            "their mean delay (ms)",
            "elephant: mean delay (ms)",
            "AQM drops",
            "mice without jitter",
        ),
        tuple(rows),
        f"Means over {PHASES} random starts, with their ranges.",
    )
