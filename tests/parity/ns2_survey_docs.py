"""Writes the tables of `aqm-survey` in the documentation from the runs of `reproduce` and from `ns2_survey.csv`.

    bloatlab reproduce aqm-survey
    python tests/parity/ns2_survey_docs.py results/aqm-survey

A table is found by its heading and replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from bloatlab.experiments import get
from bloatlab.experiments.aqm_survey import ns2
from bloatlab.experiments.aqm_survey.cases import CAPS, OVERSHOOT, RUNS, Point, along, mean, means
from bloatlab.experiments.aqm_survey.claims import ALIKE, FITTED, quotient_text
from bloatlab.experiments.aqm_survey.findings import drop_ratios, in_ns2, score_table
from bloatlab.experiments.aqm_survey.measures import MEASURES, TITLES
from bloatlab.experiments.aqm_survey.published import SFQ_DROP_RATIOS, SLIDE_15
from bloatlab.experiments.aqm_survey.scores import CRITERIA, scores
from bloatlab.experiments.aqm_survey.setup import CCPS, QUEUES, mbps
from bloatlab.experiments.aqm_survey.trends import AQMS, Trend, trends
from bloatlab.experiments.claim import Cases, Verdict
from bloatlab.store import Store, canonical

NAME = "aqm-survey"
DOCS = Path(__file__).parents[2] / "docs"
SOURCE, DEPTH = DOCS / "sources" / "aqm-survey.md", DOCS / "experiments.md"
Row = Sequence[str]
TRENDS: Sequence[tuple[str, str, str, str]] = (
    # Slide, what it says, figure, words that its trends have in common.
    ("7", "DropTail: QLEN grows with BUF at every CAP", "`survey_drop_tail`: one line per BUF, in order", "QLEN grows"),
    ("7", "DropTail: DROP falls with CAP at every BUF", "`survey_drop_tail`", "DROP falls"),
    ("8", "all flows Reno: QLEN grows with BUF at every CAP", "`survey_drop_tail`, column \"all Reno\"", "QLEN grows"),
    ("8", "all flows Reno: DROP falls with CAP at every BUF", "`survey_drop_tail`, column \"all Reno\"", "DROP falls"),
    ("9", "DropTail: FAIR falls with CAP, with each low-priority algorithm", "`survey_capacity`", "FAIR falls"),
    ("10", "CoDel's QLEN changes with CAP in the opposite direction of the others'", "`survey_capacity`", "CoDel: QLEN"),
    ("7 to 14", "DropTail with TCP-LP and TCP-NICE: QLEN grows with BUF", "`survey_buffer`", "QLEN grows"),
    ("7 to 14", "DROP falls with CAP, with each queue and low-priority algorithm", "`survey_capacity`", "DROP falls"),
    ("7 to 14", "TCP% is higher with CoDel than with CHOKe", "`survey_base` and each axis", "TCP% of CoDel"),
    ("13", "DRR is the least fair: FAIR, F_TCP, F_CCP", "`survey_base`", "DRR"),
    ("16", "TCP-LP instead of LEDBAT: TCP% a little higher", "`survey_base`", "TCP%"),
    ("16", "TCP-LP instead of LEDBAT: LEFF lower", "`survey_base`", "LEFF"),
    ("16", "TCP-LP instead of LEDBAT: F_CCP lower", "`survey_base`", "F_CCP"),
    ("17", "SFQ: D_CCP / D_TCP grows from LEDBAT to TCP-NICE to TCP-LP", "`survey_scores`", "SFQ"),
    ("18", "LEFF rises with WLD", "`survey_workload`", "LEFF"),
    ("19", "TCP% and FAIR change with WLD in opposite directions", "`survey_mixtures`, `survey_workload`", "TCP% and FAIR"),
    ("20", "DRR has a higher F_TCP than the other AQMs", "`survey_mixtures`, `survey_base`", "F_TCP"),
)  # fmt: skip
CLAIMS: Mapping[str, str] = {
    "slide 15": "slide 15: LEFF, QLEN, TCP% and DROP within their tolerances",
    "slide 7": "slide 7: DropTail's QLEN grows with BUF at every CAP, DROP falls with CAP at every BUF",
    "slide 8": "slide 8: the same with all flows Reno",
    "slide 9": "slide 9: FAIR falls with CAP (DropTail, each `ccp`)",
    "slide 10": "slide 10: CoDel's QLEN changes with CAP in the opposite direction of the other AQMs'",
    "slides 7 to 14": "slides 7 to 14: QLEN grows with BUF (DropTail), DROP falls with CAP (each queue and `ccp`), TCP% is "
    "higher with CoDel than with CHOKe, SFQ's fairness within a class is at least 99 %",
    "slide 13": "slide 13: DRR is the least fair (FAIR, F_TCP, F_CCP)",
    "slide 16": "slide 16: with TCP-LP, TCP% is higher, LEFF and F_CCP lower (each queue)",
    "slide 17": "slide 17: D_TCP / D_CCP of SFQ, values and order",
    "slide 18": "slide 18: LEFF rises with WLD (each queue)",
    "slide 19": "slide 19: TCP% and FAIR change with WLD in opposite directions (each queue)",
    "slide 20": "slide 20: DRR's F_TCP is the highest of the AQMs",
    "slides 7 to 14: AQM eliminates the impact of BUF": "slides 7 to 14: AQM eliminates the impact of BUF",
    "slides 7 to 14: AQM puts Reno and LEDBAT into the same priority": "slides 7 to 14: AQM puts Reno and LEDBAT into the same "
    "priority: TCP% from about 98 to 52-64 %",
    "slide 14; the value from slide 15": "slide 14: CHOKe and DRR are alike",
    "score table": "score table: 15 ranks, five scores, and SFQ wins alone",
    "ns-2 run again, earlier notes": "earlier runs of ns-2, with the tolerances of slide 15",
    "ns-2 run again": "our runs of ns-2 2.35 at the base point, with LEDBAT and with TCP-LP",
}
"""What claims with a source say."""


def cases_of(directory: Path) -> Cases:
    """The published runs of a store."""
    store, experiment = Store(directory), get(NAME)
    there = store.places(NAME)
    ids = {case: there[canonical(run), experiment.seed_of(case)] for case, run in experiment.published_runs().items()}
    metrics = store.run_metrics(list(ids.values()))
    return {case: metrics[ids[case]] for case in RUNS}


def tables(cases: Cases) -> Iterator[tuple[Path, str]]:
    """Every table in Markdown, and its page."""
    verdicts = get(NAME).verdicts(cases)
    yield SOURCE, table(("slide", "what it says", "figure", "ns-2 2.35", "ours"), _slides(cases))
    yield SOURCE, table(("base point", "", *(TITLES[name] for name in MEASURES)), _base(cases))
    score = score_table(cases)
    yield SOURCE, table(score.columns, score.rows)
    yield DEPTH, table(("Mbit/s", *(f"{mbps(cap):g}" for cap in CAPS)), _overshoot(cases))
    yield DEPTH, table(("claims", "kind", "number", "hold"), _claims(verdicts))
    yield DEPTH, table(("does not hold", "needed", "ns-2 2.35", "ours", "reason"), _missed(verdicts))


def table(columns: Row, rows: Iterable[Row]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _slides(cases: Cases) -> Iterator[Row]:
    here = cache(lambda point: means(cases, point))
    for slide, says, figure, words in TRENDS:
        own = [trend for trend in trends() if trend.slides == slide and words in trend.says]
        yield slide, says, figure, _summary(own, in_ns2), _summary(own, lambda trend: trend.read(here))
    yield from _values(cases, here)


def _summary(own: Sequence[Trend], read: Callable[[Trend], float | None]) -> str:
    values = [read(trend) for trend in own]
    found = [(trend, value) for trend, value in zip(own, values, strict=True) if value is not None]
    if not found:
        return "not run"
    held = sum(trend.holds(value) for trend, value in found)
    numbers = sorted(value for _, value in found)
    ends = f"{numbers[0]:+.2f}" + (f" to {numbers[-1]:+.2f}" if f"{numbers[0]:.2f}" != f"{numbers[-1]:.2f}" else "")
    rest = f"; {len(own) - len(found)} not run" if len(found) < len(own) else ""
    return f"{held} of {len(found)} hold ({ends}){rest}"


def _values(cases: Cases, here: Callable[[Point], Mapping[str, float]]) -> Iterator[Row]:
    """The claims of slides that are values."""
    controlled = ("red", "choke", "codel")
    sides = (ns2.metrics, here)
    ratios = [[of(Point(queue))["qlen"] / of(Point(queue, buf=100))["qlen"] for queue in controlled] for of in sides]
    said = [f"QLEN with BUF 400 over 100: {min(found):.2f} to {max(found):.2f}" for found in ratios]
    yield "7 to 14", "AQM eliminates the impact of BUF (RED, CHOKe, CoDel)", "`survey_buffer`", *said
    shares = [[of(Point(queue))["tcp_share"] for queue in QUEUES] for of in sides]
    said = [f"{found[0]:.1f} and {min(found[1:]):.1f} to {max(found[1:]):.1f} %" for found in shares]
    yield "7 to 14", "AQM puts both classes into the same priority: TCP% from 98 to 52-64 %", "`survey_base`", *said
    said = [f"{of(Point('sfq'))['fair_tcp']:.2f} and {of(Point('sfq'))['fair_ccp']:.2f} %" for of in sides]
    yield "7 to 14", "SFQ is fair within the classes: F_TCP and F_CCP at least 99 %", "`survey_base`", *said
    ratio = {row[0]: row for row in drop_ratios(cases).rows[:2]}
    said = [f"{ratio['CHOKe'][place]} and {ratio['DRR'][place]}" for place in (3, 4)]
    yield "14", "CHOKe and DRR are alike: D_TCP / D_CCP is 1.88 and 2.22", "`survey_scores`", *said
    values = ", ".join(f"{value:g} ({CCPS[ccp]})" for ccp, value in SFQ_DROP_RATIOS.items())
    sfq = [row for row in drop_ratios(cases).rows if row[0] == QUEUES["sfq"]]
    yield (
        "17",
        f"SFQ's D_TCP / D_CCP is {values}",
        "`survey_scores`",
        *(", ".join(row[place] for row in sfq) for place in (3, 4)),
    )


def _base(cases: Cases) -> Iterator[Row]:
    for queue, called in QUEUES.items():
        yield called, "slide 15", *_numbers(SLIDE_15[queue])
        for ccp in ("ledbat", "lp"):
            point = Point(queue, ccp)
            yield called, f"ns-2 2.35, {CCPS[ccp]}", *_numbers(ns2.metrics(point))
            yield called, f"ours, {CCPS[ccp]}", *_numbers({name: mean(cases, point, name) for name in MEASURES})


def _numbers(values: Mapping[str, float]) -> Row:
    return [f"{values[name]:.2f}" for name in MEASURES]


def _overshoot(cases: Cases) -> Iterator[Row]:
    for name, called in (("drop", "DROP, ns-2 2.35 / ours (%)"), ("qlen", "QLEN, ns-2 2.35 / ours")):
        pairs = [(ns2.metrics(point)[name], mean(cases, point, name)) for point in along(OVERSHOOT, "cap")]
        yield called, *(f"{there:.3g} / {here:.3g}" for there, here in pairs)


def _claims(verdicts: Sequence[Verdict]) -> Iterator[Row]:
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in (one for one in verdicts if one.holds is not None):
        source = next(
            source for source in sorted(CLAIMS, key=len, reverse=True) if verdict.claim.source.startswith(source)
        )
        kind = f"{verdict.claim.kind}, fitted" if verdict.claim.name in FITTED else verdict.claim.kind
        found.setdefault((source, kind), []).append(verdict)
    for source, says in CLAIMS.items():
        for (of, kind), own in found.items():
            if of == source:
                yield says, kind, str(len(own)), str(sum(one.holds is True for one in own))


def _missed(verdicts: Sequence[Verdict]) -> Iterator[Row]:
    again = _again()
    failed = [verdict for verdict in verdicts if verdict.holds is False]
    for note, group in groupby(failed, lambda verdict: verdict.claim.note):
        own = list(group)
        names = [verdict.claim.name for verdict in own]
        needed = ", ".join(dict.fromkeys(verdict.claim.published_text for verdict in own))
        there = ", ".join(dict.fromkeys(again.get(name, needed) for name in names))
        measured = ", ".join("none" if one.measured is None else f"{one.measured:.3g}" for one in own)
        yield "; ".join(names), needed, there, measured, note


def _again() -> Mapping[str, str]:
    """Values of ns-2 by claim; a claim about a value of ns-2 needs none besides."""
    found = {}
    for trend in trends():
        value = in_ns2(trend)
        found[trend.says] = "not run" if value is None else f"{value:.3g}"
    for queue, score in scores({queue: ns2.metrics(Point(queue)) for queue in AQMS}).items():
        found[f"{QUEUES[queue]}: score"] = str(score.total)
        found |= {
            f"{QUEUES[queue]}: rank by {criterion}": str(rank)
            for rank, criterion in zip(score.ranks, CRITERIA, strict=True)
        }
    for ccp, called in CCPS.items():
        has = ccp != "nice"
        found[f"SFQ: D_TCP / D_CCP with {called}"] = quotient_text(ns2.metrics(Point("sfq", ccp))) if has else "not run"
    drr, choke = (ns2.metrics(Point(queue)) for queue in ("drr", "choke"))
    found[ALIKE] = f"{drr['drop_tcp'] / drr['drop_ccp'] / (choke['drop_tcp'] / choke['drop_ccp']):.3g}"
    return found


def written(page: str, found: str) -> str:
    """The page with this table in place of the one with its heading."""
    heading = found.partition("\n")[0] + "\n"
    before, there, after = page.partition(heading)
    if not there:
        raise ValueError(f"no table with the heading {heading}")
    rest = after.partition("\n\n")[2]
    return f"{before}{found}\n{rest}"


def main(directory: Path) -> None:
    """Writes the tables."""
    for path, found in list(tables(cases_of(directory))):
        path.write_text(written(path.read_text(), found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
