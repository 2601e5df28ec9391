"""CSV files of the LENS data set (Zhao and Pan, MMSys 2024): pings of irtt over Starlink.

Columns `timestamp` (ns since 1970), `rtt`, `uplink` and `downlink` (ms, one way). -1 means lost: in `uplink` or `downlink` in
this direction, in `rtt` in a direction that is not known. A one-way delay that is not known is empty.
"""

from __future__ import annotations

import csv
import io
import math
from itertools import pairwise
from statistics import median

from bloatlab.exchange.irtt import first_ping
from bloatlab.exchange.measurement import Echo, Measurement, Probe
from bloatlab.exchange.untrusted import Node
from bloatlab.visible import one_line

COLUMNS = ("timestamp", "rtt", "uplink", "downlink")
LOST = -1.0
SECONDS = 1e12
"""Times below are in s, as in the files of ICMP pings, which have no one-way delays."""


def recognises(root: Node) -> bool:
    """A CSV file is never JSON."""
    return False


def read(root: Node) -> Measurement:
    """Reads the text of a file."""
    rows = csv.reader(io.StringIO(root.text_of_file()))
    try:
        heads = [name.strip().lower() for name in next(rows, [])]
        table = [row for row in rows if row]
    except csv.Error as error:
        raise root.error(f"is not CSV ({error})") from error
    if heads not in (list(COLUMNS), list(COLUMNS[:2])):
        raise root.error(f"line 1: must be {','.join(COLUMNS)}, not {one_line(','.join(heads)[:100])}")
    lines = [_numbers(root, line, heads, row) for line, row in enumerate(table, 2)]
    if not lines:
        raise root.error("has no row")
    unit = 1.0 if abs(lines[0]["timestamp"]) < SECONDS else 1e9
    zero = min(line["timestamp"] for line in lines)
    echoes = sorted((_echo(line, (line["timestamp"] - zero) / unit) for line in lines), key=lambda one: one.sent_s)
    gaps = [b.sent_s - a.sent_s for a, b in pairwise(echoes) if b.sent_s > a.sent_s]
    counts = len(heads) == len(COLUMNS)
    probe = Probe("ping", echoes, median(gaps) * 1e3 if gaps else None, counts_losses=counts)
    end = max(one.sent_s + (one.rtt_ms or 0.0) / 1e3 for one in echoes)
    return Measurement("lens", "irtt" if counts else "ping", "ping", end, [], [probe], zero / unit)


def _numbers(root: Node, line: int, heads: list[str], row: list[str]) -> dict[str, float]:
    if len(row) != len(heads):
        raise root.error(f"line {line}: must have {len(heads)} values, not {len(row)}")
    found = {}
    for name, text in zip(heads, row, strict=True):
        if not text and name in COLUMNS[2:]:
            continue
        try:
            found[name] = float(text)
        except ValueError as error:
            raise root.error(f"line {line}: {name}: must be a number, not {text[:40]!r}") from error
        if not math.isfinite(found[name]):
            raise root.error(f"line {line}: {name}: must be a finite number")
    if not 0 < found["timestamp"] < 2**63:
        raise root.error(f"line {line}: timestamp: must be a time since 1970 in ns, not {found['timestamp']:g}")
    return found


def _echo(line: dict[str, float], sent_s: float) -> Echo:
    up, down = line.get("uplink"), line.get("downlink")
    if LOST in (up, down):
        return Echo(sent_s, None, loss="lost up" if up == LOST else "lost down")
    return Echo(sent_s, line["rtt"], up, down) if line["rtt"] > 0 else Echo(sent_s, None, loss="lost")


def write(of: Measurement) -> bytes:
    """The file for the first ping of a measurement. One-way delays that are not known are left empty."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    began = round((of.began or 0.0) * 1e9)
    for one in first_ping(of, "lens").echoes:
        at = began + round(one.sent_s * 1e9)
        if one.rtt_ms is None:
            values = {"lost up": (0, -1, 0), "lost down": (0, 0, -1)}.get(one.loss, (-1, 0, 0))
            rows.writerow((at, *values))
        else:
            rows.writerow((at, *(_text(value) for value in (one.rtt_ms, one.up_ms, one.down_ms))))
    return out.getvalue().encode()


def _text(ms: float | None) -> str:
    return "" if ms is None else f"{ms:.6f}"
