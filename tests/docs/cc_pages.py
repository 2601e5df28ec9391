"""Writes docs/congestion-controls, a page per congestion control: `python tests/docs/cc_pages.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import polars as pl

from bloatlab import Result
from bloatlab._core import algorithms
from cc_behaviour import BASE_RTT_MS, DESCRIPTION, JOINED, QUEUES, figure, run, series
from page_parts import DOCS, Page, deviations, parameters, save, table

PAGES = DOCS / "congestion-controls"
SHOWN = next(iter(QUEUES))
COLUMNS = (
    "alone (Mbit/s)",
    "alone: queueing (ms)",
    "beside cubic (Mbit/s)",
    "cubic's part (Mbit/s)",
    "together: queueing (ms)",
    "retransmissions",
    "marks",
)
SETTLED = 5.0
"""Seconds at the start of each phase that are not measured."""


@cache
def described() -> list[dict[str, Any]]:
    """Every congestion control of the registry."""
    return [algorithm for algorithm in json.loads(algorithms())["congestion_controls"] if algorithm["kind"] != "python"]


def _outcome(result: Result) -> tuple[str, ...]:
    """The results of a run, one value per column."""
    samples = series(result)

    def mean(flow: str, column: str, start: float, stop: float) -> float:
        phase = samples.filter((pl.col("flow") == flow) & pl.col("time_s").is_between(start + SETTLED, stop))
        return float(phase[column].mean() or 0.0)  # type: ignore[arg-type]

    start, stop = JOINED
    return (
        f"{mean('test', 'throughput_mbps', 0, start):.2f}",
        f"{max(0.0, mean('test', 'srtt_ms', 0, start) - BASE_RTT_MS):.1f}",
        f"{mean('test', 'throughput_mbps', start, stop):.2f}",
        f"{mean('cubic', 'throughput_mbps', start, stop):.2f}",
        f"{max(0.0, mean('cubic', 'srtt_ms', start, stop) - BASE_RTT_MS):.1f}",
        f"{result.flow_metrics['test']['total_retransmissions_l4']:.0f}",
        f"{result.link_metrics['bottleneck']['marks']:.0f}",
    )


def elsewhere(algorithm: Mapping[str, Any]) -> list[str]:
    """The names of an algorithm and of its parameters in other systems."""
    names = algorithm["elsewhere"]
    linux = names["linux"]
    rows: list[tuple[str, ...]] = [("system", "name")]
    if linux:
        module = f", kernel module `{linux['module']}`" if linux["module"] else ", in every kernel"
        rows.append(("Linux", f"`{linux['name']}`{module}"))
    rows += [(system, f"`{names[key]}`") for system, key in (("ns-3", "ns3"), ("ns-2", "ns2")) if names[key]]
    if len(rows) == 1:
        return ["Mainline Linux, ns-3 and ns-2 do not have it."]
    lines = table(rows)
    if linux and linux["parameters"]:
        settings = [("parameter", "in Linux", "value in Linux", "default in Linux")]
        settings += [
            (f"`{p['ours']}`", f"`{p['name']}`", _conversion(p["value"]), str(p["default"]))
            for p in linux["parameters"]
        ]
        lines += ["", *table(settings)]
    return lines


def _conversion(value: str | Mapping[str, Any]) -> str:
    """How a value of ours becomes one of Linux's."""
    if isinstance(value, str):
        return {"flag": "1 if true, 0 if false", "milliseconds": "in ms", "shift": "n, for a share of 1/2^n"}[value]
    if "times" in value:
        return "the same" if value["times"] == 1 else f"times {value['times']:g}, rounded"
    return ", ".join(f"{number} for `{word}`" for word, number in value["words"])


def page(algorithm: Mapping[str, Any], results: Mapping[str, Result]) -> str:
    """One congestion control's page, in Markdown."""
    kind = algorithm["kind"]
    others = ", ".join(f"`{name}`" for name in algorithm["aliases"])
    rows = [("queue", *COLUMNS), *((queue, *_outcome(result)) for queue, result in results.items())]
    lines = [
        f"# `{kind}`",
        "",
        algorithm["summary"].strip() + (f" Also written {others}." if others else ""),
        "",
        algorithm["details"],
        "",
        f"Source: {algorithm['source']}.",
        "",
        "## Parameters",
        "",
        *parameters(algorithm),
        "",
        "## Elsewhere",
        "",
        *elsewhere(algorithm),
        "",
        "## Deviations",
        "",
        *(deviations("Congestion controls", kind) or ["None known."]),
        "",
        "## In the common scenario",
        "",
        DESCRIPTION,
        "",
        f"![{kind}: window, RTT and throughput over time](images/{kind}.svg)",
        "",
        f"The same scenario with several queues. The first {SETTLED:g} s of each phase are not measured:",
        "",
        *table(rows),
        "",
    ]
    return "\n".join(lines)


def index(outcomes: Mapping[str, tuple[str, ...]]) -> str:
    """The page that lists all congestion controls."""
    rows: list[tuple[str, ...]] = [("congestion control", *COLUMNS)]
    rows += [(f"[`{kind}`]({kind}.md)", *cells) for kind, cells in outcomes.items()]
    lines = [
        "# Congestion controls",
        "",
        "`make docs` writes these pages from the code. `bloatlab algorithms NAME` prints the parameters of one.",
        "[Study a congestion control](../study-a-congestion-control.md) shows experiments, and",
        "[Adding a congestion control](../adding-a-congestion-control.md) explains how to write one.",
        "",
        DESCRIPTION,
        "",
        *table(rows),
        "",
    ]
    return "\n".join(lines)


def write() -> Iterator[Page]:
    """Yields each page with its path and the result that its figure shows."""
    outcomes = {}
    for algorithm in described():
        results = {queue: run(algorithm["kind"], queue) for queue in QUEUES}
        outcomes[algorithm["kind"]] = _outcome(results[SHOWN])
        yield PAGES / f"{algorithm['kind']}.md", page(algorithm, results), results[SHOWN]
    yield PAGES / "README.md", index(outcomes), None


if __name__ == "__main__":
    save(write(), figure)
