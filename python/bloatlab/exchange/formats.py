"""The formats, each with what reads and writes it. One line per format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.errors import ParameterError, unknown
from bloatlab.exchange import untrusted

if TYPE_CHECKING:
    from bloatlab.exchange.measurement import Measurement
    from bloatlab.exchange.untrusted import Node


@dataclass(frozen=True)
class Format:
    """A file format of another tool. Its module has `read` or `write`, or both."""

    name: str
    """Name for `--format` and `export`, and of the module, with `_` for `-`."""
    tool: str
    """Name of the engine of imported runs."""
    ending: str
    """Usual end of a file's name."""
    reads: bool
    writes: bool
    exact: bool = False
    """Whether it holds each request of a ping, with one-way delays and losses."""

    @property
    def _module(self) -> Any:
        return import_module(f"bloatlab.exchange.{self.name.replace('-', '_')}")

    def recognises(self, root: Node) -> bool:
        """Whether a JSON document has this format."""
        found: bool = self._module.recognises(root)
        return found

    def read(self, root: Node) -> Measurement:
        """Reads a JSON document, or for a format that is not JSON, its text."""
        read: Callable[[Node], Measurement] = self._module.read
        return read(root)

    def write(self, of: Measurement) -> bytes:
        """The file for a measurement."""
        write: Callable[[Measurement], bytes] = self._module.write
        return write(of)


FORMATS = {
    one.name: one
    for one in (
        Format("flent", "flent", ".flent.gz", reads=True, writes=True),
        Format("irtt", "irtt", ".json.gz", reads=True, writes=True, exact=True),
        Format("crusader", "crusader", ".json", reads=True, writes=True, exact=True),
        Format("iperf3", "iperf3", ".json", reads=True, writes=False),
        Format("network-quality", "networkQuality", ".json", reads=True, writes=True),
        Format("lens", "lens", ".csv", reads=True, writes=True, exact=True),
        Format("qlog", "", ".qlog", reads=False, writes=True),
    )
}
MOST_S = 32 * 86400
"""Longest measurement, s."""
LAST_S = 2.2e11
MOST_MS, LEAST_MS = 1e7, 1e-6
MOST = {
    "mbps": 1e7, "delivery_mbps": 1e7, "pacing_mbps": 1e10, "srtt_ms": MOST_MS, "cwnd_bytes": 1e13, "retransmissions": 1e12,
}  # fmt: skip
"""Greatest values of a sample."""
CSV = "lens"
"""The one format that is not JSON."""


def read(path: Path, name: str | None = None) -> tuple[Measurement, bytes]:
    """Reads a file of another tool. Nothing in it is executed.

    Args:
        path: The file.
        name: Its format; absent: its contents tell it.

    Returns:
        The measurement, and the contents of the file, decompressed.

    Raises:
        ParameterError: It cannot be read, has no known format, or is not sound. The text names the file and the key.
    """
    readable = {one.name: one for one in FORMATS.values() if one.reads}
    if name is not None and name not in readable:
        raise unknown("format", name, readable)
    data = untrusted.read(path)
    file = str(path)
    if name == CSV or (name is None and data.lstrip()[:9].lower() == b"timestamp"):
        return readable[CSV].read(untrusted.text(data, file)), data
    root = untrusted.document(data, file)
    found = readable[name] if name is not None else _recognised(root, readable)
    measured = found.read(root)
    if not measured.flows and not measured.probes:
        raise ParameterError(f"{file}: holds neither a flow nor a probe")
    _check(measured, file)
    return measured, data


def _check(measured: Measurement, file: str) -> None:
    """Refuses times, rates and RTTs that no measurement has. Tables and plots are sized by them.

    Raises:
        ParameterError: One is out of bounds.
    """
    times = [at for flow in measured.flows for one in flow.samples for at in (one.start_s, one.end_s)]
    times += [one.sent_s for probe in measured.probes for one in probe.echoes]
    for at in (measured.duration_s, *times):
        if not -MOST_S <= at <= MOST_S:
            raise ParameterError(
                f"{file}: has a value at {at:.6g} s, more than {MOST_S // 86400} days from its beginning"
            )
    if measured.began is not None and not 0 <= measured.began < LAST_S:
        raise ParameterError(
            f"{file}: must begin between the years 1970 and 9000, not {measured.began:.6g} s after 1970"
        )
    for flow in measured.flows:
        of_samples = [(name, getattr(one, name), most) for one in flow.samples for name, most in MOST.items()]
        for name, value, most in [("mean_mbps", flow.mean_mbps, MOST["mbps"]), *of_samples]:
            if value is not None and not 0 <= value <= most:
                raise ParameterError(f"{file}: {flow.name}: {name} must be from 0 to {most:g}, not {value:.6g}")
    for probe in measured.probes:
        for echo in probe.echoes:
            for delay in (echo.rtt_ms, echo.up_ms, echo.down_ms):
                if delay is not None and abs(delay) > MOST_MS:
                    raise ParameterError(
                        f"{file}: {probe.name}: a delay must be at most {MOST_MS:g} ms, not {delay:.6g}"
                    )
            if echo.rtt_ms is not None and echo.rtt_ms < LEAST_MS:
                raise ParameterError(
                    f"{file}: {probe.name}: an RTT must be at least {LEAST_MS:g} ms, not {echo.rtt_ms:.6g}"
                )


def _recognised(root: Node, known: dict[str, Format]) -> Format:
    for one in known.values():
        if one.name != CSV and one.recognises(root):
            return one
    raise ParameterError(f"{root.file}: has none of the formats {', '.join(known)} (--format names it)")
