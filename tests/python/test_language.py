"""The plan of a document, as Python reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bloatlab as bl
from bloatlab import language
from bloatlab.analysis.bottleneck import Bottleneck, bottleneck_of
from bloatlab.errors import ParameterError
from bloatlab.language import Delay, Flow, Impairment, Limit
from bloatlab.store import Store

DUMBBELL = {"rate": "10Mbit/s", "rtt": "40ms", "queue": {"kind": "fifo", "limit": "80p"}, "loss": 0.01}
DOCUMENT: dict[str, Any] = {"name": "one flow", "duration": "10s", "dumbbell": DUMBBELL, "flows": [{"dscp": "EF"}]}


def test_boxes_and_flows() -> None:
    plan = language.plan(DOCUMENT)
    assert (plan.name, plan.duration_ns, plan.warmup_ns, plan.sample_interval_ns) == ("one flow", 10**10, 0, 10**8)
    link, loss, delay = plan.boxes
    assert plan.links == plan.queues == {"bottleneck": link}
    bottleneck = plan.links["bottleneck"]
    assert (bottleneck.queue["kind"], bottleneck.queue_path, bottleneck.limit) == ("fifo", "dumbbell.queue", Limit(80))
    assert bottleneck.rate_bps == bottleneck.greatest_rate_bps == 10_000_000
    assert loss == Impairment("loss", {"kind": "loss", "name": "loss", "probability": 0.01})
    assert delay == Delay("delay", 20_000_000, False)
    (flow,) = plan.flows
    assert (flow.forward, flow.reverse) == (("bottleneck", "loss"), ("delay",))
    assert (flow.base_rtt_ns, flow.dscp, flow.traffic, flow.cca["kind"]) == (40_000_000, 46, "greedy", "cubic")


def test_a_timeline() -> None:
    timeline = [
        {"at": "1s", "key": "dumbbell.queue", "value": "codel"},
        {"at": "2s", "key": "flows[1]", "value": {"name": "ping", "traffic": "ping"}},
        {"at": "3s", "key": "flows[1].stop", "value": "4s"},
        {"at": "3s", "key": "dumbbell.loss", "value": 0.0},
    ]
    plan = language.plan(json.dumps({**DOCUMENT, "timeline": timeline}))
    assert [change.at_ns // 10**9 for change in plan.timeline] == [1, 2, 3, 3]
    queue, start, stop, loss = [effect for change in plan.timeline for effect in change.effects]
    assert (queue.kind, queue.name, queue.limit) == ("queue", "bottleneck", Limit(packets=1000))
    assert plan.replaced_queues == {"bottleneck"}
    assert (start.kind, start.name) == ("start", "ping")
    assert isinstance(start.flow, Flow)
    assert start.flow.start_ns == 2 * 10**9
    assert (stop.kind, stop.name, stop.stop_ns) == ("stop", "ping", 4 * 10**9)
    assert (loss.kind, loss.name, loss.probability) == ("probability", "loss", 0.0)


def test_a_document_that_is_not_valid_is_refused() -> None:
    with pytest.raises(language.ScenarioError, match=r"dumbbell\.rate: no unit"):
        language.plan({**DOCUMENT, "dumbbell": {**DUMBBELL, "rate": "10"}})


def test_a_stored_run_has_a_plan_without_its_trace_file() -> None:
    trace = Path("trace.csv")
    trace.write_text("10,1.0\n20,1.0\n")
    vary = {"rate": {"kind": "file", "file": str(trace), "format": "rate_interval"}}
    document = {**DOCUMENT, "duration": "2s", "dumbbell": {**DUMBBELL, "vary": vary}}
    run_id = bl.run(document, out="r").run_id
    trace.unlink()
    bottleneck = language.plan(Store("r").run(run_id).scenario).links["bottleneck"]
    assert (bottleneck.rate_bps, bottleneck.greatest_rate_bps, bottleneck.rate_varies) == (10_000_000, None, True)
    assert bottleneck.limit == Limit(packets=80)


def test_the_queue_that_is_tuned() -> None:
    def boxes(**rates: str) -> str:
        links = [{"kind": "link", "name": name, "rate": f"{rate}Mbit/s"} for name, rate in rates.items()]
        return json.dumps({"duration": "1s", "boxes": links, "flows": [{"path": list(rates)}]})

    def path(document: str) -> str:
        return bottleneck_of(document).path

    assert path(json.dumps(DOCUMENT)) == "dumbbell.queue"
    assert path(json.dumps({**DOCUMENT, "dumbbell": {**DUMBBELL, "reverse_rate": "1Mbit/s"}})) == "dumbbell.queue"
    assert path(boxes(a="1")) == "boxes.0.queue"
    assert path(boxes(a="1", bottleneck="9")) == "boxes.1.queue"
    # Without that name it is the slowest link that long flows cross.
    assert path(boxes(a="9", b="1", c="5")) == "boxes.1.queue"
    with pytest.raises(ParameterError, match=r"boxes\.0\.queue, boxes\.1\.queue belong to equally slow links"):
        path(boxes(a="1", b="1", c="2"))
    delay = {"boxes": [{"kind": "delay", "name": "d", "delay": "1ms"}], "flows": [{"path": ["d"]}]}
    with pytest.raises(ParameterError, match="no link has a queue"):
        path(json.dumps({"duration": "1s", **delay}))


def test_links_that_share_a_queue_are_tuned_together() -> None:
    flows: list[dict[str, object]] = [{"hops": [1, 2]}, {"hops": [3, 3], "traffic": {"kind": "ping"}}]
    lot = {"hops": 3, "rate": "10Mbit/s", "hop_delay": "5ms"}
    found = bottleneck_of(json.dumps({"duration": "1s", "parking_lot": lot, "flows": flows}))
    assert found == Bottleneck("parking_lot.queue", ("hop_1", "hop_2", "hop_3"), 10_000_000, 0.02)
    ues = [{"kind": "fixed", "snr_db": 20.0}] * 2
    cell = {"queue": "fq_codel", "buffer": "10MB", "radio": {"ues": ues}}
    found = bottleneck_of(json.dumps({"duration": "1s", "cell": cell, "flows": [{"ue": 2}]}))
    # No flow goes to the first UE, the backhaul is faster, and the rate of a cell varies.
    assert (found.path, found.links, found.rate_bps) == ("cell.queue", ("ue_2",), None)


def test_a_link_with_a_varying_rate_has_no_rate_to_shape_to() -> None:
    vary = {"rate": {"kind": "pulse", "lower": "4Mbit/s", "upper": "10Mbit/s", "period": "5s"}}
    found = bottleneck_of(json.dumps({**DOCUMENT, "dumbbell": {**DUMBBELL, "vary": vary}}))
    assert (found.links, found.rate_bps) == (("bottleneck",), None)
