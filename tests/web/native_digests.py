"""Prints scenarios with the digests of the installed engine, as JSON: `[{name, document, seed, digest}]`.

web/tests/digests.test.mjs compares them with those of the engine as WebAssembly.
The scenarios are those of tests/golden and the complete examples of docs/*.md that name no file.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bloatlab import _core

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("scenario", "radio", "traces", "simulate-my-link")
SEED = 2026
TIMELINE = {
    "name": "timeline of every kind",
    "duration": "6s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "40ms", "queue": {"kind": "fifo", "limit": "200p"}},
    "flows": [{"cca": "cubic"}, {"traffic": {"kind": "ping", "interval": "50ms"}}],
    "timeline": [
        {"at": "1s", "key": "dumbbell.queue", "value": "fq_codel"},
        {"at": "2s", "key": "dumbbell.rate", "value": "4Mbit/s"},
        {"at": "3s", "key": "flows[2]", "value": {"cca": "bbr"}},
        {"at": "4s", "key": "dumbbell.rtt", "value": "80ms"},
        {"at": "4s", "key": "dumbbell.loss", "value": 0.01},
        {"at": "5s", "key": "flows[0].stop", "value": "5s"},
    ],
}


def blocks(page: Path) -> Iterator[str]:
    """The TOML examples of a page."""
    parts = page.read_text(encoding="utf-8").split("```toml\n")
    yield from (part.split("```")[0] for part in parts[1:])


def names_a_file(value: Any) -> bool:
    """Whether a document names a file or a Python class, which a browser does not have."""
    if isinstance(value, dict):
        return any(key in ("file", "class") or names_a_file(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(names_a_file, value))


def scenarios() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and documents."""
    yield from json.loads((ROOT / "tests/golden/scenarios.json").read_text(encoding="utf-8")).items()
    for page in PAGES:
        for number, block in enumerate(blocks(ROOT / f"docs/{page}.md"), 1):
            yield f"docs/{page}.md, example {number}", tomllib.loads(block)
    yield TIMELINE["name"], TIMELINE  # type: ignore[misc]


def main() -> None:
    """Runs them all. An example that is no complete scenario is left out."""
    found = []
    for name, document in scenarios():
        if "duration" not in document or "flows" not in document or names_a_file(document):
            continue
        text = json.dumps(document)
        try:
            digest = _core.run(text, SEED).digest
        except _core.ScenarioError as refused:
            print(f"{name}: left out: {refused}", file=sys.stderr)
            continue
        found.append({"name": name, "document": text, "seed": SEED, "digest": digest})
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
