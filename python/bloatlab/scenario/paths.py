"""Dotted paths into a scenario: `dumbbell.queue.kind`, `flows.0.cca`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from bloatlab.errors import ParameterError


def with_values(document: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the document with a value at each path; missing tables on the path are created."""
    changed = copy.deepcopy(dict(document))
    for path, value in values.items():
        _set(changed, path, value)
    return changed


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    keys = path.split(".")
    at: Any = document
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        where = ".".join(keys[:depth]) or "the scenario"
        if isinstance(at, list):
            if not key.isdigit() or int(key) >= len(at):
                allowed = f"0 to {len(at) - 1}" if at else "nothing, it is empty"
                raise ParameterError(f"{path}: `{key}` is not an index of {where} (allowed: {allowed})")
            index: Any = int(key)
        elif isinstance(at, dict):
            if not key:
                raise ParameterError(f"{path}: a key of the path is empty")
            index = key
        else:
            raise ParameterError(f"{path}: {where} is `{at}`, not a table")
        if last:
            at[index] = value
        else:
            if isinstance(at, dict) and key not in at:
                at[index] = {}
            elif isinstance(at[index], str) and keys[depth] in ("queue", "reverse_queue", "cca", "traffic"):
                # A bare name is short for a table with its `kind`.
                at[index] = {"kind": at[index]}
            at = at[index]
