"""A published value, what it rests on, and whether ours agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Metrics = Mapping[str, Any]
"""Metrics of a run in the form of `--json`."""
Cases = Mapping[str, Metrics]
"""Metrics of every published run by case; the key `readings` has the result of `Experiment.readings`."""
Kind = Literal["stated", "read off", "re-run", "derived", "check"]
"""What a claim rests on.

- `stated`: a number or a sentence of the source.
- `read off`: a value read from a figure of the source; the tolerance is the accuracy of the reading.
- `re-run`: a run of the system of the source that we made.
- `derived`: arithmetic, or our own measurement of real Linux.
- `check`: true by construction, so it says that the set-up is right, and is not counted as a claim.
"""
CHECK = "check"
KINDS: tuple[Kind, ...] = ("stated", "read off", "re-run", "derived")
"""The kinds that count as claims, in the order in which they are counted."""


@dataclass(frozen=True)
class Claim:
    """A published value and the tolerance for ours."""

    name: str
    published: float
    metric: str | Callable[[Cases], float | None]
    """Path in the published run's result, such as `flow_metrics.flow_1.mean_srtt_l4`; or a function of all cases."""
    unit: str
    source: str
    kind: Kind
    """What it rests on."""
    absolute: float | None = None
    """Largest difference that holds, in `unit`."""
    relative: float | None = None
    """Largest allowed difference as a share of the published value."""
    note: str = ""
    bound: Literal["", "at least", "at most"] = ""
    """Whether the published value is a bound; empty: ours must be within the tolerance."""
    needs: str = ""
    """A parameter that must be set for the claim to be judged: it names data of the source that are not shipped."""

    @property
    def tolerance(self) -> float | None:
        """Largest allowed difference in `unit`; `None` if the source states none, so that there is no verdict."""
        if self.relative is not None:
            return abs(self.published) * self.relative
        return 0.0 if self.bound and self.absolute is None else self.absolute

    @property
    def published_text(self) -> str:
        """The published value, or the bound."""
        return f"{self.bound} {self.published:g}".lstrip()

    @property
    def tolerance_text(self) -> str:
        """The tolerance as text, in the form of the source."""
        if self.relative is not None:
            return f"{100 * self.relative:g} %"
        if self.absolute is None or (self.bound and not self.absolute):
            return ""
        return f"{self.absolute:g} {self.unit}".rstrip() if self.absolute else "exact"


@dataclass(frozen=True)
class Verdict:
    """A claim compared with a result."""

    claim: Claim
    measured: float | None
    holds: bool | None
    """`None` if it was not judged: the source states no tolerance, or for the reason in `why`."""
    why: str = ""
    """Why a claim that has a tolerance was not judged."""


def judge(claim: Claim, metrics: Cases, parameters: Mapping[str, Any] | None = None) -> Verdict:
    """Compares a claim with the metrics of the published runs."""
    measured = _measured(claim, metrics)
    if claim.tolerance is None:
        return Verdict(claim, measured, None)
    if claim.needs and (parameters or {}).get(claim.needs) is None:
        return Verdict(claim, measured, None, f"not judged: needs the data of the source (--set {claim.needs}=...)")
    if measured is None:
        return Verdict(claim, None, False)
    # The tolerance allows for the rounding of a double.
    allowed = claim.tolerance + 1e-9 * max(1.0, abs(claim.published))
    above = measured - claim.published
    low, high = claim.bound != "at most", claim.bound != "at least"
    return Verdict(claim, measured, not (low and above < -allowed) and not (high and above > allowed))


def _measured(claim: Claim, metrics: Cases) -> float | None:
    if callable(claim.metric):
        try:
            return claim.metric(metrics)
        # A run without packets has no such metrics, or the value 0.
        except (KeyError, ZeroDivisionError):
            return None
    at: Any = next(iter(metrics.values()))
    for key in claim.metric.split("."):
        at = at.get(key) if isinstance(at, Mapping) else None
    return None if at is None else float(at)


def counted(judged: Iterable[tuple[str, bool]]) -> str:
    """How many claims hold, counted apart by what they rest on, such as `5 of 6: 3 of 4 stated, 2 of 2 derived`.

    Args:
        judged: The kind of each judged claim and whether it holds. An unknown kind (of an older store) is counted
            without a name.

    Returns:
        The counts, with checks at the end. Empty if nothing was judged.
    """
    found: dict[str, list[bool]] = {}
    for kind, holds in judged:
        found.setdefault(kind, []).append(holds)
    checks = found.pop(CHECK, [])
    said = [f"{sum(found[kind])} of {len(found[kind])} {kind}" for kind in KINDS if kind in found]
    every = [holds for of in found.values() for holds in of]
    parts = []
    if every:
        parts.append(f"{sum(every)} of {len(every)} claims hold" + (f": {', '.join(said)}" if said else ""))
    if checks:
        parts.append(f"{sum(checks)} of {len(checks)} check{'s' if len(checks) > 1 else ''} passed")
    return "; ".join(parts)
