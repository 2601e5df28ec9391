"""Judged expectations as text: the measured value, and where it was measured."""

from __future__ import annotations

from bloatlab.expectations.judging import Judged, PointJudged
from bloatlab.store.identity import canonical
from bloatlab.store.text import readable


def number(value: float, unit: str) -> str:
    """A value with four significant digits and its unit, such as `27.31 ms`."""
    text = f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{text} {unit}" if unit else text


def point_text(judged: Judged, point: PointJudged) -> str:
    """The parameters in which this point differs from the others, such as `queue=codel, rtt=40ms`."""
    parameters = [of.runs[0].parameters for of in judged.points]
    names = sorted({name for of in parameters for name in of})
    varied = [name for name in names if len({canonical(of.get(name)) for of in parameters}) > 1]
    short = {name: name.rpartition(".")[2] for name in varied}
    if len(set(short.values())) < len(short):
        short = {name: name for name in varied}
    own = point.runs[0].parameters
    return ", ".join(f"{short[name]}={readable(canonical(own.get(name)))}" for name in varied)


def whose_text(point: PointJudged) -> str:
    """The flow, link or probe, and the seed or number of replications, of the value that decides."""
    if point.measured is None:
        return point.failure
    run = point.measured.run
    seeds = f"mean of {len(point.runs)} runs" if run is None else f"seed {run.seed}" if len(point.runs) > 1 else ""
    return ", ".join(text for text in (point.measured.entity, seeds) if text)


def measured_text(judged: Judged, point: PointJudged) -> str:
    """The value that decides, and whose it is."""
    if point.measured is None:
        return "no value"
    whose = whose_text(point)
    return number(point.measured.value, judged.expectation.reading.unit) + (f" ({whose})" if whose else "")
