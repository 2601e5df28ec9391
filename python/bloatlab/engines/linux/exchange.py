"""What the driver and its worker hand to each other: a request, and a directory with the outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines.interface import ArrowTable, Outcome

HEADER, METRICS, PACKETS = "outcome.json", "metrics.json", "packets.pcap"
TABLES = ".arrow"
PRINTED = "printed"
"""The table of what programs printed, and the directory of the files that they printed it into."""
MOST_PRINTED = 1 << 20
"""Bytes that are kept of what one program printed."""


@dataclass(frozen=True, kw_only=True)
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
    foreground: str | None = None
    """Name of the flow whose program has the worker's standard streams. The run ends with it."""
    is_interactive: bool = False
    """This program is a shell that a person uses in a terminal."""
    depth: int = 0
    """How many shells there are around this run, itself included."""
    uplink: int | None = None
    """Descriptor of a socket to the driver, which connects the server with the world outside."""
    name_servers: str | None = None
    """The text of a `resolv.conf` for the run's programs."""

    def text(self) -> str:
        """The request as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: bytes | str) -> Request:
        """A request from its JSON."""
        return cls(**json.loads(text))

    @property
    def printed(self) -> Path:
        """Directory for what programs print."""
        return Path(self.directory) / PRINTED


def write(outcome: Outcome, nanoseconds: int, code: int | None, request: Request) -> None:
    """Writes an outcome: every table as an Arrow file, the metrics, and the packets if they were recorded.

    Args:
        outcome: What the run gave.
        nanoseconds: How long it took.
        code: Exit code of the program in the foreground.
        request: The run.

    Raises:
        OSError: The disk is full.
    """
    # After the run: polars takes long to import, and starts threads.
    import polars as pl

    directory = Path(request.directory)
    tables: dict[str, ArrowTable] = dict(outcome.tables())
    printed = _printed(request.printed)
    if printed.height:
        tables[PRINTED] = printed
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
        "nanoseconds": nanoseconds,
        "code": code,
    }
    (directory / HEADER).write_text(json.dumps(header), encoding="utf-8")


def _printed(directory: Path) -> pl.DataFrame:
    """What programs printed, one row per line."""
    import polars as pl

    rows: list[tuple[str, int, str]] = []
    for file in sorted(directory.iterdir()):
        with file.open("rb") as opened:
            text = opened.read(MOST_PRINTED).decode(errors="replace")
        rows += ((file.stem, number, line) for number, line in enumerate(text.splitlines(), 1))
    return pl.DataFrame(rows, {"program": pl.String, "line": pl.Int64, "text": pl.String}, orient="row")


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
        nanoseconds=header["nanoseconds"],
        code=header["code"],
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
    nanoseconds: int
    """How long the run took."""
    code: int | None
    """Exit code of the program in the foreground; `None`: there was none, or the time limit ended it."""

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
            raise EngineError(f"link {link}: runs on Linux keep only the packets at the senders; leave the link out")
        if self.packets is None:
            raise EngineError("the run did not record its packets")
        Path(path).write_bytes(self.packets)
