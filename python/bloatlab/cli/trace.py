"""Implementation of the commands of `trace`."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bloatlab import traces
from bloatlab.cli.console import console, number
from bloatlab.cli.options import Reading
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.values import assignments, named, value
from bloatlab.errors import BloatlabError

MANY_DIPS = 20
"""Number of dips that are listed. Others are only counted."""


def show_formats(*, as_json: bool) -> None:
    """Prints the formats of trace files."""
    formats = traces.formats().values()
    if as_json:
        print(json.dumps([dataclasses.asdict(entry) for entry in formats]))
        return
    table = FittedTable([Column("format", whole=True), Column("example of a line"), Column("what it means")])
    for entry in formats:
        table.add(entry.name, entry.example, entry.description)
    table.print(console())


def make_trace(
    kind: str,
    set_: Sequence[str],
    seed: int,
    duration: str,
    rate: str,
    to: str | None,
    unit: str,
    interval: str,
    out: Path | None,
) -> None:
    """Makes a trace and writes it to a file, whose path is printed, or to standard output."""
    given = {name: named(name, value, text) for name, text in assignments(set_, "--set").items()}
    text = traces.make(kind, given, seed=seed, duration=duration, rate=rate).text(to, unit, interval)
    if out is None:
        sys.stdout.write(text)
    else:
        print(_write(out, text))


def show_trace(file: Path, reading: Reading, below: str | None, interval: str, *, as_json: bool) -> None:
    """Prints a description of a trace."""
    info = _read(file, reading).info(interval, below)
    if as_json:
        print(json.dumps(info))
        return
    dips = info["dips"]
    holds = traces.formats()[info["format"]].holds
    out = console()
    out.print(f"{file}: {info['format']}, {info['entries']} {'deliveries' if holds == 'deliveries' else 'lines'}")
    out.print(f"length {number(info['seconds'])} s")
    names = ("mean", "median", "least", "most")
    out.print("rate " + ", ".join(f"{name} {number(info[name])}" for name in names) + " Mbit/s")
    share = f"{100 * info['share_below']:.1f} % of the time"
    out.print(f"{len(dips)} dip{'s' * (len(dips) != 1)} below {number(info['below'])} Mbit/s, {share}")
    if dips:
        lengths = [dip["seconds"] for dip in dips]
        mean = sum(lengths) / len(lengths)
        out.print(f"dips last {number(mean)} s on average, from {number(min(lengths))} to {number(max(lengths))} s")
    for dip in dips[:MANY_DIPS]:
        out.print(f"  at {number(dip['at'])} s for {number(dip['seconds'])} s, down to {number(dip['least'])} Mbit/s")
    if len(dips) > MANY_DIPS:
        out.print(f"  and {len(dips) - MANY_DIPS} more (--json lists all)")


def plot_trace(file: Path, out: Path, reading: Reading, below: str | None, interval: str) -> Path:
    """Draws the rate over time and saves the figure."""
    from bloatlab.figures import save, trace_rate

    tables = _read(file, reading).tables(interval, below)
    try:
        return save(trace_rate(tables), out)
    except OSError as error:
        raise BloatlabError(f"{out}: {error.strerror or error}") from error
    except ValueError as error:
        raise BloatlabError(str(error)) from error


def convert_trace(file: Path, out: Path, to: str, unit: str, reading: Reading, interval: str) -> Path:
    """Writes a trace in another format."""
    return _write(out, _read(file, reading).text(to, unit, interval))


def _read(file: Path, reading: Reading) -> traces.Trace:
    return traces.read(file, **dataclasses.asdict(reading))


def _write(out: Path, text: str) -> Path:
    try:
        out.write_text(text, encoding="ascii")
    except OSError as error:
        raise BloatlabError(f"{out}: {error.strerror or error}") from error
    return out
