"""`trace`: files of rates over time. `bloatlab.cli.trace` implements the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from bloatlab.cli import completers
from bloatlab.cli.options import READING, Flag, Format, OutFile, OutFileRequired, Reading, Set, Unit

trace = App(name="trace", help="Makes, describes, draws and converts traces of rates over time.")


Interval = Annotated[str, Parameter(name="--interval")]


@trace.command(name="formats")
def formats_(*, json: Flag = False) -> None:
    """Lists the formats of trace files.

    Args:
        json: Print one JSON list and nothing else.
    """
    from bloatlab.cli.trace import show_formats

    show_formats(as_json=json)


@trace.command
def make(
    kind: Annotated[str, Parameter(completer=completers.trace_kinds)],
    *,
    set_: Set = [],  # noqa: B006
    seed: int = 42,
    duration: str = "120s",
    rate: str = "100Mbit/s",
    to: Format | None = None,
    to_unit: Unit = "Mbit/s",
    interval: Interval = "100ms",
    out: OutFile = None,
) -> None:
    """Makes a trace with a generator and prints its path, or the trace.

    With the same seed, the bottleneck of a dumbbell has the same rates.

    Args:
        kind: Kind of vary.rate: mmwave, blockage, markov, sinusoid, random_walk, pulse, steps, poisson, file, mahimahi.
        set_: Parameter of the generator, such as preset=lb. Repeatable.
        seed: Seed of the random streams.
        duration: Length of the trace.
        rate: Constant rate of the bottleneck. It is the mean for poisson, and the rate until the first change for
            others.
        to: Format of the file [default: rate_interval, or mahimahi for deliveries].
        to_unit: Unit of the rates in the file.
        interval: Interval over which deliveries are counted, for formats with rates.
        out: File to write [default: standard output].
    """
    from bloatlab.cli.trace import make_trace

    make_trace(kind, set_, seed, duration, rate, to, to_unit, interval, out)


@trace.command
def info(
    file: Path,
    *,
    reading: Reading = READING,
    below: str | None = None,
    interval: Interval = "100ms",
    json: Flag = False,
) -> None:
    """Describes a trace: format, length, mean, median and range of the rate, and its dips.

    Args:
        file: The trace.
        reading: How the file is read.
        below: Rate below which a dip is counted [default: half of the median].
        interval: Interval over which deliveries are counted.
        json: Print one JSON object and nothing else.
    """
    from bloatlab.cli.trace import show_trace

    show_trace(file, reading, below, interval, as_json=json)


@trace.command
def plot(
    file: Path,
    *,
    out: OutFileRequired,
    reading: Reading = READING,
    below: str | None = None,
    interval: Interval = "100ms",
) -> None:
    """Draws the rate over time and prints the path of the figure.

    Args:
        file: The trace.
        reading: How the file is read.
        out: File to write: .svg, .png, .pdf, .html or .json.
        below: Rate below which a dip is marked [default: half of the median].
        interval: Interval over which deliveries are counted.
    """
    from bloatlab.cli.trace import plot_trace

    print(plot_trace(file, out, reading, below, interval))


@trace.command
def convert(
    file: Path,
    out: OutFileRequired,
    *,
    to: Format,
    reading: Reading = READING,
    to_unit: Unit = "Mbit/s",
    interval: Interval = "100ms",
) -> None:
    """Writes a trace in another format and prints its path.

    Times in seconds stay exact. A delivery is at the first millisecond at which the rate has provided its bits.

    Args:
        file: The trace.
        reading: How the file is read.
        out: File to write.
        to: Format of the new file, as `bloatlab trace formats` lists them.
        to_unit: Unit of the rates in the new file.
        interval: Interval over which deliveries are counted, for formats with rates.
    """
    from bloatlab.cli.trace import convert_trace

    print(convert_trace(file, out, to, to_unit, reading, interval))
