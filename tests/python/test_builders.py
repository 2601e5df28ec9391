"""The builders give the documents that users write by hand, and have every key of the schema."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bloatlab import language, scenario
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

DUMBBELL = """
duration = "30s"
name = "every key"
sample_interval = "50ms"
warmup = "2s"

[dumbbell]
rate = "50Mbit/s"
rtt = "60ms"
forward_share = 0.6
queue = { kind = "codel", limit = "500p" }
loss = 0.001
loss_spacing = "even"
reverse_rate = "5Mbit/s"
reverse_queue = "fq_codel"
reverse_loss = 0.002
access_rate = "1Gbit/s"
device_packets = 2
overhead = 4
header = 14

[dumbbell.impair]
gilbert_elliott = { p = 0.001, r = 0.25 }
corrupt = 0.0001
jitter = { size = "3ms", distribution = "paretonormal", reorder = true }

[dumbbell.reverse_impair]
duplicate = 0.001

[dumbbell.vary.rate]
kind = "pulse"
lower = "4Mbit/s"
upper = "50Mbit/s"
period = "5s"

[dumbbell.vary.reverse_rate]
kind = "steps"
steps = [{ at = "3s", value = "2Mbit/s" }]

[[flows]]
name = "bulk"
count = 2
cca = { kind = "cubic", beta = 0.7 }
start = "1s"
start_interval = "100ms"
tcp = { mss = 1448, ack_every = 1 }

[[flows]]
traffic = { kind = "ping", interval = "100ms" }
dscp = "EF"
source = "home"
destination = "server"
direction = "reverse"
"""
PARKING_LOT = """
duration = "5s"

[parking_lot]
hops = 3
rate = "10Mbit/s"
hop_delay = "5ms"
queue = "pie"
reverse_rate = "10Mbit/s"
device_packets = 1
overhead = 20
header = 14

[[flows]]
hops = [1, 2]
stop = "4s"
start_jitter = "1s"
"""
CELL = """
duration = "2s"

[cell]
queue = "codel"
buffer = "5MB"
uplink_queue = "fifo"
uplink_buffer = "1MB"
wire = { rate = "1Gbit/s", delay = "10ms" }
backhaul = { rate = "1Gbit/s", queue = "fifo" }
bearers = [{ name = "best_effort" }, { name = "voice", qfi = [5], priority = 2, prioritised_bit_rate = "infinite" }]

[cell.radio]
bandwidth = "20MHz"
scheduler = "proportional_fair"
ues = [{ kind = "fixed", snr_db = 20 }, { kind = "fixed", snr_db = 10 }]
rlc = { mode = "am" }

[[flows]]
ue = 2
qfi = 5
"""
BOXES = """
duration = "2s"
boxes = [
    { kind = "link", name = "up", rate = "10Mbit/s", delay = "5ms", queue = "cake", overhead = 2, header = 14, device_packets = 1, vary = { rate = { kind = "poisson" } } },
    { kind = "link", name = "shaped", rate = "10Mbit/s", shaper = true },
    { kind = "delay", name = "far", delay = "20ms", jitter = { size = "1ms" } },
    { kind = "loss", name = "radio", probability = 0.01, spacing = "even" },
    { kind = "loss", name = "bursts", gilbert_elliott = { p = 0.01 } },
    { kind = "corrupt", name = "noise", probability = 0.001 },
    { kind = "duplicate", name = "twice", probability = 0.001, vary = { kind = "steps", steps = [{ at = "1s", value = 0.5 }] } },
    { kind = "outage", name = "tunnel", first = "1s", length = "100ms", interval = "500ms" },
]

[[flows]]
path = ["up", "shaped", "far", "radio", "bursts", "noise", "twice", "tunnel"]
return_path = ["far"]
"""  # noqa: E501


def of_dumbbell() -> dict[str, Any]:
    return scenario.document(
        scenario.dumbbell(
            "50Mbit/s", "60ms", forward_share=0.6, queue={"kind": "codel", "limit": "500p"}, loss=0.001, loss_spacing="even",
            reverse_rate="5Mbit/s", reverse_queue="fq_codel", reverse_loss=0.002, access_rate="1Gbit/s", device_packets=2,
            overhead=4, header=14,
            impair=scenario.impairments(
                gilbert_elliott={"p": 0.001, "r": 0.25}, corrupt=0.0001,
                jitter={"size": "3ms", "distribution": "paretonormal", "reorder": True},
            ),
            reverse_impair=scenario.impairments(duplicate=0.001),
            vary={
                "rate": {"kind": "pulse", "lower": "4Mbit/s", "upper": "50Mbit/s", "period": "5s"},
                "reverse_rate": {"kind": "steps", "steps": [{"at": "3s", "value": "2Mbit/s"}]},
            },
        ),
        [
            scenario.flow(
                name="bulk", count=2, cca={"kind": "cubic", "beta": 0.7}, start="1s", start_interval="100ms", mss=1448,
                ack_every=1,
            ),
            scenario.flow(
                traffic={"kind": "ping", "interval": "100ms"}, dscp="EF", source="home", destination="server",
                direction="reverse",
            ),
        ],
        duration="30s", name="every key", sample_interval="50ms", warmup="2s",
    )  # fmt: skip


def of_parking_lot() -> dict[str, Any]:
    return scenario.document(
        scenario.parking_lot(
            3, "10Mbit/s", "5ms", queue="pie", reverse_rate="10Mbit/s", device_packets=1, overhead=20, header=14
        ),
        [scenario.flow(hops=(1, 2), stop="4s", start_jitter="1s")],
        duration="5s",
    )


def of_cell() -> dict[str, Any]:
    return scenario.document(
        scenario.cell(
            queue="codel", buffer="5MB", uplink_queue="fifo", uplink_buffer="1MB",
            wire={"rate": "1Gbit/s", "delay": "10ms"}, backhaul={"rate": "1Gbit/s", "queue": "fifo"},
            bearers=[
                scenario.bearer("best_effort"),
                scenario.bearer("voice", qfi=[5], priority=2, prioritised_bit_rate="infinite"),
            ],
            radio=scenario.radio(
                [{"kind": "fixed", "snr_db": 20}, {"kind": "fixed", "snr_db": 10}], bandwidth="20MHz",
                scheduler="proportional_fair", rlc={"mode": "am"},
            ),
        ),
        [scenario.flow(ue=2, qfi=5)],
        duration="2s",
    )  # fmt: skip


def of_boxes() -> dict[str, Any]:
    path = ["up", "shaped", "far", "radio", "bursts", "noise", "twice", "tunnel"]
    return scenario.document(
        scenario.boxes(
            scenario.link(
                "up", "10Mbit/s", delay="5ms", queue="cake", overhead=2, header=14, device_packets=1,
                vary={"rate": {"kind": "poisson"}},
            ),
            scenario.link("shaped", "10Mbit/s", shaper=True),
            scenario.delay("far", "20ms", jitter={"size": "1ms"}),
            scenario.loss("radio", 0.01, spacing="even"),
            scenario.loss("bursts", gilbert_elliott={"p": 0.01}),
            scenario.corrupt("noise", 0.001),
            scenario.duplicate("twice", 0.001, vary={"kind": "steps", "steps": [{"at": "1s", "value": 0.5}]}),
            scenario.outage("tunnel", "1s", "100ms", interval="500ms"),
        ),
        [scenario.flow(path=path, return_path=["far"])],
        duration="2s",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "built"),
    [(DUMBBELL, of_dumbbell), (PARKING_LOT, of_parking_lot), (CELL, of_cell), (BOXES, of_boxes)],
    ids=["dumbbell", "parking_lot", "cell", "boxes"],
)
def test_builders_give_the_document_that_a_user_writes(text: str, built: Callable[[], dict[str, Any]]) -> None:
    assert built() == tomllib.loads(text)
    normalised = json.loads(language.normalise(json.dumps(built())))
    assert normalised["duration"] == tomllib.loads(text)["duration"]


def keys(table: Mapping[str, Any]) -> set[str]:
    return set(table["properties"]) - {"kind"}


def test_builders_have_every_key_of_the_schema() -> None:
    schema = json.loads(language.schema())
    tables = schema["$defs"]
    networks = {"dumbbell", "parking_lot", "cell", "boxes"}
    assert keys(schema) - networks == parameters(scenario.document) - {"network"}
    assert keys(tables["Dumbbell"]) == parameters(scenario.dumbbell)
    assert keys(tables["Impairments"]) == parameters(scenario.impairments)
    assert keys(tables["ParkingLot"]) == parameters(scenario.parking_lot)
    assert keys(tables["CellNetwork"]) == parameters(scenario.cell)
    assert keys(tables["CellParams"]) == parameters(scenario.radio)
    assert keys(tables["Bearer"]) == parameters(scenario.bearer)
    assert keys(tables["Flow"]) == parameters(scenario.flow)
    for box in tables["BoxSpec"]["oneOf"]:
        assert keys(box) == parameters(getattr(scenario, box["properties"]["kind"]["const"]))


def parameters(builder: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(builder).parameters)


def test_a_value_that_is_not_allowed_is_refused_with_its_path() -> None:
    document = scenario.document(scenario.dumbbell("1Mbit/s", "1ms", forward_share=2), [scenario.flow()], duration="1s")
    with pytest.raises(language.ScenarioError, match=r"dumbbell\.forward_share: "):
        language.normalise(json.dumps(document))
    with pytest.raises(TypeError, match="forward_shares"):
        scenario.dumbbell("1Mbit/s", "1ms", forward_shares=0.5)  # type: ignore[call-arg]
