"""To which flows LEDBAT and LEDBAT++ yield, and what a flow of them gets that starts late."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bloatlab.experiments.behaviour.parts import OURS, Document, Reading, bottleneck, fifo, flow, link, share
from bloatlab.experiments.claim import Cases, Claim

RATE, RTT = 20.0, 0.04
ROOM = 1.0
"""Length of a queue in seconds that low-priority flows do not fill."""
TARGET, TARGET_PP, SHORT = 100, 60, 20
"""Targets of LEDBAT, of LEDBAT++ and of the variant of LEDBAT, ms."""
JOINS = 150.0
"""Start of the second flow, when a single LEDBAT flow is back at its target after slow start."""
RFC = "RFC 6817"
QUEST = "Carofiglio, Muscariello, Rossi and Valenti 2010 (arXiv 1006.3018), abstract"
EVALUATION = "Bagnulo and García-Martínez 2022 (Computer Networks 212, 109036), abstract"
PP = "draft-irtf-iccrg-ledbat-plus-plus-06"
DESCRIBED = "(known from descriptions of the draft)"
OTHERS = ("cubic", "newreno")
VARIANT = f"ledbat, target {SHORT} ms"


def _joined(first: str, second: str) -> str:
    return f"{first}, then {second}"


def _alone(cca: str) -> str:
    return f"{cca} alone"


def _pair(first: Any, second: Any, room: float) -> Document:
    flows: list[dict[str, Any]] = [
        {"name": "first", "cca": first},
        {"name": "second", "cca": second, "start": f"{JOINS:g}s"},
    ]
    return bottleneck(RATE, 1000 * RTT, fifo(RATE, room), flows, stop=JOINS + 200, warmup=JOINS + 60)


CASES: dict[str, Document] = {
    **{
        _alone(cca): bottleneck(RATE, 1000 * RTT, fifo(RATE, ROOM), [{"cca": cca}], stop=300, warmup=JOINS)
        for cca in ("ledbat", "ledbat++")
    },
    **{_joined(cca, cca): _pair(cca, cca, ROOM) for cca in ("ledbat", "ledbat++")},
    **{
        _joined(*pair): _pair(*pair, 0.3)
        for cca in ("ledbat", "ledbat++") for other in OTHERS for pair in ((cca, other), (other, cca))
    },
    **{_joined(other, VARIANT): _pair(other, {"kind": "ledbat", "target": f"{SHORT}ms"}, 0.3) for other in OTHERS},
}  # fmt: skip


def _late(cca: str, other: str) -> str:
    return f"{cca} that starts after {other}: share"


def _late_share(cca: str, other: str) -> Reading:
    return share(_joined(other, cca), "second")


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "ledbat alone: queueing delay", TARGET, link(_alone("ledbat"), "mean_sojourn"), "ms", f"{RFC} section 2.5: TARGET",
        "stated", relative=0.02, note="tolerance: three packets",
    ),
    Claim(
        "ledbat alone: utilization", 0.99, link(_alone("ledbat"), "utilization"), "",
        f"{RFC} section 1.2, goal 1: uses the capacity", "stated", bound="at least",
        note=f"{OURS}: the RFC has no number",
    ),
    *(
        Claim(
            name, 0.05, of, "", f"{source}: yields to flows that queue more", "stated", bound="at most",
            note=f"{OURS}: a tenth of an even share. The source has no number",
        )
        for cca, source in (("ledbat", f"{RFC} section 1.2, goal 3"), ("ledbat++", f"{PP}, abstract"))
        for other in OTHERS
        for name, of in (
            (f"{cca} that starts before {other}: share", share(_joined(cca, other), "first")),
            (_late(cca, other), _late_share(cca, other)),
        )
    ),
    Claim(
        "ledbat that starts after ledbat: share", 0.9, _late_share("ledbat", "ledbat"), "",
        f"{RFC} section 4.4: it uses the entire capacity; {QUEST}: it takes over all resources", "stated", bound="at least",
        note=f"{OURS}: the sources have no number",
    ),
    Claim(
        "ledbat that starts after ledbat: queueing delay", 2 * TARGET, link(_joined("ledbat", "ledbat"), "mean_sojourn"),
        "ms", f"{RFC} section 4.4: the base delay of the latecomer includes the target of the first flow", "derived",
        relative=0.1, note="tolerance: it approaches its target from below, as a proportional controller does",
    ),
    Claim(
        "ledbat++ that starts after ledbat++: share", 0.5, _late_share("ledbat++", "ledbat++"), "",
        f"{PP}, abstract; {EVALUATION}: no latecomer advantage", "stated", relative=0.1,
        note="we read no latecomer advantage as an even share; the tolerance of a tenth is ours",
    ),
    Claim(
        "ledbat++ alone: smoothed RTT", 1000 * RTT + TARGET_PP, flow(_alone("ledbat++"), "p50_rtt_l4"), "ms",
        f"{PP} section 4.2 {DESCRIBED}: TARGET 60 ms", "stated", relative=0.02,
    ),
    Claim(
        "ledbat++ alone: utilization", 0.9, link(_alone("ledbat++"), "utilization"), "",
        f"{PP} section 4.4 {DESCRIBED}: pauses cost a tenth at most", "stated", bound="at least",
    ),
)  # fmt: skip
COMPARISON: tuple[Claim, ...] = ()


def _why_late(other: str) -> Callable[[Cases], str]:
    def why(cases: Cases) -> str:
        smallest = flow(_joined(other, "ledbat"), "min_rtt_l4", "second")
        variant = _late_share(VARIANT, other)
        before = share(_joined("ledbat", other), "first")
        return (
            f"LEDBAT takes a part of {other}'s queue for its base delay: its smallest RTT is {smallest.span(cases)} ms on a path "
            f"of {1000 * RTT:g} ms. It therefore aims at a longer queue than the RFC means. With a target of {SHORT} ms "
            f"instead of {TARGET} it gets {variant.span(cases, 2)}, and if it starts first {before.span(cases, 2)}"
        )

    return why


REASONS: Mapping[str, Callable[[Cases], str]] = {_late("ledbat", other): _why_late(other) for other in OTHERS}
