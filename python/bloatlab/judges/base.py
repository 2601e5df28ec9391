"""What a judge reads and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Ping:
    """What the replies to one ping say."""

    name: str
    mean_ms: float
    """Mean RTT."""
    percentiles_ms: Mapping[int, float]
    """RTT by percentile, such as 95."""
    loss: float | None
    """Share of the requests that were lost; `None`: the interval of the ping is not known, so that it cannot be told."""
    replies: int
    several: int = 1
    """Number of pings of the run. This one has the highest 95th percentile of them, unless it has the name `ping`."""

    @property
    def called(self) -> str:
        """Its name, and how it was chosen."""
        return f"the ping `{self.name}`" + (f", one of {self.several} pings" if self.several > 1 else "")


@dataclass(frozen=True)
class LoadedPing:
    """The RTT of a ping while flows were active."""

    name: str
    mean_ms: float
    """Mean RTT of the requests that were sent while a flow was active."""
    base_ms: float
    """RTT of the idle path."""
    base: Literal["before the load", "by propagation alone", "at its shortest"]
    """What the RTT of the idle path is."""

    @property
    def increase_ms(self) -> float:
        """How much longer the ping takes under load; not below 0."""
        return max(0.0, self.mean_ms - self.base_ms)


@dataclass(frozen=True)
class Call:
    """What the datagrams of calls say: means over the calls."""

    names: tuple[str, ...]
    delay_p99_ms: float
    """99th percentile of the one-way delay."""
    loss: float
    """Share of the datagrams that were lost on the way."""


@dataclass(frozen=True)
class Exchanges:
    """Times of the probes of a responsiveness test: trimmed means over its last intervals, ms."""

    tcp_ms: float
    """TCP handshake of a foreign probe."""
    tls_ms: float | None
    """TLS handshake of a foreign probe, per round trip; `None`: the test has no TLS."""
    http_ms: float
    """Request and response of a foreign probe."""
    loaded_ms: float
    """Request and response of a self probe, on a load-generating connection."""
    from_s: float
    """Begin of the intervals."""
    to_s: float
    stable: bool
    """Whether goodput and responsiveness had become stable by the end of them."""


@dataclass(frozen=True)
class Evidence:
    """What a run measured, as far as judges use it. All values are over the run without its warm-up."""

    increase_ms: float | None = None
    """Mean over `flows` of the mean smoothed RTT, less propagation. Clients that fetch pages are not among them."""
    flows: tuple[str, ...] = ()
    """The long flows that measured an RTT and whose data crosses the bottleneck."""
    ping: Ping | None = None
    call: Call | None = None
    exchanges: Exchanges | None = None
    """Only of the experiment `responsiveness`."""
    loaded: LoadedPing | None = None
    """Only where `increase_ms` is `None`, such as of a measurement at the end of a path."""

    @property
    def graded_ms(self) -> float | None:
        """The RTT increase under load: that of the flows, otherwise that of the ping; `None` without both."""
        return self.loaded.increase_ms if self.increase_ms is None and self.loaded is not None else self.increase_ms


@dataclass(frozen=True)
class Input:
    """A number that a score was computed from."""

    name: str
    value: float
    unit: str

    @property
    def text(self) -> str:
        """Such as `mean RTT 31.2 ms`."""
        return f"{self.name} {short(self.value)} {self.unit}".rstrip()


@dataclass(frozen=True)
class Judgement:
    """What one judge says of a run."""

    name: str
    title: str
    version: str
    """The document that defines the score, with its version."""
    value: float | None = None
    """The score; `None` if an input is missing."""
    unit: str = ""
    text: str = ""
    """The score in words and numbers, such as `B (+43.7 ms)`."""
    inputs: tuple[Input, ...] = ()
    basis: str = ""
    """Over which flows or probes the inputs are, and what was assumed."""
    needs: str = ""
    """What the run would need for this score; empty if there is a score."""

    @property
    def shown(self) -> str:
        """The score, or that there is none."""
        return self.text if self.value is not None else "no score"

    @property
    def from_what(self) -> str:
        """The inputs and what was assumed, or what is missing."""
        if self.value is None:
            return f"needs {self.needs}"
        return "; ".join(filter(None, (", ".join(one.text for one in self.inputs), self.basis)))

    def described(self) -> dict[str, Any]:
        """The judgement for JSON."""
        found: dict[str, Any] = {
            "value": self.value,
            "unit": self.unit,
            "text": self.shown,
            "version": self.version,
            "inputs": [{"name": one.name, "value": one.value, "unit": one.unit} for one in self.inputs],
            "basis": self.basis,
        }
        return {**found, "needs": self.needs} if self.value is None else found


@dataclass(frozen=True)
class Judge:
    """A score that other tools and documents define, computed from what a run measured."""

    name: str
    title: str
    version: str
    unit: str
    meaning: str
    """How to read the score: its range, and what is good."""
    score: Callable[[Evidence], Score | Missing] = field(repr=False)

    def judge(self, evidence: Evidence) -> Judgement:
        """Judges a run."""
        found = self.score(evidence)
        if isinstance(found, Missing):
            return Judgement(self.name, self.title, self.version, unit=self.unit, needs=found.needs)
        return Judgement(
            self.name, self.title, found.version or self.version, found.value, self.unit, found.text, found.inputs, found.basis
        )  # fmt: skip


@dataclass(frozen=True)
class Score:
    """A score with its inputs, as the fields of `Judgement`."""

    value: float
    text: str
    inputs: tuple[Input, ...]
    basis: str
    version: str = ""
    """Replaces the version of the judge, where an estimate stands in for the defined score."""


@dataclass(frozen=True)
class Missing:
    """Why there is no score."""

    needs: str


def short(value: float) -> str:
    """A number with three significant digits, or without decimals from 100 on."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
