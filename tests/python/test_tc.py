"""Queues in tc's words, on the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bloatlab as bl
from bloatlab import cli
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="the extension module is not built")
SCENARIO = {
    "duration": "1s",
    "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms", "queue": "fq_codel limit 5000 target 10ms noecn"},
    "flows": [{"cca": "cubic"}],
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_scenario_in_tcs_words_is_the_same_scenario() -> None:
    table = {"kind": "fq_codel", "limit": "5000p", "target": "10ms", "ecn": False}
    same = {**SCENARIO, "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms", "queue": table}}
    assert bl.run(SCENARIO).digest == bl.run(same).digest


def test_statistics_carry_tcs_names() -> None:
    metrics = bl.run(SCENARIO).link_metrics["bottleneck"]
    assert {"new_flow_count", "ecn_mark", "drop_overlimit", "drops", "marks"} <= set(metrics)


def test_a_wrong_word_is_one_line_with_the_allowed_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.json"
    wrong = {**SCENARIO, "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms", "queue": "codel tarjet 10ms"}}
    file.write_text(json.dumps(wrong))
    for command in ("simulate", "tc"):
        code, out, err = run(capsys, command, str(file))
        assert (code, out) == (2, "")
        assert err == (
            "bloatlab: dumbbell.queue: tc's `codel` has no option `tarjet`; did you mean `target`? "
            "(allowed: limit, target, interval, ecn, noecn, ce_threshold)\n"
        )
    file.write_text(json.dumps({**wrong, "dumbbell": {**wrong["dumbbell"], "queue": "codel target 10furlongs"}}))
    assert run(capsys, "tc", str(file))[2].startswith("bloatlab: dumbbell.queue.target: `10furlongs` is not a time")


def test_what_is_printed_is_what_was_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(SCENARIO))
    words = "fq_codel limit 5000 target 10ms noecn"
    alone = ("tc", str(file), "--box", "bottleneck")
    assert run(capsys, *alone, "--dev", "wan")[1] == f"tc qdisc replace dev wan root {words}\n"
    everything = run(capsys, *alone, "--all")[1]
    assert " flows 1024 quantum 1514 " in everything
    assert run(capsys, "tc", "--queue", everything)[1] == f"tc qdisc replace dev eth0 root {words}\n"
    code, _, err = run(capsys, "tc", "--queue", '{kind="codel", limit="30kB"}')
    assert (code, err) == (2, "bloatlab: limit: tc requires a number of packets, not 30000B (tc's `codel`)\n")


def test_words_leave_the_limit_to_tc_unless_it_is_asked_for() -> None:
    experiment = get("deep-buffers")

    def queue(**given: object) -> object:
        return experiment.scenario(experiment.resolve(given))["dumbbell"]["queue"]

    assert queue(queue="codel") == {"kind": "codel", "limit": "80p"}
    assert queue(queue="codel target 10ms") == "codel target 10ms"
    assert queue(queue="codel limit 7", qlen="9p") == "codel limit 7"
    limited = queue(queue="codel target 10ms", qlen="9p")
    assert isinstance(limited, dict)
    assert (limited["limit"], limited["target"]) == ("9p", "10ms")
    with pytest.raises(ParameterError, match="did you mean `target`"):
        queue(queue="codel tarjet 5ms")
