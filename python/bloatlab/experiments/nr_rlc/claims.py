"""Published values of the runs, compared with ours: exact counts, and delays to 0.01 ms."""

from __future__ import annotations

from collections.abc import Callable

from bloatlab.experiments.claim import Cases, Claim, Kind
from bloatlab.experiments.nr_rlc.cases import acknowledged, buffered, load
from bloatlab.experiments.nr_rlc.setup import AUTHORS_CODEL, ELEPHANT, MICE, OTHER_SOUNDING, SOUNDING, TAIL

PUBLISHED, RERUN = "published log", "the authors' code run again"
FIGURE = "published figure of packet loss"
MODE_AM = "the authors' code run again with RLC AM"
OFFSET = (
    f"our sounding_offset is {OTHER_SOUNDING} in this run and {SOUNDING} in all others, because 5G-LENA draws it at random. "
    f"{SOUNDING} fits every other row, but gives the elephant 152678 packets here. In every other saturated row, mice and "
    "elephant together receive 152686 packets, and in this one 152687. A saturated cell carries the same number of packets "
    "at every lambda, so the published run had another offset (67 to 79 or 0 to 22 give its count)"
)

# Case: received and mean delay (ms) of the mice, of the elephant, drops by the AQM, source.
ROWS: dict[str, tuple[int, float, int, float, int | None, str]] = {
    load(TAIL, 15): (10, 9.164281, 143864, 8.841997, None, PUBLISHED),
    load(TAIL, 16): (10, 33.214, 152676, 34.693, None, RERUN),
    load(TAIL, 20): (8, 907.376781, 152679, 988.843311, None, f"{PUBLISHED}, under the name CoDel"),
    load(TAIL, 25): (7, 1721.350, 152679, 1752.213, None, RERUN),
    load(TAIL, 30): (6, 2221.314, 152680, 2261.148, None, RERUN),
    load(AUTHORS_CODEL, 20): (5, 515.764, 152681, 964.630, 2709, RERUN),
    load(AUTHORS_CODEL, 30): (3, 1184.898, 152683, 2253.913, 2977, RERUN),
    buffered(10): (10, 377.764, 152676, 400.447, None, PUBLISHED),
    buffered(30): (9, 1064.731, 152677, 1072.138, None, PUBLISHED),
    buffered(40): (8, 1350.752, 152678, 1351.816, None, PUBLISHED),
    buffered(50): (8, 1623.502, 152678, 1594.050, None, PUBLISHED),
    buffered(70): (7, 1999.064, 152679, 1966.183, None, PUBLISHED),
    buffered(100): (6, 2168.148, 152680, 2243.556, None, PUBLISHED),
}
SATURATED = tuple(case for case in ROWS if case != load(TAIL, 15))


def metric(case: str, flow: str, name: str) -> Callable[[Cases], float | None]:
    """A metric of a flow."""
    return lambda cases: float(cases[case]["flow_metrics"][flow][name])


def dropped(case: str) -> Callable[[Cases], float | None]:
    """Packets of both flows that the AQM dropped."""
    return lambda cases: sum(float(cases[case]["flow_metrics"][flow]["dropped_aqm"]) for flow in (MICE, ELEPHANT))


def _row(case: str) -> list[Claim]:
    mice, mice_delay, elephant, elephant_delay, drops, source = ROWS[case]
    note = OFFSET if case == load(TAIL, 20) else ""
    kind: Kind = "re-run" if source == RERUN else "stated"
    found = [
        Claim(f"{case}: mice received", mice, metric(case, MICE, "rx_packets"), "packets", source, kind, absolute=0, note=note),
        Claim(
            f"{case}: mice, mean delay", mice_delay, metric(case, MICE, "mean_delay"), "ms", source, kind, absolute=0.06,
            note=note,
        ),
        Claim(
            f"{case}: elephant received", elephant, metric(case, ELEPHANT, "rx_packets"), "packets", source, kind, absolute=0,
            note=note,
        ),
        Claim(
            f"{case}: elephant, mean delay", elephant_delay, metric(case, ELEPHANT, "mean_delay"), "ms", source, kind,
            absolute=0.02, note=note,
        ),
    ]  # fmt: skip
    if drops is not None:
        found.append(Claim(f"{case}: dropped by the AQM", drops, dropped(case), "packets", source, kind, absolute=0))
    if case in SATURATED:
        found.append(
            Claim(
                f"{case}: elephant, throughput",
                194.42,
                metric(case, ELEPHANT, "throughput"),
                "Mbit/s",
                source,
                kind,
                absolute=0.01,
            )
        )
    return found


CLAIMS: tuple[Claim, ...] = (
    *(claim for case in ROWS for claim in _row(case)),
    *(
        Claim(
            f"{load(TAIL, thousands)}: mice received", received, metric(load(TAIL, thousands), MICE, "rx_packets"), "packets",
            f"{FIGURE}: {100 - 10 * received} %", "read off", absolute=0,
        )
        for thousands, received in ((35, 5), (40, 4))
    ),
)  # fmt: skip
COMPARISON: tuple[Claim, ...] = (
    Claim(
        f"{acknowledged(15)}: elephant, mean delay",
        8.876,
        metric(acknowledged(15), ELEPHANT, "mean_delay"),
        "ms",
        MODE_AM,
        "re-run",
    ),
    Claim(
        f"{acknowledged(30)}: elephant, throughput",
        193.4,
        metric(acknowledged(30), ELEPHANT, "throughput"),
        "Mbit/s",
        MODE_AM,
        "re-run",
    ),
)
