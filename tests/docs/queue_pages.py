"""A page per queue discipline, made from the code: `python tests/docs/queue_pages.py` writes docs/queues."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from behaviour import BASE_RTT_MS, DESCRIPTION, figure, run
from bloatlab import Result, metrics
from bloatlab._core import algorithms
from bloatlab.figures.saving import on_white

DOCS = Path(__file__).parents[2] / "docs"
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
    """Every queue of the registry that has defaults to run with."""
    return [queue for queue in json.loads(algorithms())["queues"] if queue["kind"] != "python"]


def _value(value: Any) -> str:
    """A default as a user writes it."""
    if value is None:
        return "absent"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """A Markdown table; the first row is the heading."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]


def _parameters(queue: Mapping[str, Any]) -> list[str]:
    if not queue["parameters"]:
        return ["It has none."]
    rows = [("parameter", "type", "default", "allowed", "meaning")]
    for p in queue["parameters"]:
        rows.append((f"`{p['name']}`", p["type"], _value(p["default"]), p["range"] or "", p["description"].strip()))
    return _table(rows)


@cache
def _deviations() -> tuple[tuple[str, str, str, str], ...]:
    """Rows of the queues' table in docs/deviations.md: queue, source, ours, why."""
    text = (DOCS / "deviations.md").read_text(encoding="utf-8")
    section = text.split("## Queues", 1)[1].split("\n## ", 1)[0]
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in section.splitlines() if "|" in line
    ]
    return tuple(row for row in rows[2:] if len(row) == 4)  # type: ignore[misc]


def deviations(kind: str) -> list[str]:
    """What docs/deviations.md says of this queue."""
    mine = [row for row in _deviations() if kind in re.findall(r"`([a-z0-9_]+)`", row[0])]
    return [f"- {source[0].upper() + source[1:]}; here: {ours} ({why})." for _, source, ours, why in mine]


def _outcome(result: Result) -> tuple[str, ...]:
    """What a run came to, by the columns."""
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
    """What the algorithm itself counted."""
    common = {name for scope, name in metrics.definitions() if scope == "link"}
    own = [f"`{name}`" for name in result.link_metrics["bottleneck"] if name not in common]
    return ", ".join(own) or "None besides every link's."


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
        *_parameters(queue),
        "",
        "## Statistics",
        "",
        _statistics(plain),
        "",
        "## Deviations",
        "",
        *(deviations(kind) or ["None known."]),
        "",
        "## In the common scenario",
        "",
        DESCRIPTION,
        "",
        f"![{kind}: delay, throughput, drops and marks over time](images/{kind}.svg)",
        "",
        *_table([("TCP", *COLUMNS), ("without ECN", *_outcome(plain)), ("with ECN", *_outcome(marked))]),
        "",
    ]
    return "\n".join(lines)


def index(outcomes: Mapping[str, tuple[str, ...]]) -> str:
    """The page that names them all."""
    rows = [("queue", *COLUMNS)]
    rows += [(f"[`{kind}`]({kind}.md)", *cells) for kind, cells in outcomes.items()]
    lines = [
        "# Queue disciplines",
        "",
        "Written by `make docs` from the code. `bloatlab algorithms` lists parameters on the command line,",
        "[adding a queue](../adding-a-queue.md) says how to write one, [tc](../tc.md) how Linux's words are read and written.",
        "",
        DESCRIPTION,
        "",
        "Every queue with its defaults, TCP without ECN (shapers at 20 Mbit/s before a link of 1 Gbit/s):",
        "",
        *_table(rows),
        "",
    ]
    return "\n".join(lines)


def write() -> Iterator[tuple[Path, str, Any]]:
    """Every page with its path and its figure."""
    outcomes = {}
    for queue in described():
        plain, marked = run(queue), run(queue, ecn=True)
        outcomes[queue["kind"]] = _outcome(plain)
        yield PAGES / f"{queue['kind']}.md", page(queue, plain, marked), plain
    yield PAGES / "README.md", index(outcomes), None


if __name__ == "__main__":
    (PAGES / "images").mkdir(parents=True, exist_ok=True)
    for path, text, result in write():
        path.write_text(text, encoding="utf-8")
        if result is not None:
            spec = on_white(figure(result).to_dict(validate=False))
            (PAGES / "images" / f"{path.stem}.svg").write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
