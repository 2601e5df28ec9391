"""Links that open a scenario in the lab. `web/src/model/share.ts` reads them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.programs import programs

VERSION = "1"
MOST_CHARACTERS = 64_000
"""As in `share.ts`."""
MOST_BYTES = 1_000_000
"""Of the scenario that is compressed; as in `share.ts`."""
MOST_SEED = 2**53 - 1
"""Larger whole numbers are not exact in JavaScript."""
PLAIN = frozenset({str, int, float, bool, type(None)})
RAW = -15
"""Of zlib: deflate without a header."""


def fragment(document: Mapping[str, Any], seed: int) -> str:
    """The part of a link behind `#`: the scenario, compressed. A browser does not send it to any server.

    Args:
        document: The scenario in canonical form.
        seed: Seed of the run.

    Raises:
        ParameterError: The scenario is too long for a link, or the lab cannot run it: it names a file, a program or a
            plugin, or the seed is too large.
    """
    if (refused := next(_refusals(document), None)) is not None:
        raise ParameterError(f"lab: {refused}")
    if seed > MOST_SEED:
        raise ParameterError(f"lab: the seed {seed} is above {MOST_SEED}, the largest seed of a browser")
    shared = {"document": dict(document), "seed": seed, "now": 0, "lanes": []}
    written = json.dumps(shared, separators=(",", ":")).encode()
    if len(written) > MOST_BYTES:
        raise ParameterError(f"lab: the scenario is too long for a link ({len(written):,} of {MOST_BYTES:,} bytes)")
    deflate = zlib.compressobj(9, zlib.DEFLATED, RAW)
    packed = deflate.compress(written) + deflate.flush()
    text = f"{VERSION}.{base64.urlsafe_b64encode(packed).rstrip(b'=').decode()}"
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(
            f"lab: the scenario is too long for a link ({len(text):,} of {MOST_CHARACTERS:,} characters)"
        )
    return text


def _refusals(document: Mapping[str, Any]) -> Iterator[str]:
    """What the lab cannot run, each with its key: a browser tab has no files, no programs and no Python."""
    if "measurement" in document:
        yield "the run was measured and imported, so it has no scenario"
    for started in programs(document):
        yield f"{started.path}: `{started.kind}` is a program, and a browser tab starts none"
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            if value.get("kind") == "python":
                yield f"{path}: is a plugin in Python, which a browser tab cannot run"
            if isinstance(value.get("file"), str):
                yield f"{path}.file: names a file, and a browser tab reads none"
        items = value.items() if isinstance(value, Mapping) else enumerate(value if isinstance(value, list) else ())
        # Rates over time are lists of thousands of numbers.
        # `isinstance` is slow for what is no `Mapping`, and most of the items are plain values.
        waiting.extend(
            (f"{path}.{name}".lstrip("."), item)
            for name, item in items
            if type(item) not in PLAIN and isinstance(item, Mapping | list)
        )
