"""A run's identity: what decides its bytes, and nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(document: Any) -> str:
    """The document as JSON with sorted keys and no spaces; equal documents give equal text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def run_id(scenario_json: str, seed: int, engine_version: str) -> str:
    """The first 16 hex digits of SHA-256 over the canonical scenario, the seed and the engine version."""
    text = f"{scenario_json}\n{seed}\n{engine_version}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
