"""What this machine offers for runs in real time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bloatlab.engines.linux import native


@dataclass(frozen=True)
class Probe:
    """The report on this machine."""

    why: str | None
    """Why nothing can run in real time; `None`: it can."""
    advice: str | None
    """What to do about it."""
    details: Mapping[str, Any]
    """The kernel's release, its congestion controls and queues, scheduling, and tools."""

    @property
    def refusal(self) -> str | None:
        """The reason and the advice in one text; `None`: scenarios can run."""
        return None if self.why is None else "; ".join(filter(None, (self.why, self.advice)))


@cache
def probe() -> Probe:
    """Tries out what this machine can do. Once per process, because it takes time and does not change."""
    if not native.built():
        return Probe("this build of bloatlab cannot run in real time", "build it on Linux", {})
    report = json.loads(native.probe())
    why = None if report["runs"] else report["why"] or "the machine does not allow it"
    details = {name: value for name, value in report.items() if name not in ("runs", "why", "advice")}
    return Probe(why, report["advice"], details)
