"""Files in the form of the authors' runs: the text of the flow monitor, the RLC's log and the capture at the UE."""

from __future__ import annotations

import re
import struct
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab import units

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.experiments.base import FileMaker
    from bloatlab.result import Result

PDCP = 2
"""Bytes of its header, which the flow monitor, on the IP layer, does not see."""
IP_UDP = 28
"""Bytes of IP's and UDP's headers."""
BEARER = "ue_"
"""Prefix of the names of the downlink bearers; their numbers begin at 1."""
HOST, UES = "1.0.0.2", "7.0.0.0"
"""Addresses of the remote host and of the UEs' network, in which UE n has the address n + 1."""
PORT = 1234
"""Port of the receivers."""
FIRST_PORT = 49_153
"""Port of the first sender; the next flow has the next one."""
FIRST_RNTI = 1
"""RNTI of the first UE; the next UE has the next one."""
LCID = 4
"""Logical channel of the flows: ns-3 gives data radio bearer n the channel n + 2, and they have a bearer besides the
default one."""
ENTITY, ENTITY_BYTES = 0x55D0C8A1B2E0, 0x200
"""Address of the first UE's RLC entity, which ns-3 prints in each call, and distance to the next; ours are always the same."""
RULE = " ----------------------------xx----------------------------------------xx---------------------"
"""What the authors print after each run."""


def name(own: Mapping[str, Any], number: int | str, mark: str) -> str:
    """Prefix of the names of a run's files, such as `tail-20000-999999999B-um-42`.

    Args:
        own: The parameters `lambda`, `queue`, `buffer`, `rlc` and `cca`.
        number: The run's seed, and its repetition if it has one.
        mark: Text that distinguishes a run with other settings; empty if there are none.
    """
    queue = own["queue"]
    kind = queue.get("kind", "queue") if isinstance(queue, Mapping) else str(queue).split()[0].rpartition(":")[2]
    cca = own["cca"].get("kind", "cca") if isinstance(own["cca"], Mapping) else own["cca"]
    sent = cca if own["lambda"] is None else f"{own['lambda']:g}"
    parts = (kind, sent, own["buffer"], own["rlc"], mark, number)
    return "-".join(re.sub(r"[^A-Za-z0-9_+.]", "_", str(part)) for part in parts if part != "")


def of_run(run: Result, stem: str) -> Mapping[str, FileMaker]:
    """The writer of each file by name; the RLC's log and the capture need recorded packets."""

    def monitor(path: Path) -> None:
        path.write_text(flow_monitor(run), encoding="utf-8")

    def log(path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                rlc_log(run.packets.to_polars(), units.size(run.parameters["buffer"]), run.parameters["rlc"])
            )

    def capture(ue: int) -> FileMaker:
        def make(path: Path) -> None:
            run.write_pcap(path, f"{BEARER}{ue}")
            path.write_bytes(with_addresses(path.read_bytes(), ue))

        return make

    makers: dict[str, FileMaker] = {f"{stem}-flowmon.txt": monitor}
    if run.recorded:
        makers[f"{stem}-rlc.log"] = log
        ues = len(run.scenario["cell"]["radio"]["ues"])
        makers |= {f"{stem}-ue{f'_{ue}' if ues > 1 else ''}.pcap": capture(ue) for ue in range(1, ues + 1)}
    return makers


def address(ue: int) -> str:
    """The address of a UE: 7.0.0.2 for the first.

    Args:
        ue: Its number, from 1.
    """
    return str(ip_address(UES) + ue + 1)


def flow_monitor(run: Result) -> str:
    """Every UDP flow in the form in which the authors' program prints ns-3's flow monitor (IP layer).

    It divides the sum of the jitter by the number of received packets, not by the number of differences.
    """
    blocks = []
    delays, rates = [], []
    duration = units.duration(run.scenario["duration"])
    for number, flow in enumerate(run.scenario["flows"]):
        traffic, metrics = flow["traffic"], run.flow_metrics.get(flow["name"], {})
        if "tx_packets" not in metrics or "packet" not in traffic or traffic.get("transport", "udp") != "udp":
            continue
        sent, arrived = int(metrics["tx_packets"]), int(metrics["rx_packets"])
        size = units.size(traffic["packet"]) + IP_UDP
        offered = sent * size * 8 / (duration - units.duration(flow["start"])) / 1e6
        delays.append(metrics.get("mean_delay", 0.0))
        rates.append(metrics.get("throughput", 0.0))
        blocks.append(
            f"Flow {number + 1} ({HOST}:{FIRST_PORT + number} -> {address(flow.get('ue') or 1)}:{PORT}) proto UDP\n"
            f"  Tx Packets: {sent}\n"
            f"  Tx Bytes:   {sent * size:.0f}\n"
            f"  TxOffered:  {offered:f} Mbps\n"
            f"  Rx Bytes:   {arrived * size:.0f}\n"
        )
        if arrived:
            jitter = metrics.get("mean_jitter", 0.0) * (arrived - 1) / arrived
            blocks.append(
                f"  Throughput: {rates[-1]:f} Mbps\n  Mean delay:  {delays[-1]:f} ms\n  Mean jitter:  {jitter:f} ms\n"
            )
        else:
            blocks.append("  Throughput:  0 Mbps\n  Mean delay:  0 ms\n  Mean upt:  0  Mbps \n  Mean jitter: 0 ms\n")
        blocks.append(f"  Rx Packets: {arrived}\n")
    if delays:
        blocks.append(f"\n\n  Mean flow throughput: {sum(rates) / len(rates):f}\n")
        blocks.append(f"  Mean flow delay: {sum(delays) / len(delays):f}\n\n{RULE}\n\n")
    return "".join(blocks)


class _Buffer:
    """What waits in the RLC, from the events at the bearer."""

    def __init__(self) -> None:
        self.total = 0
        """Bytes of whole packets, with PDCP's headers."""
        self.part = 0
        """Bytes that are left of the packet that was sent in part."""
        self._part_since = self._sent_since = 0
        self._waiting: OrderedDict[int, tuple[int, int]] = OrderedDict()
        """When each whole packet came, and its bytes, by its number."""
        self._numbers: dict[tuple[Any, ...], list[int]] = {}
        self._count = 0

    @property
    def buffers(self) -> int:
        return len(self._waiting) + (self.part > 0)

    @property
    def bytes(self) -> int:
        return self.total + self.part

    def head_waits(self, now: int) -> int:
        """Milliseconds since the head came; 0 without one."""
        if self.part:
            return (now - self._part_since) // 1_000_000
        if not self._waiting:
            return 0
        since, _ = next(iter(self._waiting.values()))
        return (now - since) // 1_000_000

    def enter(self, now: int, key: tuple[Any, ...], size: int) -> None:
        self._count += 1
        self._waiting[self._count] = (now, size)
        self._numbers.setdefault(key, []).append(self._count)
        self.total += size

    def leave(self, key: tuple[Any, ...], *, is_sent: bool) -> None:
        """Removes a packet, unless it has left before, as one that is lost on air."""
        numbers = self._numbers.get(key)
        if not numbers:
            return
        since, size = self._waiting.pop(numbers.pop(0))
        self.total -= size
        if is_sent:
            self._sent_since = since
        if not numbers:
            del self._numbers[key]

    def cut(self, left: int) -> None:
        """The packet that was sent last was sent except for this rest."""
        self.part = left
        self._part_since = self._sent_since


def rlc_log(packets: pl.DataFrame, most: int, mode: str = "um") -> Iterator[str]:
    """The log of ns-3's RLC (`LogComponentEnable ("LteRlcUm", LOG_LEVEL_ALL)`) about packets that enter it.

    A packet that enters the buffer gives six lines: the call with the entity, RNTI, LCID and size, the head's waiting
    time, the entry, the number of buffers, their bytes, and the buffer status report with two bytes for the header of
    each buffer. A full buffer gives six others, and the authors' CoDel drops after the call. The authors' RLC prints all
    of these lines but the head's waiting time, which is later ns-3's. Each UE has its own buffer and entity.

    Args:
        packets: Table `packets` of the run.
        most: Size of the RLC's buffer in bytes.
        mode: Mode of the RLC, `um` or `am`.
    """
    import polars as pl

    number = pl.col("box").cast(pl.String).str.extract(f"^{BEARER}([0-9]+)$").cast(pl.Int64)
    there = packets.with_columns(ue=number).drop_nulls("ue")
    rows = there.select("time_ns", "event", "ue", "flow", "direction", "seq", "length", "size").rows()
    buffers: dict[int, _Buffer] = {}
    for (at, event, *key, bytes_), (then, next_event, *next_key, _) in pairwise([*rows, (None,) * 8]):
        packet = tuple(key)
        ue = key[0]
        buffer = buffers.setdefault(ue, _Buffer())
        if event == "part":
            buffer.cut(bytes_)
        elif event in ("dequeue", "drop"):
            buffer.leave(packet, is_sent=event == "dequeue")
        elif event == "enqueue":
            size = bytes_ + PDCP
            waited = buffer.head_waits(at)
            entity, rnti = ENTITY + (ue - 1) * ENTITY_BYTES, FIRST_RNTI + ue - 1
            yield f"LteRlc{mode.title()}:DoTransmitPdcpPdu({entity:#x}, {rnti}, {LCID}, {size})\n"
            if (then, next_event, next_key) != (at, "drop", key):
                buffer.enter(at, packet, size)
                yield f"head of line delay in MS:{waited}\n"
                yield "Tx Buffer: New packet added\n"
                yield f"NumOfBuffers = {buffer.buffers}\n"
                yield f"txBufferSize = {buffer.bytes}\n"
            elif buffer.bytes + size > most:
                yield "TxBuffer is full. RLC SDU discarded\n"
                yield f"MaxTxBufferSize = {most}\n"
                yield f"txBufferSize    = {buffer.bytes}\n"
                yield f"packet size     = {size}\n"
            else:
                # Dropped by an algorithm on arrival: nothing else is said.
                continue
            reported = buffer.bytes + 2 * buffer.buffers
            yield f"Send ReportBufferStatus = {reported}, {buffer.head_waits(at)}\n"


def with_addresses(capture: bytes, ue: int = 1) -> bytes:
    """A capture of bloatlab with the addresses and ports of the source. Checksums stay right.

    Args:
        capture: A pcap of IPv4 packets between 10.1.x.y, which sends data, and 10.2.x.y.
        ue: Number of the UE at which it was made.
    """
    order = "<" if capture[0] in (0xD4, 0x4D) else ">"
    found = bytearray(capture)
    ends = (ip_address(HOST).packed, ip_address(address(ue)).packed)
    at = 24
    while at < len(found):
        (kept,) = struct.unpack_from(f"{order}I", found, at + 8)
        _rename(found, at + 16, ends)
        at += 16 + kept
    return bytes(found)


def _rename(found: bytearray, at: int, ends: tuple[bytes, bytes]) -> None:
    is_down = found[at + 13] == 1
    flow = int.from_bytes(found[at + 14 : at + 16])
    addresses = b"".join(ends if is_down else reversed(ends))
    before = bytes(found[at + 12 : at + 20])
    found[at + 12 : at + 20] = addresses
    _renew(found, at + 10, before, addresses)
    checksum = {6: 36, 17: 26}.get(found[at + 9])
    if checksum is None:
        return
    ports = (FIRST_PORT + flow, PORT) if is_down else (PORT, FIRST_PORT + flow)
    before += bytes(found[at + 20 : at + 24])
    found[at + 20 : at + 24] = struct.pack(">HH", *ports)
    _renew(found, at + checksum, before, bytes(found[at + 12 : at + 24]))


def _renew(found: bytearray, at: int, before: bytes, after: bytes) -> None:
    """Changes an Internet checksum for changed words (RFC 1624)."""
    (old,) = struct.unpack_from(">H", found, at)
    total = ~old & 0xFFFF
    total += sum(~word & 0xFFFF for (word,) in struct.iter_unpack(">H", before))
    total += sum(word for (word,) in struct.iter_unpack(">H", after))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    struct.pack_into(">H", found, at, ~total & 0xFFFF)
