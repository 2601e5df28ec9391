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
    return measured, data


def _recognised(root: Node, known: dict[str, Format]) -> Format:
    for one in known.values():
        if one.name != CSV and one.recognises(root):
            return one
    raise ParameterError(f"{root.file}: has none of the formats {', '.join(known)} (--format names it)")
