"""The contents of the page, read from a store. The template only arranges them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.experiments.claim import counted
from bloatlab.experiments.headings import headings
from bloatlab.report import metric_tables, text, verdict
from bloatlab.report.metric_tables import Cell, MetricTable, unit_of
from bloatlab.report.verdict import Verdict
from bloatlab.store.text import readable

if TYPE_CHECKING:
    from bloatlab.experiments import Experiment
    from bloatlab.experiments.finding import Finding
    from bloatlab.figures.sweep import Sweep
    from bloatlab.judges import Verdict as Scores
    from bloatlab.report.answers import Answer
    from bloatlab.report.drawing import Picture


TALL = 700
"""Height of a figure from which it does not fit on a sheet below an answer, pixels."""


PAPER = 105
"""Letters that the columns of a table have side by side on a sheet of paper."""


@dataclass
class Drawn:
    """A figure on the page: one picture, or a picture for wide screens and one for phones."""

    name: str
    title: str
    caption: str
    half: bool
    pictures: list[Picture]

    @property
    def tall(self) -> bool:
        """Whether it takes more than half of a sheet of paper."""
        return self.pictures[0].height > TALL


@dataclass
class PlainTable:
    """A table of text: headings, rows, and whether a click on a heading sorts it."""

    columns: list[str]
    rows: list[list[Cell]]
    label: str
    sortable: bool = False
    note: str = ""

    @property
    def wide_on_paper(self) -> bool:
        """Whether a sheet of paper has no room for its columns, whose cells break between words."""
        texts = [[column, *(row[place].text for row in self.rows)] for place, column in enumerate(self.columns)]
        return sum(max(len(word) for text in column for word in text.split() or [""]) for column in texts) > PAPER


@dataclass
class RunView:
    """One run in detail."""

    run_id: str
    anchor: str
    heading: str
    why: str
    lab: str
    """Link that opens it in the lab; empty: none."""
    verdict: Verdict
    scores: Scores
    tables: list[PlainTable] = field(default_factory=list)
    metrics: list[MetricTable] = field(default_factory=list)
    figures: list[Drawn] = field(default_factory=list)


@dataclass
class ClaimRow:
    """A published value beside ours."""

    name: str
    kind: str
    unit: str
    published: str
    measured: str
    difference: str
    tolerance: str
    holds: bool | None
    source: str
    remark: str
    """The source without the source of the experiment, which is shown above the table."""


@dataclass
class FindingView:
    """A statement computed from our runs, with the published conclusion if there is one."""

    title: str
    published: str
    ours: str
    table: PlainTable | None


@dataclass
class SideBySide:
    """What several engines measured in the same set-ups.

    Attributes:
        sentence: Which engines, and in how many set-ups.
        ratios: How far apart the engines are, over all set-ups.
        values: The means of each set-up.
        figures: Time series of some set-ups, each with the words that tell its set-up.
    """

    sentence: str
    ratios: PlainTable
    values: PlainTable
    figures: Sequence[tuple[str, Drawn]]


@dataclass
class ExperimentView:
    """All runs of one experiment."""

    name: str
    anchor: str
    title: str
    summary: str
    source: str
    engines: str
    """Sentences about engines other than the simulator, and about how well they kept time; empty: there are none."""
    side_by_side: SideBySide | None
    """What several engines measured in the same set-ups; `None` if there are none."""
    verdict: Verdict
    answer: Answer
    commands: list[str]
    lab: str
    """Link that opens the only run in the lab; empty: none, or there are several runs."""
    lab_note: str
    """How runs without a link are opened in the lab, or why the lab cannot open them."""
    parameters: PlainTable
    claims: list[ClaimRow]
    fitted: str
    """Which inputs were fitted to the published values; empty: none."""
    ranking: RankingView | None
    remarks: list[FindingView]
    points: PlainTable | None
    runs: PlainTable | None
    not_measured: PlainTable | None
    figures: list[Drawn]
    details: list[RunView]
    files: PlainTable | None
    findings: list[FindingView]
    answers: list[FindingView]
    facts: list[tuple[str, str]]

    @property
    def main_figure(self) -> Drawn | None:
        """The figure of the first screen: the first over all runs, otherwise the first of the run in detail."""
        return next(
            (figure for drawn in (self.figures, *(run.figures for run in self.details)) for figure in drawn), None
        )

    @property
    def claim_sources(self) -> bool:
        """Whether claims have different sources, so that the table shows them."""
        return len({claim.source.split("; ")[0] for claim in self.claims}) > 1

    @property
    def claim_notes(self) -> list[tuple[list[str], str]]:
        """Notes on claims, such as causes, each with the names of its claims; empty if the table has a column for them."""
        found: dict[str, list[str]] = {}
        for claim in () if self.claim_sources else self.claims:
            if claim.remark:
                found.setdefault(claim.remark, []).append(claim.name)
        return [(names, remark) for remark, names in found.items()]

    @property
    def claims_sentence(self) -> str:
        """How many claims hold, by what they rest on. Empty if none was judged."""
        said = counted((claim.kind, claim.holds) for claim in self.claims if claim.holds is not None)
        return f"{said}." if said else ""


def findings(found: Sequence[Finding]) -> list[FindingView]:
    """Findings with their tables."""
    return [
        FindingView(
            finding.title,
            finding.published,
            finding.ours,
            _of_finding(finding) if finding.rows else None,
        )
        for finding in found
    ]


def _of_finding(finding: Finding) -> PlainTable:
    """The table of a finding.

    On a phone, each row is a card whose title is the first column. So columns at the left with one value in all rows are
    left out, and the note says the value.
    """
    first = 0
    while first < len(finding.columns) - 1 and len(finding.rows) > 1 and len({row[first] for row in finding.rows}) == 1:
        first += 1
    same = [
        f"In all rows, the {name} is {value}."
        for name, value in zip(finding.columns[:first], finding.rows[0][:first], strict=True)
    ]
    return PlainTable(
        list(finding.columns[first:]),
        [[Cell(text.separated(value)) for value in row[first:]] for row in finding.rows],
        finding.title,
        note=" ".join(filter(None, [finding.note, *same])),
    )


def parameters(rows: pl.DataFrame, swept: Sweep, experiment: Experiment | None) -> PlainTable:
    """Every parameter with its value, or its values if it varies.

    Args:
        rows: `run_id`, `name`, `value` of these runs.
        swept: The same runs as a sweep.
        experiment: The experiment, which explains its parameters. None for a user's own scenario.
    """
    known = {parameter.name: parameter for parameter in experiment.parameters} if experiment else {}
    values: dict[str, list[str]] = {}
    for name, value in rows.select("name", "value").unique(maintain_order=True).iter_rows():
        values.setdefault(name, []).append("default" if value == "null" else readable(value))
    table = []
    for name in sorted(values, key=lambda name: (list(known).index(name) if name in known else len(known), name)):
        # A parameter without a value is left to the experiment.
        shown = ["default" if value == "null" else value for value in swept.parameters.get(name, values[name])]
        listed = ", ".join(shown[:12]) + (f", ... ({len(shown)} values)" if len(shown) > 12 else "")
        row = [Cell(name), Cell(listed)]
        if known:
            parameter = known.get(name)
            published = parameter.published if parameter else None
            row += [
                Cell(parameter.help if parameter else ""),
                Cell("" if published is None else readable(json.dumps(published, default=str))),
            ]
        table.append(row)
    columns = ["parameter", "value", *(["meaning", "published"] if known else [])]
    seeds = sorted(swept.frame["seed"].drop_nulls().unique().to_list())
    some = ", ".join(str(seed) for seed in seeds[:12]) + (f", ... ({len(seeds)} seeds)" if len(seeds) > 12 else "")
    filler = [Cell("random streams of the run"), Cell("")] if known else []
    table.append([Cell("seed"), Cell(some), *filler])
    return PlainTable(columns, table, "Parameters")


def claims(rows: pl.DataFrame, source: str) -> list[ClaimRow]:
    """Published values beside ours.

    Args:
        rows: Rows of `claims` of the store.
        source: Source of the experiment, which is not repeated.
    """
    found = []
    for row in rows.iter_rows(named=True):
        published, measured, tolerance = row["published"], row["measured"], row["tolerance"]
        apart = None if measured is None else measured - published
        if apart is None:
            difference = text.NONE
        elif published and not (row["bound"] and not tolerance) and row["unit"] != "points":
            difference = f"{100 * apart / abs(published):+.2f} %"
        else:
            difference = f"{apart:+.4g}"
        allowed = ""
        if tolerance is not None:
            share = f" ({100 * tolerance / abs(published):.2g} %)" if published else ""
            allowed = f"± {tolerance:.3g}{share}" if tolerance else "exact"
        bound = row["bound"]
        if bound:
            allowed = f"{tolerance:.3g}" if tolerance else "none"
        found.append(
            ClaimRow(
                row["name"], row["kind"], row["unit"], f"{bound} {published:,.10g}".lstrip(), text.number(measured), difference,
                allowed, None if row["holds"] is None else bool(row["holds"]), row["source"],
                row["source"].removeprefix(source).lstrip(";: "),
            )
        )  # fmt: skip
    return found


@dataclass
class RankingView:
    """Tables of a ranking: the Pareto front, scores, values, and definitions of the criteria."""

    front: PlainTable | None
    """Delay, throughput and fairness of every contender; `None` if the criteria have no delay or no throughput."""
    scores: PlainTable
    values: PlainTable
    criteria: PlainTable


RUN_COLUMNS = {
    "throughput_mbps": ("throughput (Mbit/s)", "higher"),
    "utilization_percent": ("bottleneck utilization (%)", "higher"),
    "srtt_ms": ("mean sRTT (ms)", "lower"),
    "delay_ms": ("queueing delay (ms)", "lower"),
    "delay_p95_ms": ("queueing delay p95 (ms)", "lower"),
    "ping_p95_ms": ("ping RTT p95 (ms)", "lower"),
    "retransmissions": ("retransmissions", "lower"),
}
TERMS = {
    "srtt_ms": "sRTT: the RTT that the sender smooths (RFC 6298), mean over the TCP flows through the bottleneck "
    "without clients that fetch pages.",
    "delay_ms": "Queueing delay: the time in the queue of the bottleneck, mean over its packets. The bottleneck is the slowest "
    "link that data crosses.",
    "delay_p95_ms": "p95: 95 % of the packets wait at most that long.",
    "ping_p95_ms": "Ping RTT p95: 95 % of the replies of the slowest ping took at most that long.",
}
"""What the headings of `RUN_COLUMNS` mean, said below the table."""
MOST_RUNS = 200
MOST_FILES = 200


Columns = Mapping[str, tuple[str, str]]
"""Columns of numbers, each with its heading and whether higher or lower is better."""


def columns_of(
    frame: pl.DataFrame, measures: Mapping[str, str], experiment: Experiment | None = None, *, ranked: bool = False
) -> Columns:
    """Columns for the results of runs: the metrics of their experiment if it has any, otherwise the usual metrics.

    Args:
        frame: The runs.
        measures: The metrics of their experiment, and their units.
        experiment: The experiment, which names its metrics.
        ranked: Whether the experiment ranks its runs by other metrics. Then there are both kinds of columns.
    """
    own = {name: (heading, "none") for name, heading in headings(experiment, measures).items()}
    shown = {**RUN_COLUMNS, **own} if ranked else own or RUN_COLUMNS
    return {name: how for name, how in shown.items() if frame[name].null_count() < frame.height}


def runs_table(swept: Sweep, of: Columns, queues: dict[str, float], anchors: dict[str, str]) -> PlainTable:
    """A table with one row per run: its varied parameters and its results, with the best of each column marked.

    Args:
        swept: The runs.
        of: Columns for the results.
        queues: Standing queue of each run, ms.
        anchors: Anchors of the runs that the page shows in detail.
    """
    frame = swept.frame
    shown = frame.head(MOST_RUNS)
    names = list(swept.parameters)
    places = {axis.name: dict(zip(axis.values, axis.numbers, strict=False)) for axis in swept.axes}
    seeds = frame["seed"].n_unique() > 1
    columns = ["run", *map(phrases.heading, names), *(["seed"] if seeds else [])]
    rows = [
        [
            Cell(str(row["run_id"])[:10], link=anchors.get(row["run_id"], "")),
            *(
                Cell(
                    phrases.cell(name, swept.value(row, name)),
                    places.get(name, {}).get(row[name], swept.value(row, name)),
                )
                for name in names
            ),
            *([Cell(str(row["seed"]), row["seed"])] if seeds else []),
        ]
        for row in shown.iter_rows(named=True)
    ]
    for column, (title, better) in of.items():
        columns.append(title)
        # The best is that of all runs, including those that the table leaves out.
        values = frame[column].to_list()
        cells = metric_tables.best(values, better, text.numbers(values, unit_of(title)), shown.height)
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    if queues:
        columns.append("grade")
        for row, run_id in zip(rows, shown["run_id"].to_list(), strict=True):
            row.append(Cell(verdict.grade(queues.get(run_id)), queues.get(run_id)))
    left = frame.height - shown.height
    notes = [f"{left:,} more runs are not shown; `bloatlab export DIR --csv` writes all."] if left else []
    notes += [TERMS[name] for name in of if name in TERMS] + ([verdict.MEANING] if queues else [])
    return PlainTable(columns, rows, "Runs", sortable=True, note=" ".join(notes))
