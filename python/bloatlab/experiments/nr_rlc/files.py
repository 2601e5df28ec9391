"""Files in the form of the authors' runs: the text of the flow monitor and the RLC's log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
BEARER = "ue_1"
LCID = 4
"""Logical channel of the one data bearer: 1 to 3 are for signalling (TS 38.331), also in 5G-LENA."""
PORT = 5001
"""Port of the receivers, as in the pcap."""


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
    """The writer of each file by name; the RLC's log needs recorded packets."""

    def monitor(path: Path) -> None:
        path.write_text(flow_monitor(run), encoding="utf-8")

    def log(path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(rlc_log(run.packets.to_polars()))

    makers: dict[str, FileMaker] = {f"{stem}-flowmon.txt": monitor}
    if run.recorded:
        makers[f"{stem}-rlc.log"] = log
    return makers


def flow_monitor(run: Result) -> str:
    """Every UDP flow in the form in which 5G-LENA's examples print ns-3's flow monitor (IP layer).

    They divide the sum of the jitter by the number of received packets (from memory), not by the number of differences.
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
        jitter = metrics.get("mean_jitter", 0.0) * (arrived - 1) / max(1, arrived)
        delays.append(metrics.get("mean_delay", 0.0))
        rates.append(metrics.get("throughput", 0.0))
        blocks.append(
            f"Flow {number + 1} (10.1.0.{number}:40000 -> 10.2.0.{number}:{PORT}) proto UDP\n"
            f"  Tx Packets: {sent}\n"
            f"  Tx Bytes:   {sent * size:.0f}\n"
            f"  TxOffered:  {offered:f} Mbps\n"
            f"  Rx Bytes:   {arrived * size:.0f}\n"
            f"  Throughput: {rates[-1]:f} Mbps\n"
            f"  Mean delay:  {delays[-1]:f} ms\n"
            f"  Mean jitter:  {jitter:f} ms\n"
            f"  Rx Packets: {arrived}\n"
        )
    if delays:
        blocks.append(f"\n\n  Mean flow throughput: {sum(rates) / len(rates):f}\n")
        blocks.append(f"  Mean flow delay: {sum(delays) / len(delays):f}\n")
    return "".join(blocks)


def rlc_log(packets: pl.DataFrame) -> Iterator[str]:
    """One line per packet that enters the RLC's buffer: LCID, bytes added, and waiting buffers and bytes.

    A packet that was sent in part does not count here; ns-3 counts its rest.

    Args:
        packets: Table `packets` of the run.
    """
    import polars as pl

    there = packets.filter(pl.col("box").cast(pl.String) == BEARER)
    rows = there.select("time_ns", "event", "flow", "direction", "seq", "length", "size").rows()
    held: dict[tuple[Any, ...], int] = {}
    buffers = total = 0
    for (at, event, *key, size), (then, next_event, *next_key, _) in pairwise([*rows, (None,) * 7]):
        packet = tuple(key)
        if event == "enqueue":
            if (then, next_event, next_key) == (at, "drop", key):
                # Refused by the buffer or by the queue's algorithm.
                continue
            buffers, total = buffers + 1, total + size + PDCP
            held[packet] = held.get(packet, 0) + 1
            yield (
                f"{at / 1e9:.9f} LCID {LCID} New packet added: {size + PDCP}, NumOfBuffers: {buffers}, BufferSize: {total}\n"
            )
        # A packet that is lost on air has waited before, and counts once.
        elif event in ("dequeue", "drop") and held.get(packet):
            buffers, total = buffers - 1, total - size - PDCP
            held[packet] -= 1
            if not held[packet]:
                del held[packet]
