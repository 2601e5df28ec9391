"""What a search recommends, in words: why, and how far it is from the default."""

from __future__ import annotations

from collections.abc import Callable

from bloatlab.analysis.front import Found
from bloatlab.analysis.tune import Outcome, Problem

Format = Callable[[float], str]
"""Writes a number."""


def advice(problem: Problem, found: Outcome, number: Format) -> list[str]:
    """Sentences about the recommended trial; empty if every trial failed."""
    if found.choice is None:
        return []
    chosen, default = found.choice.recommended, found.choice.default
    said = [f"Recommended: {chosen.label}.{_why(problem, found)}"]
    of = f"Worst of {problem.replications} replications" if problem.replications > 1 else "Values"
    apart = default if default is not None and default.number != chosen.number else None
    said.append(f"{of}: {', '.join(_goals(problem, chosen, apart, number))}.")
    if apart is not None:
        said.append(f"Instead of the default: {', '.join(_parameters(problem, chosen, apart))}.")
    rate = problem.bottleneck.rate_bps
    if rate is None:
        said.append("The rate of the link varies, so the commands set up the queue without a shaper.")
    else:
        said.append(
            f"The commands shape to the rate of the link, {number(rate / 1e6)} Mbit/s: a queue is only managed where it "
            "forms. On a real line set a rate that it always carries, some percent below its own."
        )
    return said


def _why(problem: Problem, found: Outcome) -> str:
    assert found.choice is not None
    best = found.choice.best
    return {
        "best": "",
        "default is best": " No other trial has a better worst case.",
        "noise": (
            f" The best trial, {best.label}, beats the defaults by less than the noise over "
            f"{problem.replications} replications."
        ),
        "unknown noise": f" The best trial is {best.label}, but {_unknown(problem)}.",
    }[found.choice.why]


def _unknown(problem: Problem) -> str:
    if problem.replications > 1:
        return "all replications are equal, so they do not show noise; give the flows a `start_jitter`"
    return "one replication does not show whether that is more than noise; --replications 3 does"


def _goals(problem: Problem, chosen: Found, default: Found | None, number: Format) -> list[str]:
    """The objectives with their values, and those of the default."""
    said = []
    for place, of in enumerate(problem.objectives):
        value = chosen.values[place]
        text = f"{of.reading.words} {number(value)} {of.reading.unit}".rstrip()
        if default is not None:
            was = default.values[place]
            share = f", {100 * (value - was) / abs(was):+.2g} %" if was else ""
            text += f" (default {number(was)}{share})"
        said.append(text)
    return said


def _parameters(problem: Problem, chosen: Found, default: Found) -> list[str]:
    mine, its = chosen.point[problem.path], default.point[problem.path]
    apart = [f"{name} {value} instead of {its[name]}" for name, value in mine.items() if value != its[name]]
    others = [
        f"{of.name} {chosen.point[of.name]} instead of {default.point[of.name]}"
        for of in problem.varied
        if chosen.point[of.name] != default.point[of.name]
    ]
    return [*apart, *others]
