"""Which flows are downloads and which are uploads, seen from the user's end of the access link."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bloatlab.exchange.measurement import Direction
    from bloatlab.language import Plan

_DOWN = re.compile(r"(?:\A|[^a-z])(?:down|download|downlink|dl)(?:[^a-z]|\Z)")
_UP = re.compile(r"(?:\A|[^a-z])(?:up|upload|uplink|ul)(?:[^a-z]|\Z)")


class Directions:
    """The directions of the flows and probes of a run."""

    def __init__(self, plan: Plan | None, stated: Mapping[str, Mapping[str, Any]]) -> None:
        """Reads a plan; `stated` are the entities of an imported run, which has no plan."""
        self._stated = stated
        self._paths = {flow.name: flow.forward for flow in plan.flows} if plan is not None else {}
        self._first = next(iter(plan.links), None) if plan is not None else None

    def of(self, name: str) -> Direction:
        """The direction of a flow's data, or of a probe's requests.

        The names of the flow and of the boxes that it crosses tell it. Otherwise, what crosses the first link of the
        scenario is a download.
        """
        stated = self._stated.get(name, {}).get("direction")
        if stated is not None:
            return "upload" if stated == "upload" else "download"
        path = self._paths.get(name, ())
        for text in (name, *path):
            down, up = _DOWN.search(text.lower()), _UP.search(text.lower())
            if bool(down) != bool(up):
                return "download" if down else "upload"
        return "upload" if path and self._first not in path else "download"
