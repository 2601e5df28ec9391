"""A scenario document that gets one more flow, and one that is cut at an instant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bloatlab import language
from bloatlab.scenario.revise import cut, with_flow
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

BASE = {"duration": "100s", "dumbbell": {"rate": "1Mbit/s", "rtt": "1ms"}}


def cut_names(document: dict[str, Any], seconds: float) -> list[str]:
    """Names of the flows that remain. The document that is cut must be valid, at any instant."""
    changed = cut(json.loads(language.normalise(json.dumps(document))), round(seconds * 1e9))
    compiled = language.plan(language.normalise(json.dumps(changed)))
    assert compiled.duration_ns == round(seconds * 1e9)
    before = {one.name for one in language.plan(document).flows}
    assert all(one.start_ns < compiled.duration_ns for one in compiled.flows)
    assert {one.name for one in compiled.flows if not one.name.startswith("flow_2_")} <= before
    added = [effect.name for change in compiled.timeline for effect in change.effects if effect.kind == "start"]
    return [one.name for one in compiled.flows] + added


@pytest.mark.parametrize("seconds", [1e-9, 0.5, 5.0, 10.0, 12.5, 20.000000001, 60.0, 99.9])
def test_a_document_can_be_cut_at_any_instant(seconds: float) -> None:
    flows = [
        {"start": "50s"},
        {"count": 3, "start": "0s", "start_interval": "10s", "start_jitter": "2s"},
        {"name": "late", "count": 2, "start": "12s", "stop": "90s"},
        {"name": "program"},
        {},
    ]
    timeline = [
        {"at": "5s", "key": "flows[5]", "value": {"count": 2}},
        {"at": "6s", "key": "flows.6", "value": {"start": "40s"}},
        {"at": "7s", "key": "flows[7]", "value": {"name": "last"}},
        {"at": "12s", "key": "flows[0].stop", "value": "70s"},
        {"at": "12s", "key": "flows[7].stop", "value": "20s"},
        {"at": "60s", "key": "dumbbell.rate", "value": "2Mbit/s"},
    ]
    names = cut_names({**BASE, "warmup": "15s", "flows": flows, "timeline": timeline}, seconds)
    assert "program" in names
    assert ("late_1" in names) == (seconds > 12)
    assert ("last" in names) == (seconds > 7)
    assert len(set(names)) == len(names)


def test_a_document_that_is_not_cut_stays() -> None:
    document = json.loads(language.normalise(json.dumps({**BASE, "flows": [{"count": 2, "start_jitter": "1s"}, {}]})))
    assert cut(document, 100 * 10**9) == document
    assert cut(document, 50 * 10**9) == {**document, "duration": "50000000000ns"}
    # All flows have started, but one of them later than the run was long.
    (first, second) = cut(document, 5 * 10**8)["flows"]
    assert (first["start_jitter"], second) == ("499999999ns", document["flows"][1])


def test_a_flow_that_is_added_moves_those_of_the_timeline() -> None:
    timeline = [
        {"at": "1s", "key": "flows[1]", "value": {}},
        {"at": "2s", "key": "flows[0].stop", "value": "3s"},
        {"at": "2s", "key": "dumbbell.rate", "value": "2Mbit/s"},
    ]
    changed = with_flow({**BASE, "flows": [{}], "timeline": timeline}, {"name": "program"})
    assert [entry["key"] for entry in changed["timeline"]] == ["flows[2]", "flows[0].stop", "dumbbell.rate"]
    assert [one.name for one in language.plan(changed).flows] == ["flow_1", "program"]
