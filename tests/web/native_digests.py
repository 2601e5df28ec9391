"""Prints scenarios with the digests of the installed engine, as JSON: `[{kind, name, document, files, seed, digest}]`.

web/tests/digests.spec.ts compares them with those of the engine in Chromium.
The scenarios are those of tests/golden, the complete examples of docs/*.md that name no file, and two that read a file.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bloatlab import _core

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("scenario", "radio", "traces", "simulate-my-link")
SEED = 2026
TIMELINE = {
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
FILES = {
    # A delivery every 2 ms, then every 5 ms: 6 Mbit/s and 2.4 Mbit/s.
    "deliveries.trace": "".join(f"{ms}\n" for ms in (*range(2, 600, 2), *range(600, 1000, 5))),
    "rates.csv": "8,0.5\n2,0.25\n0,0.1\n12,0.4\n",
}
KINDS_OF_FILES = {"mahimahi": "deliveries.trace", "file": "rates.csv"}


def blocks(page: Path) -> Iterator[str]:
    """The TOML examples of a page."""
    parts = page.read_text(encoding="utf-8").split("```toml\n")
    yield from (part.split("```")[0] for part in parts[1:])


def names_a_file(value: Any) -> bool:
    """Whether a document names a file or a Python class, which a browser does not have."""
    if isinstance(value, dict):
        return any(key in ("file", "class") or names_a_file(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(names_a_file, value))


def scenarios() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Kinds, names and documents."""
    golden = json.loads((ROOT / "tests/golden/scenarios.json").read_text(encoding="utf-8"))
    for name, document in golden.items():
        kind, colon, _ = name.partition(": ")
        yield kind if colon else "network", name, document
    for page in PAGES:
        for number, block in enumerate(blocks(ROOT / f"docs/{page}.md"), 1):
            document = tomllib.loads(block)
            if "duration" in document and "flows" in document and not names_a_file(document):
                yield "documentation", f"docs/{page}.md, example {number}", document
    yield "timeline", "timeline of every kind", TIMELINE


def with_files() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Kinds, names and documents whose rate comes from one of `FILES`."""
    for kind, file in KINDS_OF_FILES.items():
        rate = {"kind": kind, "file": file}
        dumbbell = {"rate": "8Mbit/s", "rtt": "30ms", "vary": {"rate": rate}}
        yield "rate file", f"rate file: {kind}", {"duration": "3s", "dumbbell": dumbbell, "flows": [{"cca": "cubic"}]}


def run(kind: str, name: str, document: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
    """A scenario with its digest."""
    text = json.dumps(document)
    digest = _core.run(text, SEED).digest
    return {"kind": kind, "name": name, "document": text, "files": files, "seed": SEED, "digest": digest}


def main() -> None:
    """Runs them all."""
    found = [run(*scenario, {}) for scenario in scenarios()]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in FILES.items():
            Path(name).write_text(content, encoding="utf-8")
        found.extend(run(*scenario, FILES) for scenario in with_files())
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
