"""Links that open a scenario in the lab. `web/src/model/share.ts` reads them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from bloatlab.errors import ParameterError

VERSION = "1"
MOST_CHARACTERS = 64_000
"""As in `share.ts`."""
RAW = -15
"""Of zlib: deflate without a header."""


def fragment(document: Mapping[str, Any], seed: int) -> str:
    """The part of a link behind `#`: the scenario, compressed. A browser does not send it to any server.

    Args:
        document: The scenario in canonical form.
        seed: Seed of the run.

    Raises:
        ParameterError: The scenario is too long for a link.
    """
    shared = {"document": dict(document), "seed": seed, "now": 0, "lanes": []}
    deflate = zlib.compressobj(9, zlib.DEFLATED, RAW)
    packed = deflate.compress(json.dumps(shared, separators=(",", ":")).encode()) + deflate.flush()
    text = f"{VERSION}.{base64.urlsafe_b64encode(packed).rstrip(b'=').decode()}"
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(
            f"lab: the scenario is too long for a link ({len(text):,} of {MOST_CHARACTERS:,} characters)"
        )
    return text
