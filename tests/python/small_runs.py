"""A small run, of which a test may make many: as a plan, and on the command line."""

from __future__ import annotations

from pathlib import Path

from bloatlab.cli import command
from bloatlab.sweeps import PlannedRun, ScenarioSource, plan

SCENARIO = 'name = "small"\nduration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{}]\n'


def runs(count: int) -> list[PlannedRun]:
    document = {"name": "small", "duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"}, "flows": [{}]}
    return plan(ScenarioSource(document), replications=count)


def simulate(out: Path) -> int:
    Path("s.toml").write_text(SCENARIO)
    return command(["simulate", "s.toml", "--out", str(out), "--json"])
