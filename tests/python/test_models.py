"""The generated models agree with the engine's schema."""

from __future__ import annotations

import json
import shutil

import pydantic
import pytest

import bloatlab as bl
from bloatlab import language
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def test_models_are_of_this_schema() -> None:
    from bloatlab.scenario import generate

    first = generate.MODELS.read_text().splitlines()[0]
    assert generate.digest() in first, "the schema has changed: make models"


@pytest.mark.skipif(shutil.which("datamodel-codegen") is None, reason="datamodel-code-generator is not installed")
def test_models_are_what_the_generator_writes() -> None:
    from bloatlab.scenario import generate

    assert generate.MODELS.read_text() == generate.generate()


def test_a_scenario_of_models_is_the_scenario_of_builders() -> None:
    from bloatlab.scenario.models import Algorithm, Dumbbell, Flow, Ping, Scenario, TcpConfig

    scenario = Scenario(
        duration="2s",
        dumbbell=Dumbbell(
            rate="16Mbit/s", rtt="15ms", queue=Algorithm.model_validate({"kind": "fifo", "limit": "80p"})
        ),
        flows=[Flow(cca="newreno", tcp=TcpConfig(ack_every=1)), Flow(traffic=Ping(interval="100ms"))],
    )
    built = bl.scenario.document(
        bl.scenario.dumbbell("16Mbit/s", "15ms", queue={"kind": "fifo", "limit": "80p"}),
        [bl.scenario.flow(cca="newreno", ack_every=1), bl.scenario.flow(traffic={"kind": "ping", "interval": "100ms"})],
        duration="2s",
    )
    assert bl.run(scenario).digest == bl.run(built).digest


def test_the_engines_canonical_documents_validate() -> None:
    from bloatlab.scenario.models import Scenario

    document = bl.scenario.document(
        bl.scenario.parking_lot(3, "10Mbit/s", "5ms"),
        [bl.scenario.flow(hops=(1, 2), traffic={"kind": "on_off", "rate": "1Mbit/s", "on": "1s", "off": "1s"})],
        duration="2s",
    )
    canonical = json.loads(language.normalise(json.dumps(document)))
    again = Scenario.model_validate(canonical).model_dump(mode="json", exclude_none=True)
    assert json.loads(language.normalise(json.dumps(again))) == canonical


@pytest.mark.parametrize(
    "change", [{"duration": "15"}, {"duration": 15}, {"flows": []}, {"surprise": 1}, {"flows": [{"tcp": {"mss": 1}}]}]
)
def test_models_refuse_what_the_engine_refuses(change: dict[str, object]) -> None:
    from bloatlab.scenario.models import Scenario

    document = {"duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "1ms"}, "flows": [{}], **change}
    with pytest.raises(pydantic.ValidationError):
        Scenario.model_validate(document)
    with pytest.raises(language.ScenarioError):
        bl.run(document)


def test_a_flow_of_a_cell_names_its_ue_and_qos_flow():
    flow = bl.scenario.flow(ue=2, qfi=5, cca="cubic")
    assert flow == {"ue": 2, "qfi": 5, "cca": "cubic"}
    bearers = [
        {"name": "best_effort"},
        {"name": "voice", "qfi": [5], "priority": 2, "prioritised_bit_rate": "infinite"},
    ]
    document = {"duration": "1s", "cell": {"bearers": bearers}, "flows": [flow]}
    from bloatlab.scenario import models

    cell = models.Scenario.model_validate(document).cell
    assert cell is not None
    assert cell.bearers is not None
    assert [(bearer.name, bearer.qfi, bearer.priority) for bearer in cell.bearers] == [
        ("best_effort", None, 16),
        ("voice", [5], 2),
    ]
