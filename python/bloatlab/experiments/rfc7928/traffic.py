"""Bursts, mixes of applications, and traffic in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab.experiments import criteria, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.rfc7928.base import Rfc7928, bulk, case, cbr, common, page, video, web

BURST_CASES = {"I": (0, 0), "II": (0, 1), "III": (1, 0), "IV": (1, 1)}
"""RFC 7928 section 7.2: video and bulk flows of each case; all have a web client and datagrams at a constant rate."""
MIX_CASES = {"I": (0, 0, 0), "II": (0, 0, 1), "III": (0, 0, 5), "IV": (1, 0, 5), "V": (0, 1, 5)}
"""RFC 7928 section 9.1: datagrams, adaptive video and bulk flows of each case; all have a call and a web client."""


class Bursts(Rfc7928):
    """Bursts of pages and video frames."""

    name = "rfc7928-bursts"
    title = "Bursts of pages and video frames"
    question = "Which queue lets bursts of pages and video frames pass with little loss and delay?"
    summary = (
        "Web pages over six connections with an initial window of 10, datagrams at a constant rate, and video frames "
        "in bursts, with and without a long flow. Does the queue accept a burst? Set-up I has pages and datagrams, II also "
        "a long flow, III also video, and IV both."
    )
    section = "section 7"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        case(list(BURST_CASES), "senders besides pages and datagrams: I none, II a bulk flow, III video, IV both"),
        page(),
    )
    own_axes: ClassVar[Mapping[str, Any]] = {"case": list(BURST_CASES)}
    asked = (quantities.page(), quantities.LOSS)
    filling = quantities.waiting(of=quantities.OF_TRANSFERS)
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.web(group="pages"),
        *criteria.voip("cbr", title="datagrams'", group="datagrams"),
        *criteria.voip("video", title="video", group="video"),
        *criteria.delay(),
        criteria.goodput(),
        criteria.loss(),
        criteria.loss_bursts(),
    )

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The case's flows."""
        frames, long = BURST_CASES[params["case"]]
        found = [web(params), cbr()]
        if frames:
            found.append(video())
        return [*found, *([bulk(params, long)] if long else [])]


class Mix(Rfc7928):
    """A call, pages, datagrams, video and transfers at the same time."""

    name = "rfc7928-mix"
    title = "A mix of applications"
    question = "Which queue serves calls and pages best beside transfers and video?"
    summary = (
        "A call and pages beside datagrams, adaptive video and bulk transfers, in the five mixes of the RFC. Set-up I has "
        "a call and pages, II also a transfer, III five transfers, IV five transfers and datagrams, and V five transfers "
        "and adaptive video."
    )
    section = "section 9.1"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        case(
            list(MIX_CASES),
            "senders besides the call and the pages: I none, II a transfer, III five, IV five and datagrams, "
            "V five and adaptive video",
        ),
        page(),
    )
    own_axes: ClassVar[Mapping[str, Any]] = {"case": list(MIX_CASES)}
    asked = (quantities.call(), quantities.page())
    filling = quantities.waiting(of=quantities.OF_TRANSFERS)
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.voip(group="call"),
        *criteria.web(group="pages"),
        *criteria.delay(),
        criteria.goodput(),
        criteria.fairness(),
        criteria.loss(),
    )

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The case's flows."""
        datagrams, adaptive, long = MIX_CASES[params["case"]]
        found = [shared.call(), shared.call("answer", "reverse"), web(params)]
        if datagrams:
            found.append(cbr())
        if adaptive:
            # A player fetches chunks of some seconds over one connection and pauses between them.
            chunk = {"kind": "fetch", "response": "1MB", "interval": "2s", "connection": "persistent"}
            found.append({"name": "video", "traffic": chunk, "tcp": shared.tcp(params)})
        return [*found, *([bulk(params, long, "cubic")] if long else [])]


class Bidirectional(Rfc7928):
    """Long flows in both directions, so that ACKs wait behind data."""

    name = "rfc7928-bidirectional"
    title = "Traffic both ways"
    question = "What do long flows in both directions cost each other, and which queue helps?"
    summary = (
        "Long flows and a call in each direction over links with the same queue. ACKs of one direction wait behind the "
        "data of the other."
    )
    section = "section 9.2"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        shared.count("flows", 3, "flows", "long flows in each direction", low=1),
        shared.cca("cubic"),
        Parameter(
            "up", "10Mbit/s", "bit/s",
            allowed="a rate such as 2Mbit/s", help="rate on the way back; its queue is of the same kind",
            read=read.rate,
        ),
    )  # fmt: skip
    own_axes: ClassVar[Mapping[str, Any]] = {"up": ["1Mbit/s", "10Mbit/s"]}
    asked = (quantities.waiting(), quantities.goodput(), quantities.goodput("up", "goodput on the way back"))
    carried = None
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.delay(),
        *criteria.delay("up", title="queueing delay on the way back", group="delay on the way back"),
        *criteria.voip(group="call"),
        criteria.goodput(),
        criteria.goodput("up", title="goodput on the way back"),
        criteria.fairness(),
        criteria.loss(),
    )

    def dumbbell(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A queue each way."""
        there = super().dumbbell(params)
        return {**there, "reverse_rate": params["up"], "reverse_queue": there["queue"]}

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Long flows and a call in each direction."""
        return [
            bulk(params, params["flows"], params["cca"]),
            bulk(params, params["flows"], params["cca"], "up", direction="reverse"),
            shared.call(),
            shared.call("answer", "reverse"),
        ]
