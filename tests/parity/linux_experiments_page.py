"""Writes docs/linux-experiments.md from `linux_experiments.csv`: `python tests/parity/linux_experiments_page.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import linux_experiments
from bloatlab.parity.aims import Aim
from bloatlab.parity.judge import Cell, Judged, Word

WORDS: tuple[Word, ...] = ("agrees", "chance", "differs", "too few seeds")
PAGE = Path(__file__).parents[2] / "docs" / "linux-experiments.md"
INTRO = """# Two experiments beside Linux

`home-router` and `mmwave-aqm` in set-ups that were also measured with the whole Linux kernel 7.2.12 in virtual time, by a
program that shares nothing with this one. A cell is simulator / Linux, means over the runs, with the ratio in brackets.
*chance*: the means are further apart than the aim, but a permutation test over the runs gives p of at least 0.05. A bold
value differs by more than chance. Two values of `home-router` come from the rows without delay: the largest send buffer, and
the 500 ns that a packet takes on such a link. No other parameter is fitted to a row.

```sh
python tests/parity/linux_experiments.py home-router
python tests/parity/linux_experiments.py rerun           # needs a kernel: `bloatlab kernel build`
python tests/parity/linux_experiments.py mmwave-aqm --traces DIR
make docs
```
"""
HOME_ROUTER = """## home-router

60 s, a ping every 0.1 s (±10 %), pages of 177,669 bytes from the fifth second on. Ours: thirty seeds. Linux: three to ten.
The long flow reads 64 KiB and writes 256 KiB at a time. Send buffers grow up to 4 MB, as pings without any delay tell.
*again*: thirty more runs of the set-up in a Linux 7.2.12 that was built here, by another program (`linux_home_router.c`), with
the ratio of ours to them. Where the references have few seeds, they tell chance from a difference.
*same*: the data of the pages crosses the queue that the long flow fills; *reverse*: only requests and ACKs do. *default*:
buffers of up to 64 KiB, as a kernel sends if nothing is set. *log 0*: `tcp_tso_rtt_log=0`, as before Linux 5.18. *IW*: initial
window. *cached*: connections start with the slow-start threshold of earlier ones.
"""
MMWAVE = """## mmwave-aqm

Ten CUBIC flows over the authors' traces, from 2 s on. Ours: three seeds. Linux: one or three. With offload, Linux counts
dropped buffers and the simulator segments, so drops are compared only without it. The last column is the largest mean over
the flows at one instant.
"""


@dataclass(frozen=True)
class Section:
    """A table of the page.

    Attributes:
        text: What is above it.
        aims: Its metrics.
        heading: Its first columns.
        labels: The entries of the first columns, of a case.
        letter: The letter that explains differences in a case; empty if there is none.
        reasons: The explanations by letter.
    """

    text: str
    aims: Sequence[Aim]
    heading: Sequence[str]
    labels: Callable[[Mapping[str, str]], Sequence[str]]
    letter: Callable[[Mapping[str, str]], str]
    reasons: Mapping[str, str]


def _aim(name: str, title: str, unit: str, relative: float, absolute: float = 0.0) -> Aim:
    return Aim(name, title, unit, relative, absolute, lambda metrics: metrics.get(name))


def _home_router(case: Mapping[str, str]) -> Sequence[str]:
    link = f"{case['rate']} Mbit/s, {case['delay']} ms, {case['topology']}"
    pages = f"{case['pages']}, {case['schedule'].replace('_', ' ')}"
    special = {"initial_window": "IW {}", "cached_ssthresh": "cached", "bulk": "no long flow", "tso_rtt_log": "log 0"}
    usual = {"initial_window": "10", "cached_ssthresh": "0", "bulk": "1", "tso_rtt_log": None}
    words = [text.format(case[key]) for key, text in special.items() if case.get(key) != usual[key]]
    return link, f"{case['maxq']} x {case['buffer']}", pages, ", ".join([case["cca"], *words])


def _home_router_letter(case: Mapping[str, str]) -> str:
    return "a" if case["delay"] == "0" and "tso_rtt_log" in case else ""


SECTIONS = {
    "home-router": Section(
        HOME_ROUTER,
        (
            _aim("ping", "ping, median", "ms", 0.05),
            _aim("srtt", "sRTT, mean", "ms", 0.05),
            _aim("page", "page, median", "ms", 0.05),
            _aim("lost_syns", "lost SYNs per page", "", 0.0),
        ),
        ("link, delay of each", "buffers", "pages", "flows"),
        _home_router,
        _home_router_letter,
        {
            "a": "Without any delay and with *log 0*, a buffer is larger by 64 KiB, halved for each microsecond of the "
            "smallest RTT. The clock of a kernel in virtual time goes on by 256 ns whenever it is read, so this RTT is 1 or "
            "2 us: in two of the three references 2 us (sRTT 469 ms), in the third 1 us (1,254 ms), and in 26 of the thirty "
            "runs *again* 2 us. Ours is 2 us, with 500 ns on each link. With 256 ns it is 1 us, and sRTT is 1,232 ms.",
        },
    ),
    "mmwave-aqm": Section(
        MMWAVE,
        (
            _aim("srtt", "sRTT, median", "ms", 0.05),
            _aim("ping", "ping, median", "ms", 0.05),
            _aim("goodput", "goodput", "Mbit/s", 0.05),
            _aim("drops", "drops", "", 0.15, 3.0),
            _aim("largest", "largest sRTT", "ms", 0.10),
        ),
        ("trace", "queue", "offload", "base RTT, ms"),
        lambda case: (f"{case['trace']}, {case['seconds']} s", case["queue"], case["offload"], case["rtt"]),
        lambda _: "",
        {},
    ),
}


def judged(experiment: str, beside: str = "linux", side: str = "sim") -> dict[str, dict[str, Judged]]:
    """The judgements of an experiment by case and metric: a side of the file beside another one."""
    table = linux_experiments.read()
    aims = {aim.name: aim for aim in SECTIONS[experiment].aims}
    found: dict[str, dict[str, Judged]] = {}
    for (name, case, metric, of), theirs in table.items():
        ours = table.get((name, case, metric, side))
        if (name, of) == (experiment, beside) and ours:
            cell = Cell(linux_experiments.parse(case), [], [])
            found.setdefault(case, {})[metric] = Judged(cell, aims[metric], ours, theirs)
    return found


def only_ours(experiment: str, metric: str) -> list[str]:
    """Cases in which Linux again agrees with the references and the simulator does not."""
    ours, linux = judged(experiment), judged(experiment, side="rerun")
    return [
        case
        for case, found in linux.items()
        if metric in found and found[metric].word == "agrees" and ours[case][metric].word != "agrees"
    ]


def page() -> str:
    """The page as Markdown."""
    return "\n".join([INTRO, *(line for name in SECTIONS for line in _section(name)), ""])


def _section(name: str) -> Iterator[str]:
    section, cases, again = SECTIONS[name], judged(name), judged(name, "rerun")
    comparisons = (
        ("simulator / references", cases), ("simulator / again", again), ("again / references", judged(name, side="rerun")),
    )  # fmt: skip
    yield section.text
    yield _line(["metric", "compared", "aim", *WORDS])
    yield "|---" * (3 + len(WORDS)) + "|"
    for aim in section.aims:
        for compared, judgements in comparisons:
            if judgements:
                count = Counter(found[aim.name].word for found in judgements.values() if aim.name in found)
                limit = aim.text if aim.relative else "equal"
                yield _line([aim.title, compared, limit, *(str(count[word]) for word in WORDS)])
    yield ""
    if again:
        alone = sum(len(only_ours(name, aim.name)) for aim in section.aims if aim.relative)
        yield (
            "*again / references* is Linux beside itself. Set-ups in which it agrees with the references in a median or mean, "
            f"and the simulator does not: {alone}."
        )
        yield ""
    yield from (f"- **{letter}**: {reason}" for letter, reason in section.reasons.items())
    yield ""
    yield _line([*section.heading, *(aim.heading for aim in section.aims)])
    yield "|---" * (len(section.heading) + len(section.aims)) + "|"
    for case, metrics in cases.items():
        parameters = linux_experiments.parse(case)
        more, letter = again.get(case, {}), section.letter(parameters)
        entries = (_entry(metrics.get(aim.name), more.get(aim.name), letter) for aim in section.aims)
        yield _line([*section.labels(parameters), *entries])
    yield ""


def _entry(one: Judged | None, again: Judged | None, letter: str) -> str:
    if one is None:
        return ""
    if one.word == "agrees":
        return _means(one)
    text = f"**{_means(one)}** {letter}".strip() if one.word == "differs" else f"{_means(one)} *{one.word}*"
    if again is not None:
        text += f", again {again.means[1]:.4g}" + _ratio(again)
    if one.word == "differs" and not letter and (again is None or again.word == "differs"):
        raise ValueError(f"{one.cell.parameters}: {one.aim.title} differs, and no explanation is given")
    return text


def _means(one: Judged) -> str:
    ours, theirs = one.means
    return f"{ours:.4g} / {theirs:.4g}" + _ratio(one)


def _ratio(one: Judged) -> str:
    return f" ({one.ratio:.2f})" if one.ratio and one.means[1] else ""


def _line(entries: Sequence[str]) -> str:
    return "| " + " | ".join(entries) + " |"


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
