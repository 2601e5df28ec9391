"""A run's identity: what decides its bytes, and nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from bloatlab.engines import DEFAULT


def canonical(document: Any) -> str:
    """The document as JSON with sorted keys and no spaces; equal documents give equal text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def run_id(scenario_json: str, seed: int, engine_version: str, engine: str = DEFAULT, repetition: int = 0) -> str:
    """The identity of a run: the first 16 hex digits of a SHA-256 hash.

    The hash is over the canonical scenario, the seed, the version and the name of the engine, and the repetition. The
    default engine's name and repetition 0 are left out, so that runs in older stores keep their identities.
    """
    parts = [scenario_json, str(seed), engine_version]
    if engine != DEFAULT:
        parts.append(f"engine {engine}")
    if repetition:
        parts.append(f"repetition {repetition}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
