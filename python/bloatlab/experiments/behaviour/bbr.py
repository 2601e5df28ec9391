"""BBR's data in flight, and its share beside CUBIC."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bloatlab.experiments.behaviour.parts import (
    Combined,
    Document,
    Reading,
    bottleneck,
    fifo,
    flow,
    packets,
    share,
    total,
    warmup,
)
from bloatlab.experiments.claim import Cases, Claim
from bloatlab.experiments.finding import Finding

if TYPE_CHECKING:
    from bloatlab.result import Result

RATE, RTT = 50.0, 0.04
BDP = packets(RATE, RTT)
DEEP = 8
"""Size of a deep buffer in bandwidth-delay products."""
WARE_RATE, WARE_RTT, WARE_TIME, LONG_TIME = 10.0, 0.04, 400.0, 2000.0
"""Ware 2019, figure 8a: Mbit/s, s, and the length of a run in s; and a length that is five times as long."""
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
"""Ware 2019, figure 8a: sizes of the buffer in bandwidth-delay products."""
LONG = (32, 64)
"""Sizes for which longer runs are made, too."""
LINUX = {1: 0.863, 2: 0.603, 4: 0.503, 8: 0.463, 16: 0.394, 32: 0.261, 64: 0.071}
"""Share of BBR in Linux 7.2.12 (engine `linux-virtual`), mean of seeds 1 to 10, by size of the buffer."""
LINUX_LONG = {32: 0.352, 64: 0.15}
"""The same in runs of `LONG_TIME`, the second half, mean of seeds 1 to 3."""
WARE = "Ware, Mukerjee, Seshan and Sherry 2019 (known from the quotations in ffund/re-bbr-shared-bottleneck)"
BLOG = 'Ware 2024 (CMU CSD PhD blog), section "A more robust model for BBR\'s throughput"'
DRAFT = "draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.3.2"
MODEL_ERROR = "bbr beside cubic, 1 to 64 BDP: median error of the model of the share"

LINUX_CUBIC = {"kind": "cubic", "variant": "linux", "slow_start": "hystart"}
"""The CUBIC of Linux, because these runs are compared with Linux."""
KEPT = 40
"""Round trips over which the variant of BBR takes the largest rate, instead of ten."""
OF_RFC, OF_FORTY, OF_LONG = ", RFC 9438's cubic", f", rate of {KEPT} round trips", f", {LONG_TIME:g} s"
"""Names of the variants, which show why the share differs from the model."""


def _bbr(flows: int) -> str:
    return f"bbr x {flows}"


def _beside(depth: float, variant: str = "") -> str:
    return f"bbr beside cubic, {depth:g} BDP{variant}"


def _pair(depth: float, *, stop: float, warmup: float, bbr: Any = "bbr", cubic: Any = LINUX_CUBIC) -> Document:
    flows = [{"name": "bbr", "cca": bbr}, {"name": "cubic", "cca": cubic}]
    return bottleneck(WARE_RATE, 1000 * WARE_RTT, fifo(WARE_RATE, depth * WARE_RTT), flows, stop=stop, warmup=warmup)


_FORTY = {"kind": "bbr", "bw_window": KEPT}
SELDOM = {"sample_interval": "1s"}
CASES: dict[str, Document] = {
    **{
        _bbr(count): bottleneck(
            RATE, 1000 * RTT, fifo(RATE, DEEP * RTT),
            [{"count": count, "cca": "bbr", "start_interval": "1s"}], stop=120, warmup=40,
        )
        for count in (1, 2, 4, 6)
    },
    **{_beside(depth): _pair(depth, stop=WARE_TIME, warmup=20) for depth in DEPTHS},
    **{_beside(depth, OF_RFC): _pair(depth, stop=WARE_TIME, warmup=20, cubic="cubic") | SELDOM for depth in DEPTHS},
    **{_beside(depth, OF_FORTY): _pair(depth, stop=WARE_TIME, warmup=20, bbr=_FORTY) for depth in DEPTHS},
    **{
        _beside(depth, variant + OF_LONG): _pair(depth, stop=LONG_TIME, warmup=LONG_TIME / 2, bbr=bbr, cubic=cubic)
        | SELDOM
        for depth in LONG
        for variant, bbr, cubic in (("", "bbr", LINUX_CUBIC), (OF_RFC, "bbr", "cubic"), (OF_FORTY, _FORTY, LINUX_CUBIC))
    },
}  # fmt: skip


WARE_BDP = packets(WARE_RATE, WARE_RTT)
PROBE_WINDOW = 4.0
"""BBR's window in ProbeRTT, segments."""


def _modelled(depth: float, in_flight: float, buffered: float, piped: float, ratio: float = 1.0) -> float:
    """BBR's share if its data in flight are `ratio` times twice its rate times the RTT of ProbeRTT; packets.

    In ProbeRTT, the RTT has CUBIC's share of `buffered`, BBR's four packets, and `piped`. Solving this for CUBIC's share
    gives eq. 9 of the model. Eq. 10 and 11 are BBR's pauses every ten seconds.
    """
    cubic = (in_flight / (2 * ratio) - PROBE_WINDOW - piped) / buffered
    pause = depth * WARE_RTT + 0.2 + WARE_RTT
    return (1 - min(1.0, max(0.0, cubic))) * (1 - pause / 10)


def ware(depth: float) -> float:
    """BBR's share beside loss-based flows in the model: the buffer is full, and the RTT of ProbeRTT has a base RTT."""
    return _modelled(depth, (depth + 1) * WARE_BDP, depth * WARE_BDP, WARE_BDP)


READINGS = ("in_flight", "window", "base_rtt", "all_in_flight")
"""What `of_run` reads."""
READ = frozenset(
    (
        *(_beside(depth, variant) for depth in DEPTHS for variant in ("", OF_FORTY)),
        *(_beside(depth, OF_LONG) for depth in LONG),
    )
)
"""Cases with readings."""


def of_run(run: Result) -> dict[str, float]:
    """Means over the samples outside ProbeRTT, packets: BBR's data in flight, its window, its base RTT, all data in flight.

    The base RTT is the smallest since the last ProbeRTT began: one BDP and the shortest queue of the samples.
    """
    flows, queue = run.flow_series.to_polars(), run.link_series.to_polars().sort("time_s")["queue_packets"]
    of_bbr, of_cubic = (flows.filter(flows["flow"] == name).sort("time_s") for name in ("bbr", "cubic"))
    columns = (*(of_bbr[name] for name in ("time_s", "in_flight", "cwnd")), of_cubic["in_flight"], queue)
    start, shortest, probing, found = warmup(run), math.inf, False, []
    for time, mine, window, theirs, length in zip(*columns, strict=True):
        probed, probing = probing, window <= PROBE_WINDOW
        shortest = length if probing and not probed else min(length, shortest)
        if time > start and not probing:
            found.append((mine, window, WARE_BDP + shortest, mine + theirs))
    return {name: statistics.fmean(values) for name, values in zip(READINGS, zip(*found, strict=True), strict=True)}


def steps(depth: float, variant: str = "") -> Callable[[Cases], list[float]]:
    """BBR's share in the model, then with one measured value after the other in place of an assumption, then measured."""
    case = _beside(depth, variant)

    def mean(name: str, cases: Cases) -> float:
        return Reading(case, lambda run: float(run["readings"][name]))(cases) or 0.0

    def shares(cases: Cases) -> list[float]:
        mine, window, base, everything = (mean(name, cases) for name in READINGS)
        modelled_base = everything - mine + PROBE_WINDOW
        twice = 2 * mine / everything * modelled_base
        ratios = (base / modelled_base, window / twice, mine / twice)
        return [
            ware(depth),
            _modelled(depth, everything, everything - WARE_BDP, WARE_BDP),
            *(_modelled(depth, everything, everything, 0.0, ratio) for ratio in (1.0, *ratios)),
            _share(depth, variant)(cases) or 0.0,
        ]

    return shares


def _share(depth: float, variant: str = "") -> Reading:
    return share(_beside(depth, variant), "bbr")


def _error(shares: Sequence[float]) -> float:
    return statistics.median(abs(ours - ware(depth)) for depth, ours in zip(DEPTHS, shares, strict=True))


def _largest_rise(shares: Sequence[float]) -> float:
    return max(after - before for before, after in itertools.pairwise(shares))


def _of_depths(combine: Callable[[Sequence[float]], float], variant: str = "") -> Combined:
    return Combined(tuple(_share(depth, variant) for depth in DEPTHS), combine)


def _windows(flows: int) -> float:
    """BBR's windows in BDPs: two, and three bursts per flow. A burst lasts 1 ms and has two segments or more."""
    burst = max(2, int(packets(RATE / flows, 0.001)))
    return 2 + 3 * flows * burst / BDP


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "bbr alone, 8 BDP of buffer: window", _windows(1), total(_bbr(1), "mean_cwnd_l4", BDP), "BDP",
        f"{DRAFT}: cwnd_gain 2 and three bursts", "derived", relative=0.05,
        note="tolerance: the allowance for ACK aggregation, and rate samples that are a packet too high",
    ),
    *(
        Claim(
            f"bbr x {count}, 8 BDP of buffer: in flight", 2, total(_bbr(count), "mean_in_flight_l4", BDP), "BDP",
            f"{WARE}, eq. 1 and 6: a window of 2 BDP, which the flows fill because they overestimate their shares",
            "derived", bound="at least",
        )
        for count in (4, 6)
    ),
    Claim(
        "bbr x 2, 8 BDP of buffer: in flight", _windows(2), total(_bbr(2), "mean_in_flight_l4", BDP), "BDP",
        f"{DRAFT}: cwnd_gain 2 and three bursts", "derived", relative=0.05, note="tolerance as for the window",
    ),
    Claim(
        "bbr beside cubic: largest rise of the share where the buffer doubles (1 to 64 BDP)", 0,
        _of_depths(_largest_rise), "", f"{WARE}, eq. 9 to 11 and figure 8a: the share falls as the buffer grows",
        "derived", bound="at most",
    ),
    Claim(
        MODEL_ERROR, 0.05, _of_depths(_error), "", f"{WARE}, eq. 9 to 11; {BLOG}: a median error of 5 % beside CUBIC",
        "stated", bound="at most", note="we take the error as a difference of shares",
    ),
    *(
        Claim(
            f"bbr beside cubic, {depth:g} BDP of buffer: share in Linux", linux, _share(depth), "",
            "our runs of Linux 7.2.12 (linux-virtual), ten seeds", "derived", absolute=0.03,
            note="tolerance: the range of the seeds in Linux up to 16 BDP; at 32 and 64 BDP it is 0.06 and 0.08",
        )
        for depth, linux in LINUX.items()
    ),
)  # fmt: skip
COMPARISON: tuple[Claim, ...] = tuple(
    Claim(
        f"bbr beside cubic, {depth:g} BDP of buffer: share", round(ware(depth), 3), _share(depth), "",
        f"{WARE}, eq. 9 to 11", "derived", note="judged only by the median error",
    )
    for depth in DEPTHS
)  # fmt: skip


def _filled(case: str) -> Combined:
    """BBR's mean data in flight over its mean window."""
    readings = (flow(case, "mean_in_flight_l4", "bbr"), flow(case, "mean_cwnd_l4", "bbr"))
    return Combined(readings, lambda values: values[0] / values[1])


MEASURED = ("mean queue", "CUBIC in the pipe", "base RTT", "window", "data in flight")
"""The values that `steps` measures, in this order."""


def _errors(cases: Cases, variant: str = "") -> list[float]:
    """The median error of the share after each step."""
    rows = [steps(depth, variant)(cases) for depth in DEPTHS]
    return [statistics.median(abs(row[step] - row[-1]) for row in rows) for step in range(len(MEASURED) + 1)]


def _effects(cases: Cases, variant: str = "") -> list[str]:
    """The median change of the share with each step, with its sign."""
    rows = [steps(depth, variant)(cases) for depth in DEPTHS]
    return [f"{statistics.median(row[step + 1] - row[step] for row in rows):+.2f}" for step in range(len(MEASURED))]


def _parts(cases: Cases, variant: str = "") -> str:
    queue, pipe, base, window, filled = _effects(cases, variant)
    return (
        f"the buffer is not always full ({queue}); in ProbeRTT, CUBIC's data also fill the pipe alone, so its queue is shorter "
        f"by what BBR had in the pipe ({pipe}); BBR's base RTT is the smallest RTT since then ({base}); its window is larger "
        f"than twice its rate times its base RTT, because it takes its largest rate and allows for bursts ({window}); and its "
        f"data in flight do not fill the window ({filled})"
    )


def _why_not_the_model(cases: Cases) -> str:
    forty, linux = _of_depths(_error, OF_FORTY)(cases), _error(list(LINUX.values()))
    rest = " and ".join(f"{_share(depth, OF_FORTY + OF_LONG)(cases):.2f}" for depth in LONG)
    model = " and ".join(f"{ware(depth):.2f}" for depth in LONG)
    errors = _errors(cases)
    return (
        "measured values in place of what the model assumes, one after the other, change the share by these medians: "
        f"{_parts(cases)}. With all of them the median error is {errors[-1]:.3f}, and with the first three {errors[3]:.3f}. "
        f"BBR forgets its highest rate after ten round trips. If it keeps it for {KEPT}, the median error is {forty:.3f}. At "
        f"32 and 64 BDP, runs of {WARE_TIME:g} s are also too short: with {KEPT} round trips and in the second half of "
        f"{LONG_TIME:g} s, the shares are {rest}, and {model} in the model. Linux 7.2.12 differs from the model by {linux:.3f}"
    )


REASONS: Mapping[str, Callable[[Cases], str]] = {MODEL_ERROR: _why_not_the_model}


def _mean(reading: Reading, cases: Cases) -> str:
    value = reading(cases)
    return "" if value is None else f"{value:.3f}"


def _row(cases: Cases, depth: float, linux: float, length: str) -> tuple[str, ...]:
    return (
        f"{depth:g} BDP{length}",
        f"{ware(depth):.3f}",
        f"{linux:.3f}",
        *(_mean(_share(depth, variant + length), cases) for variant in ("", OF_RFC, OF_FORTY)),
        *(f"{_filled(_beside(depth, variant + length))(cases):.2f}" for variant in ("", OF_FORTY)),
    )


def beside_cubic(cases: Cases) -> Finding:
    """What changes BBR's share beside CUBIC: the time for which it keeps its highest rate, and the length of the run."""
    errors = {variant: _of_depths(_error, variant)(cases) for variant in ("", OF_FORTY)}
    long, short = (_mean(_share(max(LONG), length), cases) for length in (OF_LONG, ""))
    return Finding(
        "BBR gets less beside CUBIC than its model says, in Linux too, and more if it keeps its highest rate for longer",
        "the model of Ware predicts the share of BBR beside CUBIC with a median error of 0.05.",
        f"With buffers of 1 to 64 BDP the median error is {errors['']:.3f} here and {_error(list(LINUX.values())):.3f} in "
        f"Linux 7.2.12. BBR takes the largest delivery rate of ten round trips as the link's. If it takes the largest of "
        f"{KEPT}, the median error is {errors[OF_FORTY]:.3f}. In the deepest buffer, BBR's share is {short} in {WARE_TIME:g} s "
        f"and {long} in the second half of {LONG_TIME:g} s, so {WARE_TIME:g} s are not its steady state.",
        (
            "buffer", "model", "Linux 7.2.12", "here", "here, with RFC 9438's CUBIC", f"here, rate of {KEPT} round trips",
            "data in flight over window", f"the same, rate of {KEPT} round trips",
        ),
        (
            *(_row(cases, depth, linux, "") for depth, linux in LINUX.items()),
            *(_row(cases, depth, linux, OF_LONG) for depth, linux in LINUX_LONG.items()),
        ),
        "Means over the seeds: five here, ten in Linux, three in Linux's runs of 2000 s. CUBIC is Linux's unless a heading says "
        "otherwise.",
    )  # fmt: skip


def model_in_parts(cases: Cases) -> Finding:
    """How much of the error of the model of BBR's share each of its assumptions makes."""
    errors, forty = _errors(cases), _errors(cases, OF_FORTY)
    return Finding(
        "BBR's model errs in the base RTT, in the window and in how full the window is",
        "eq. 8 says that BBR's data in flight are twice its rate times its base RTT. Eq. 7 takes this RTT from ProbeRTT, with "
        "a full buffer: CUBIC's part of it, BBR's four packets, and the RTT of the path.",
        "The table puts one measured value after the other in place of what the model assumes. Median changes of the share: "
        f"{_parts(cases)}. If BBR keeps its highest rate for {KEPT} round trips, they are "
        f"{', '.join(_effects(cases, OF_FORTY))}. With the first three, the median error is {errors[3]:.3f} ({forty[3]:.3f} with "
        f"{KEPT} round trips), because the last two change the share in opposite directions. With all five it is "
        f"{errors[-1]:.3f} ({forty[-1]:.3f}). What remains is the length of the pauses, and the difference between data in "
        "flight and throughput.",
        ("buffer", "model", *MEASURED, "here"),
        tuple(
            (f"{depth:g} BDP{length}", *(f"{share:.3f}" for share in steps(depth, length)(cases)))
            for length, depths in (("", DEPTHS), (OF_LONG, LONG))
            for depth in depths
        ),
        "Each column has the measured values of the columns before it, too: means of five seeds outside ProbeRTT. The base RTT "
        "comes from the samples of the queue, so it is a little too short. At 1 BDP, CUBIC has too little data in flight to fill "
        "the pipe in ProbeRTT; the column of the base RTT corrects this.",
    )
