"""The test bed of a scenario: a row of routers with the links between them, and pairs of hosts at the routers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab import language
from bloatlab.errors import ParameterError

BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Rest:
    """What a path has beside its links: propagation, and boxes that lose, damage or duplicate packets.

    It has its own network device, because netem under another qdisc distorts that qdisc.
    """

    delay_ns: int
    varies: bool
    """Whether the delay changes during the run, as netem's cannot."""
    jitter: Mapping[str, Any] | None
    """Table `jitter` of the scenario; `None`: every packet has the same delay."""
    impairments: tuple[Mapping[str, Any], ...]
    """Tables of the boxes `loss`, `corrupt` and `duplicate`."""


@dataclass(frozen=True)
class Hosts:
    """A pair of hosts, and the flows between them."""

    enter: int
    """Index of the router at which the first host is."""
    leave: int
    """Index of the router at which the second host is."""
    forth: Rest
    """From the first host to the second."""
    back: Rest
    flows: tuple[tuple[language.Flow, bool], ...]
    """The flows, and whether the first host sends the data."""


@dataclass(frozen=True)
class Bed:
    """Routers 0 to `edges`, and the links between neighbours in both directions."""

    name: str
    duration_ns: int
    forward: tuple[language.Link, ...]
    """Link `i` leads from router `i` to router `i + 1`."""
    backward: tuple[language.Link, ...]
    """Link `i` leads from router `edges - i` to the one before it."""
    flows: tuple[language.Flow, ...]
    hosts: tuple[Hosts, ...]
    bottleneck: str
    """Name of the link at which packets are expected to wait."""

    @property
    def edges(self) -> int:
        """Number of pairs of neighbours."""
        return max(len(self.forward), len(self.backward))

    def links(self) -> list[tuple[int, int, language.Link]]:
        """Each link with its first and its second router."""
        last = self.edges
        forward = [(place, place + 1, link) for place, link in enumerate(self.forward)]
        return forward + [(last - place, last - place - 1, link) for place, link in enumerate(self.backward)]


def read(document: str) -> Bed:
    """Lays out the test bed of a scenario.

    Args:
        document: The scenario in its canonical form, as JSON.

    Raises:
        ParameterError: The scenario has a cell, or flows whose paths do not lie on one row of routers.
    """
    given = json.loads(document)
    if "cell" in given:
        raise ParameterError(
            "the link of a 5G cell is a radio channel, which Linux, Mininet, NeST and the point-to-point links of ns-3 "
            "do not have; choose one queue with --box"
        )
    plan = language.plan(document)
    links = plan.links
    paths = [(_links(flow.forward, links), _links(flow.reverse, links)) for flow in plan.flows]
    forward, backward = max(paths, key=lambda path: len(path[0]), default=((), ()))
    if not forward:
        raise ParameterError("no flow crosses a link, so there is nothing to set up")
    edges = max(len(forward), len(backward))
    groups: dict[tuple[int, int, tuple[str, ...], tuple[str, ...]], list[tuple[language.Flow, bool]]] = {}
    for flow, (out, home) in zip(plan.flows, paths, strict=True):
        towards = _place(out, home, forward, backward, edges)
        away = _place(home, out, forward, backward, edges) if towards is None else None
        enter, leave = towards or away or _no_place(flow, plan.flows[paths.index((forward, backward))])
        forth, back = (flow.forward, flow.reverse) if towards else (flow.reverse, flow.forward)
        key = (enter, leave, _others(forth, links), _others(back, links))
        groups.setdefault(key, []).append((flow, towards is not None))
    boxes = {box.name: box for box in plan.boxes}
    rows = tuple(links[name] for name in forward), tuple(links[name] for name in backward)

    there, back_again = _jitters(given, forward)

    def rest(names: Sequence[str], crossed: Sequence[language.Link], jitters: Mapping[str, Any]) -> Rest:
        found = [boxes[name] for name in names]
        delays = [box for box in (*found, *crossed) if not isinstance(box, language.Impairment)]
        varying = [box.name for box in delays if (box.varies if isinstance(box, language.Delay) else box.delay_varies)]
        jitter = next(filter(None, (jitters.get(name) or jitters.get("") for name in varying)), None)
        impairments = tuple(box.parameters for box in found if isinstance(box, language.Impairment))
        return Rest(sum(box.delay_ns for box in delays), bool(varying) and jitter is None, jitter, impairments)

    hosts = tuple(
        Hosts(
            enter,
            leave,
            rest(forth, rows[0][enter:leave], there),
            rest(back, rows[1][edges - leave : edges - enter], back_again),
            tuple(flows),
        )
        for (enter, leave, forth, back), flows in groups.items()
    )
    names = [*forward, *backward]
    bottleneck = BOTTLENECK if BOTTLENECK in names else min(forward, key=lambda name: links[name].rate_bps)
    return Bed(plan.name, plan.duration_ns, *rows, plan.flows, hosts, bottleneck)


def _links(path: Sequence[str], links: Mapping[str, language.Link]) -> tuple[str, ...]:
    return tuple(name for name in path if name in links)


def _others(path: Sequence[str], links: Mapping[str, language.Link]) -> tuple[str, ...]:
    return tuple(name for name in path if name not in links)


def _place(
    out: tuple[str, ...], home: tuple[str, ...], forward: tuple[str, ...], backward: tuple[str, ...], edges: int
) -> tuple[int, int] | None:
    """The routers at which a flow with these links enters and leaves the row; `None` if it does not lie on the row."""
    for enter in range(len(forward) - len(out) + 1) if out else ():
        leave = enter + len(out)
        if forward[enter:leave] != out:
            continue
        leave = edges if leave == len(forward) else leave
        if backward[edges - leave : edges - enter] == home:
            return enter, leave
    return None


def _no_place(flow: language.Flow, first: language.Flow) -> tuple[int, int]:
    raise ParameterError(
        f"flow `{flow.name}` ({', '.join(flow.forward)}; back {', '.join(flow.reverse)}) does not lie on the path of "
        f"`{first.name}` ({', '.join(first.forward)}; back {', '.join(first.reverse)}); choose one queue with --box"
    )


def _jitters(document: Mapping[str, Any], forth: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tables `jitter` on the way forth and on the way back, by the name of the box; `""`: every box of that way."""
    boxes = {box["name"]: box["jitter"] for box in document.get("boxes", ()) if box.get("jitter")}
    if boxes:
        return boxes, boxes
    dumbbell = document.get("dumbbell") or {}
    ways = [{"": (dumbbell.get(key) or {}).get("jitter")} for key in ("impair", "reverse_impair")]
    return (ways[0], ways[1]) if BOTTLENECK in forth else (ways[1], ways[0])
