"""What the driver and its worker hand to each other: a request on standard input, and a directory with the outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bloatlab.engines.interface import ArrowTable, Outcome

HEADER, METRICS, PACKETS = "outcome.json", "metrics.json", "packets.pcap"
TABLES = ".arrow"


@dataclass(frozen=True)
class Request:
    """One run."""

    scenario: str
    """Canonical JSON."""
    seed: int
    kernel_link: bool
    """Whether the kernel's own queue is the bottleneck."""
    record_packets: bool
    directory: str
    """Where the outcome goes."""
    driver: int
    """Process that made the request. The run ends with it."""

    def text(self) -> str:
        """The request as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: bytes | str) -> Request:
        """A request from its JSON."""
        return cls(**json.loads(text))


def write(outcome: Outcome, request: Request) -> None:
    """Writes an outcome: every table as an Arrow file, the metrics, and the packets if they were recorded.

    Raises:
        OSError: The disk is full.
    """
    # After the run: polars takes long to import, and starts threads.
    import polars as pl

    directory = Path(request.directory)
    tables = outcome.tables()
    for name, table in tables.items():
        pl.DataFrame(table).write_ipc(directory / f"{name}{TABLES}")
    if request.record_packets:
        outcome.write_pcap(str(directory / PACKETS))
    (directory / METRICS).write_text(outcome.metrics_json(), encoding="utf-8")
    header = {
        "digest": outcome.digest,
        "events": outcome.events,
        "suspect": outcome.suspect,
        "tables": list(tables),
    }
    (directory / HEADER).write_text(json.dumps(header), encoding="utf-8")


def read(directory: Path) -> StoredOutcome:
    """Reads an outcome. It does not need the directory afterwards."""
    import polars as pl

    header: dict[str, Any] = json.loads((directory / HEADER).read_bytes())
    return StoredOutcome(
        suspect=header["suspect"],
        digest=header["digest"],
        events=header["events"],
        of={name: pl.read_ipc(directory / f"{name}{TABLES}") for name in header["tables"]},
        metrics=(directory / METRICS).read_text(encoding="utf-8"),
        packets=(directory / PACKETS).read_bytes() if (directory / PACKETS).exists() else None,
    )


@dataclass(frozen=True, kw_only=True)
class StoredOutcome:
    """The outcome of a run that another process made."""

    suspect: str | None
    digest: str
    events: int
    of: Mapping[str, ArrowTable]
    """The tables by name."""
    metrics: str
    packets: bytes | None
    """A pcap file of the packets at the senders of data."""

    def tables(self) -> Mapping[str, ArrowTable]:
        """The tables by name."""
        return self.of

    def metrics_json(self) -> str:
        """The metrics by scope, entity and name."""
        return self.metrics

    def write_pcap(self, path: str, link: str | None = None) -> None:
        """Writes the packets at the senders of data as a pcap file.

        Raises:
            EngineError: No packets were recorded, or those at a link are asked for.
        """
        from bloatlab.errors import EngineError

        if link is not None:
            raise EngineError(
                f"link {link}: a run in real time keeps only the packets at the senders; leave the link out"
            )
        if self.packets is None:
            raise EngineError("the run did not record its packets")
        Path(path).write_bytes(self.packets)
