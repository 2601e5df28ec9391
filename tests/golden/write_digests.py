"""Writes digests.json from runs made now (`make golden`): after a change of results, or for a new algorithm."""

import json
from pathlib import Path

from bloatlab import _core

HERE = Path(__file__).parent
SCENARIOS = HERE / "scenarios.json"
MODELS = {"queues": ("queue: ", "fifo"), "congestion_controls": ("congestion control: ", "reno")}
"""Prefix of the scenarios of each kind of algorithm, and the algorithm whose scenario a new one copies."""


def digests() -> dict[str, str]:
    """The digest of every scenario, with seed 1."""
    scenarios = json.loads(SCENARIOS.read_text(encoding="utf-8"))
    return {name: _core.run(json.dumps(scenario), 1).digest for name, scenario in scenarios.items()}


def with_new_algorithms(lines: list[str]) -> list[str]:
    """Adds a scenario for each queue and congestion control that has none."""
    known = json.loads("\n".join(lines))
    for group, (prefix, model) in MODELS.items():
        kinds = [algorithm["kind"] for algorithm in json.loads(_core.algorithms())[group]]
        of_group = [line for line in lines if line.startswith(f'  "{prefix}')]
        copied = next(line for line in of_group if line.startswith(f'  "{prefix}{model}"'))
        new = [
            copied.replace(f'"{prefix}{model}"', f'"{prefix}{kind}"').replace(f'"{model}"', f'"{kind}"', 1)
            for kind in kinds
            if kind != "python" and f"{prefix}{kind}" not in known
        ]
        end = lines.index(of_group[-1]) + 1
        lines = [*lines[:end], *new, *lines[end:]]
    return lines


if __name__ == "__main__":
    completed = with_new_algorithms(SCENARIOS.read_text(encoding="utf-8").splitlines())
    SCENARIOS.write_text("\n".join(completed) + "\n", encoding="utf-8")
    (HERE / "digests.json").write_text(json.dumps(digests(), indent=2) + "\n", encoding="utf-8")
