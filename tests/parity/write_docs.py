"""Writes docs/parity.md from the reference and from runs made now: `python tests/parity/write_docs.py`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from ns3_deep_buffers import EXPLANATIONS, METRICS, Cell, cells

PAGE = Path(__file__).parents[2] / "docs" / "parity.md"
SHORT = {
    "mean_throughput_l4": "throughput",
    "utilization": "utilization",
    "mean_srtt_l4": "sRTT ms",
    "mean_in_flight_l4": "in flight",
    "mean_cwnd_l4": "cwnd",
    "mean_queue_length": "queue",
    "total_retransmissions_l4": "retransmissions",
}


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def _entry(cell: Cell) -> str:
    text = f"{_number(cell.ours)} / {_number(cell.theirs)}"
    text += f" ({cell.ratio:.2f})" if cell.theirs else ""
    return text if cell.agrees else f"**{text}** {cell.explanation}"


def page() -> str:
    """The page, in Markdown."""
    all_cells = list(cells())
    agree = sum(c.agrees for c in all_cells)
    lines = [
        "# Parity with references",
        "",
        "Written by `make docs`; `tests/parity` holds it to the engine.",
        "",
        "## ns-3: deep-buffers",
        "",
        "One greedy flow, 16 Mbit/s, RTT 15 ms, FIFO, 15 s, MSS 1448, PRR, SACK, 1502 bytes on the wire, a device ring of",
        "one packet. Each cell is ours / ns-3 (ratio). Bold: outside the tolerance, with the letter of its explanation.",
        "Nothing is fitted: our side is `bloatlab run deep-buffers` with the row's `cca`, `qlen` and `ack_every`.",
        "",
        f"{agree} of {len(all_cells)} cells agree. Of the NewReno rows in which ns-3 does not time out, all do.",
        "",
        "| metric | tolerance | why |",
        "|---|---|---|",
    ]
    for m in METRICS:
        absolute = f" + {m.absolute:g}" if m.absolute else ""
        lines.append(f"| `{m.name}` | {m.relative:.1%}{absolute} | {m.why} |")
    lines += ["", *(f"- **{k}**: {e.reason}" for k, e in EXPLANATIONS.items()), ""]
    header = ["qlen", "segments per ACK", "ns-3", *(SHORT[m.name] for m in METRICS)]
    for law, group in groupby(all_cells, key=lambda c: c.row["cca"]):
        lines += [f"### {law}", "", "| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
        for _, row in groupby(group, key=lambda c: id(c.row)):
            entries = list(row)
            r = entries[0].row
            lines.append(f"| {r['qlen']} | {r['delack']} | {r['version']} | " + " | ".join(map(_entry, entries)) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
