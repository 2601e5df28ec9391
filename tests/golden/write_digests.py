"""Writes digests.json from runs made now (`make golden`), after a change that is meant to change results."""

import json
from pathlib import Path

from bloatlab import _core

HERE = Path(__file__).parent


def digests() -> dict[str, str]:
    """The digest of every scenario, with seed 1."""
    scenarios = json.loads((HERE / "scenarios.json").read_text(encoding="utf-8"))
    return {name: _core.run(json.dumps(scenario), 1).digest for name, scenario in scenarios.items()}


if __name__ == "__main__":
    (HERE / "digests.json").write_text(json.dumps(digests(), indent=2) + "\n", encoding="utf-8")
