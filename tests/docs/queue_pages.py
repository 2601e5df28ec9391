"""Writes docs/queues, a page per queue discipline: `python tests/docs/queue_pages.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from bloatlab import Result, metrics
from bloatlab._core import algorithms
from page_parts import DOCS, Page, deviations, parameters, save, table
from queue_behaviour import BASE_RTT_MS, DESCRIPTION, figure, run

PAGES = DOCS / "queues"
COLUMNS = (
    "bulk: sojourn, mean (ms)",
    "bulk: sojourn, p95 (ms)",
    "bulk (Mbit/s)",
    "call: queueing, p99 (ms)",
    "call: loss (%)",
    "ping: queueing, p95 (ms)",
    "drops",
    "marks",
)


@cache
def described() -> list[dict[str, Any]]:
    """Every queue of the registry that runs with its defaults."""
    return [queue for queue in json.loads(algorithms())["queues"] if queue["kind"] != "python"]


def _outcome(result: Result) -> tuple[str, ...]:
    """The results of a run, one value per column."""
    link = result.link_metrics["bottleneck"]
    bulk, call, ping = result.flow_metrics["bulk"], result.flow_metrics["call"], result.probe_metrics["ping"]
    return (
        f"{bulk['mean_sojourn_l4']:.1f}",
        f"{bulk['p95_sojourn_l4']:.1f}",
        f"{bulk['mean_throughput_l4']:.2f}",
        f"{max(0.0, call['p99_one_way_delay_l4'] - BASE_RTT_MS / 2):.1f}",
        f"{100 * call['loss_rate_l4']:.2f}",
        f"{max(0.0, ping['p95_rtt'] - BASE_RTT_MS):.1f}",
        f"{link['drops']:.0f}",
        f"{link['marks']:.0f}",
    )


def _statistics(result: Result) -> str:
    """Names of the metrics that only this algorithm has."""
    common = {name for scope, name in metrics.definitions() if scope == "link"}
    own = [f"`{name}`" for name in result.link_metrics["bottleneck"] if name not in common]
    return ", ".join(own) or "Only those that every link has."


def page(queue: Mapping[str, Any], plain: Result, marked: Result) -> str:
    """One queue's page, in Markdown."""
    kind = queue["kind"]
    others = ", ".join(f"`{name}`" for name in queue["aliases"])
    lines = [
        f"# `{kind}`",
        "",
        queue["summary"].strip() + (f" Also written {others}." if others else ""),
        "",
        *([queue["details"], ""] if queue["details"] else []),
        f"Source: {queue['source']}.",
        "",
        "## Parameters",
        "",
        *parameters(queue),
        "",
        "## Statistics",
        "",
        _statistics(plain),
        "",
        "## Deviations",
        "",
        *(deviations("Queues", kind) or ["None known."]),
        "",
        "## In the common scenario",
        "",
        DESCRIPTION,
        "",
        f"![{kind}: delay, throughput, drops and marks over time](images/{kind}.svg)",
        "",
        *table([("TCP", *COLUMNS), ("without ECN", *_outcome(plain)), ("with ECN", *_outcome(marked))]),
        "",
    ]
    return "\n".join(lines)


def index(outcomes: Mapping[str, tuple[str, ...]]) -> str:
    """The page that lists all queues."""
    rows: list[tuple[str, ...]] = [("queue", *COLUMNS)]
    rows += [(f"[`{kind}`]({kind}.md)", *cells) for kind, cells in outcomes.items()]
    lines = [
        "# Queue disciplines",
        "",
        "`make docs` writes these pages from the code. `bloatlab algorithms NAME` prints the parameters of a queue.",
        "[Choose a queue](../choose-a-queue.md) compares queues on your link, [Linux tc](../tc.md) explains how `tc`",
        "commands are read and written, and [Adding a queue](../adding-a-queue.md) how to write a queue.",
        "",
        DESCRIPTION,
        "",
        "Every queue with its defaults, TCP without ECN. Shapers send at 20 Mbit/s into a link of 1 Gbit/s.",
        "",
        *table(rows),
        "",
    ]
    return "\n".join(lines)


def write() -> Iterator[Page]:
    """Yields each page with its path and the result that its figure shows."""
    outcomes = {}
    for queue in described():
        plain, marked = run(queue), run(queue, ecn=True)
        outcomes[queue["kind"]] = _outcome(plain)
        yield PAGES / f"{queue['kind']}.md", page(queue, plain, marked), plain
    yield PAGES / "README.md", index(outcomes), None


if __name__ == "__main__":
    save(write(), figure)
