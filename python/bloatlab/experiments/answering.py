"""Answers to the question of an experiment: runs in groups, and sentences with their numbers.

A group is all runs with the same values of the compared parameters. A point is one combination of values of the other
parameters. The value of a group is the mean over the points of the mean over the replications, and only points where
every group has runs count, so that no group is judged by easier conditions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean, pvariance
from typing import Any

from bloatlab.experiments import phrases
from bloatlab.experiments.criteria import Metrics

Read = Callable[[Metrics], float | None]
WAIT = ("shortest", "longest")
"""What the extremes of a delay are called."""
FULL = 0.95
"""Share of the highest value from which a throughput counts as kept."""


@dataclass(frozen=True)
class Run:
    """A finished run: its parameters, and its metrics in the form of `--json`."""

    parameters: Mapping[str, Any]
    metrics: Metrics


@dataclass(frozen=True)
class Quantity:
    """A number of a run, and its words in a sentence."""

    name: str
    read: Read
    write: Callable[[float], str] = phrases.ms
    words: tuple[str, str] = ("lowest", "highest")
    """What the smallest and the largest value are called."""
    short: str = ""
    """What later sentences call it. Empty: as the first."""

    @property
    def again(self) -> str:
        """Its name in a later sentence."""
        return self.short or self.name


@dataclass(frozen=True)
class Group:
    """Runs with the same values of the compared parameters."""

    label: str
    points: tuple[tuple[Run, ...], ...]
    """The runs of each point."""
    lead: str = ""
    """The conditions behind its values, such as `Averaged over 3 rates`. Empty: those of all runs."""

    def mean(self, read: Read) -> float | None:
        """Mean over the points of the mean over the replications."""
        found = []
        for runs in self.points:
            values = [number for run in runs if (number := read(run.metrics)) is not None]
            if values:
                found.append(fmean(values))
        return fmean(found) if found else None


class Runs(Sequence[Run]):
    """Runs of one experiment."""

    def __init__(self, runs: Sequence[Run], derived: Sequence[str] = ()) -> None:
        """Finds the parameters that vary.

        Args:
            runs: The runs.
            derived: Parameters whose defaults follow from others. They count only where the others do not tell runs apart.
        """
        self._runs = list(runs)
        self._derived = derived
        self._keys = [{name: _key(value) for name, value in run.parameters.items()} for run in self._runs]
        names = list(dict.fromkeys(name for key in self._keys for name in key))
        self.varying = [name for name in names if len({key.get(name) for key in self._keys}) > 1]
        for name in [name for name in self.varying if name in derived]:
            fewer = [other for other in self.varying if other != name]
            if len(set(self._of(fewer))) == len(set(self._of(self.varying))):
                self.varying = fewer

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __getitem__(self, place: Any) -> Any:
        return self._runs[place]

    def _of(self, names: Sequence[str]) -> list[tuple[str | None, ...]]:
        return [tuple(key.get(name) for name in names) for key in self._keys]

    def values(self, name: str) -> list[Any]:
        """The values of a parameter, each once, in the order of the runs."""
        found = {key.get(name): run.parameters.get(name) for key, run in zip(self._keys, self._runs, strict=True)}
        return list(found.values())

    def where(self, name: str, value: Any) -> Runs:
        """The runs with this value of a parameter."""
        return self.among(name, [value])

    def among(self, name: str, values: Sequence[Any]) -> Runs:
        """The runs with one of these values of a parameter."""
        wanted = {_key(value) for value in values}
        chosen = [run for key, run in zip(self._keys, self._runs, strict=True) if key.get(name) in wanted]
        return Runs(chosen, self._derived)

    def by(self, *names: str) -> list[Group]:
        """Groups by these parameters as far as they vary, else by the first of them; without names by all that vary.

        If no point has runs of every group, the points with the most groups count, and other groups are left out.
        """
        named = [name for name in names if name in self.varying] or list(names[:1] or self.varying)
        rest = [name for name in self.varying if name not in named]
        found: dict[tuple[str | None, ...], dict[tuple[str | None, ...], list[Run]]] = {}
        for at, point, run in zip(self._of(named), self._of(rest), self._runs, strict=True):
            found.setdefault(at, {}).setdefault(point, []).append(run)
        held = Counter(point for points in found.values() for point in points)
        most = max(held.values(), default=0)
        chosen = [point for point, count in held.items() if count == most]
        groups = {at: [points[point] for point in chosen] for at, points in found.items() if set(chosen) <= set(points)}
        if not groups:
            # Points with equally many groups, but not the same ones: the first of them.
            chosen = chosen[:1]
            groups = {at: [points[chosen[0]]] for at, points in found.items() if chosen[0] in points}
        words = phrases.short(self.varying)
        if len(chosen) > 1:
            lead = f"Averaged over {phrases.counted(words[rest[0]], len(chosen)) if len(rest) == 1 else f'{len(chosen)} set-ups'}"
        else:
            given = next(iter(groups.values()))[0][0].parameters if len(held) > 1 else {}
            fixed = [name for name in rest if phrases.has_words(words[name]) and given.get(name) is not None]
            lead = f"At {', '.join(phrases.said(words[name], given[name]) for name in fixed)}" if fixed else ""
        return [
            Group(_label(named, points[0][0]), tuple(tuple(runs) for runs in points), lead)
            for points in groups.values()
        ]

    def described(self, names: Collection[str] | None = None) -> str:
        """A sentence that says what was run: the number of values of each varying parameter, and of seeds.

        Args:
            names: The parameters that are counted; absent: all that vary.
        """
        points = len(set(self._of(self.varying)))
        counted = self.varying if names is None else [name for name in self.varying if name in names]
        words = phrases.short(counted)
        parts = [phrases.counted(words[name], len(self.values(name))) for name in counted]
        fewest, odd = divmod(len(self), points or 1)
        if len(self) > 1:
            parts.append("several seeds each" if odd else "one seed each" if fewest == 1 else f"{fewest} seeds each")
        return f"From {phrases.plural(len(self), 'run')}" + (f": {', '.join(parts)}." if parts else ".")


_ENCODER = json.JSONEncoder(sort_keys=True, default=str)
"""`json.dumps` with these options makes an encoder at each call."""


def _key(value: Any) -> str:
    return _ENCODER.encode(value)


def _label(names: Sequence[str], run: Run) -> str:
    return phrases.together({word: run.parameters.get(name) for name, word in phrases.short(names).items()})


def extremes(groups: Sequence[Group], quantity: Quantity) -> tuple[list[Group], list[Group]]:
    """The groups with the smallest and with the largest value. Values that agree to three digits count as equal."""
    found = [(value, group) for group in groups if (value := group.mean(quantity.read)) is not None]
    if not found:
        return [], []
    bounds = (min(value for value, _ in found), max(value for value, _ in found))
    low, high = ([group for value, group in found if _same(value, at)] for at in bounds)
    return low, high


def _same(one: float, other: float) -> bool:
    return f"{one:.3g}" == f"{other:.3g}"


def _lead(groups: Sequence[Group], at: str) -> str:
    """The first words of a sentence: the conditions, and an article."""
    lead = " ".join(filter(None, [next((group.lead for group in groups if group.lead), ""), at]))
    return f"{lead[:1].upper()}{lead[1:]}, the" if lead else "The"


def contrast(groups: Sequence[Group], quantity: Quantity, *beside: Quantity, at: str = "") -> list[str]:
    """Where a number is smallest and largest, and what other numbers are there.

    Args:
        groups: The groups. Groups without a value are left out.
        quantity: The number that is compared.
        beside: Other numbers of the two groups.
        at: Conditions of all groups, such as `with fifo`.
    """
    low, high = extremes(groups, quantity)
    if not low:
        return []
    the = _lead(groups, at)
    if len(groups) == 1:
        return _one(groups[0], the, [quantity, *beside])
    if _labels(low) == _labels(high) and len(low) > 2:
        same = f"{the} {quantity.name} is {_written(low[0], quantity)} with each of them."
        return [same, *(line for of in beside for line in contrast(groups, of))]
    if _labels(low) == _labels(high):
        return [
            f"{the} {quantity.name} is {_written(low[0], quantity)} with {_labels(low)}.",
            *(line for of in beside for line in contrast(groups, of)),
        ]
    if _near(groups, quantity):
        span = " to ".join(f"{_written(at[0], quantity)} with {_labels(at)}" for at in (low, high))
        return [f"{the} {quantity.name} hardly differs: from {span}.", *_beside(low, high, beside)]
    ends = ((quantity.words[0], low), (quantity.words[1], high))
    told = [f"{word} with {_labels(at)} ({_written(at[0], quantity)})" for word, at in ends]
    if len(groups) == 2:
        # Of two, one is shorter, not shortest.
        compared = f"{told[0].replace('est ', 'er ', 1)} than {told[1].partition(' ')[2]}"
        return [f"{the} {quantity.name} is {compared}.", *_beside(low, high, beside)]
    return [f"{the} {quantity.name} is {' and '.join(told)}.", *_beside(low, high, beside)]


def _one(group: Group, the: str, quantities: Sequence[Quantity]) -> list[str]:
    """The numbers of a single group, two in a sentence."""
    clauses = [f"the {of.name} is {_written(group, of)}" for of in quantities if group.mean(of.read) is not None]
    first, *more = [" and ".join(clauses[place : place + 2]) for place in range(0, len(clauses), 2)]
    lead = the.removesuffix("the").removesuffix("The")
    if group.label:
        lead += f"{'with' if lead else 'With'} {group.label}, "
    return [f"{lead}{first}." if lead else f"T{first[1:]}.", *(f"T{clause[1:]}." for clause in more)]


def _near(groups: Sequence[Group], quantity: Quantity) -> bool:
    """Whether the values of all groups are within 5 % of each other."""
    found = [value for group in groups if (value := group.mean(quantity.read)) is not None]
    return min(found) >= FULL * max(found)


def _beside(low: Sequence[Group], high: Sequence[Group], beside: Sequence[Quantity]) -> list[str]:
    found = []
    for of in beside:
        ends = [(at[0].label, _written(at[0], of)) for at in (low, high) if at[0].mean(of.read) is not None]
        if ends:
            told = " and ".join(f"{text} with {label}" for label, text in ends)
            if len(ends) > 1 and ends[0][1] == ends[1][1]:
                told = f"{ends[0][1]} with both"
            found.append(f"The {of.name} is {told}.")
    return found


def weighed(
    groups: Sequence[Group], delay: Quantity, rate: Quantity, *beside: Quantity, bulk: Quantity | None = None
) -> list[str]:
    """Where a delay is shortest and longest, and what that costs in throughput and in the delay of other flows.

    Args:
        groups: The groups.
        delay: The number that should be small.
        rate: The number that should be large.
        beside: Other numbers of the groups with the shortest and the longest delay.
        bulk: Delay of the flows that fill the queue, if `delay` is of a sparse flow. A queue per flow protects a sparse
            flow even where the others wait long, so its delay alone would praise a queue that cures nothing.
    """
    if len(groups) <= 2:
        return contrast(groups, delay, *([bulk] if bulk else []), *beside, rate)
    cost = kept(groups, delay, rate) or contrast(groups, rate)
    others = _of_bulk(groups, delay, rate, bulk) if bulk else []
    return said_once(groups, [*contrast(groups, delay, *beside), *cost, *others])


def _of_bulk(groups: Sequence[Group], delay: Quantity, rate: Quantity, bulk: Quantity) -> list[str]:
    """How long bulk flows wait in the groups that are praised for another delay, and which groups beat these in both."""
    low, high = extremes(groups, bulk)
    if not low or _labels(low) == _labels(high) or _near(groups, bulk):
        return contrast(groups, bulk)
    quick, _ = extremes(groups, delay)
    keeper = _keeper(groups, delay, rate)
    praised = list({group.label: group for group in [*quick[:2], *([keeper] if keeper else [])]}.values())
    known = [group for group in praised if group.mean(bulk.read) is not None]
    if not known:
        return contrast(groups, bulk)
    told = " and ".join(filter(None, [", ".join(_with(group, bulk) for group in known[:-1]), _with(known[-1], bulk)]))
    ends = [
        f"{word} with {_labels(at)} ({_written(at[0], bulk)})"
        for word, at in zip(bulk.words, (low, high), strict=True)
        if not {group.label for group in known} & {group.label for group in at}
    ]
    found = [f"The {bulk.name} is {', '.join([told, ' and '.join(ends)] if ends else [told])}."]
    beaten = ((better, group) for group in known if (better := _beating(groups, group, bulk, rate)))
    return found + [
        f"With {better.label}, both this delay ({_written(better, bulk)}) and the {rate.again} "
        f"({_written(better, rate)}) are better than with {group.label}."
        for better, group in islice(beaten, 1)
    ]


def _with(group: Group, quantity: Quantity) -> str:
    return f"{_written(group, quantity)} with {group.label}"


def _beating(groups: Sequence[Group], group: Group, delay: Quantity, rate: Quantity) -> Group | None:
    """The group with the shortest delay among those with a shorter delay and a higher rate; differences must show."""
    wait, got = group.mean(delay.read), group.mean(rate.read)
    if wait is None or got is None:
        return None
    both = [(one.mean(delay.read), one.mean(rate.read), one) for one in groups]
    better = [
        (other, one)
        for other, more, one in both
        if other is not None and more is not None and other < wait and more > got
        if delay.write(other) != delay.write(wait) and rate.write(more) != rate.write(got)
    ]
    return min(better, key=lambda one: one[0])[1] if better else None


def every(groups: Sequence[Group], *quantities: Quantity) -> list[str]:
    """Where each of several numbers is smallest and largest. Conditions are said once."""
    return said_once(groups, [line for of in quantities for line in contrast(groups, of)])


def said_once(groups: Sequence[Group], lines: Sequence[str]) -> list[str]:
    """The lines without the conditions where the first line has them."""
    lead = next((f"{group.lead}, the" for group in groups if group.lead), "")
    again = [f"The{line.removeprefix(lead)}" if lead and line.startswith(lead) else line for line in lines[1:]]
    return [*lines[:1], *again]


def used(groups: Sequence[Group], rate: Quantity, delay: Quantity) -> list[str]:
    """Where a throughput is lowest and highest, the delay, and which group is quick among those with the throughput.

    Args:
        groups: The groups.
        rate: The number that should be large.
        delay: The number that should be small.
    """
    if len(groups) == 1:
        return contrast(groups, rate, delay)
    found = every(groups, rate, delay)
    return [*found, *(kept(groups, delay, rate, told=True) if len(groups) > 2 else [])]


def kept(groups: Sequence[Group], delay: Quantity, rate: Quantity, *, told: bool = False) -> list[str]:
    """Whether the shortest delay costs throughput; if so, which group has the shortest delay among those that keep it.

    Args:
        groups: The groups; nothing is said about fewer than two.
        delay: The number that should be small. An earlier sentence says where it is shortest.
        rate: The number that should be large.
        told: Whether an earlier sentence says where the throughput is highest.
    """
    both = [
        (wait, got, group)
        for group in groups
        if (wait := group.mean(delay.read)) is not None and (got := group.mean(rate.read)) is not None
    ]
    top = max((got for _, got, _ in both), default=0.0)
    if len(both) < 2 or top <= 0:
        return []
    _, got, first = min(both, key=lambda one: (one[0], -one[1]))
    if all(_same(one[1], top) for one in both) or _near([group for *_, group in both], delay):
        return []
    if _same(got, top):
        top_of = "also the highest" if got == top else "as high as the highest"
        return [f"With {first.label}, the {rate.again} is {top_of} ({rate.write(got)})."]
    if got >= FULL * top:
        return [f"With {first.label}, the {rate.again} is {rate.write(got)}; the highest is {rate.write(top)}."]
    chosen = _keeper(groups, delay, rate)
    assert chosen is not None
    if sum(one[1] >= FULL * top for one in both) == 1:
        if told:
            return [f"No other reaches {phrases.percent(FULL)} of the {rate.again} of {chosen.label}."]
        return [
            f"The {rate.again} is highest with {chosen.label} ({rate.write(top)}), and no other reaches "
            f"{phrases.percent(FULL)} of that."
        ]
    return [
        f"Among those with at least {phrases.percent(FULL)} of the highest {rate.again} ({rate.write(top)}), the "
        f"{delay.again} is {delay.words[0]} with {chosen.label} ({_written(chosen, delay)})."
    ]


def _keeper(groups: Sequence[Group], delay: Quantity, rate: Quantity) -> Group | None:
    """The group with the shortest delay among those that keep the throughput."""
    both = [
        (wait, got, group)
        for group in groups
        if (wait := group.mean(delay.read)) is not None and (got := group.mean(rate.read)) is not None
    ]
    top = max((got for _, got, _ in both), default=0.0)
    full = [one for one in both if one[1] >= FULL * top]
    return min(full, key=lambda one: one[0])[2] if full else None


def deciding(runs: Runs, quantity: Quantity) -> str | None:
    """The varying parameter between whose values a number differs most; `None` if none varies or nothing was measured."""

    def spread(name: str) -> float:
        means = [value for group in runs.by(name) if (value := group.mean(quantity.read)) is not None]
        return pvariance(means) if means else 0.0

    best = max(runs.varying, key=spread, default=None)
    return best if best is not None and spread(best) > 0 else None


def only(runs: Runs, name: str) -> list[str]:
    """Says that nothing is compared, if the runs have a single value of a parameter that the question compares."""
    values = runs.values(name)
    if len(values) != 1 or values[0] is None:
        return []
    return [f"Only {phrases.value(values[0])} was run, so these runs do not compare {phrases.those(name)}."]


def _labels(groups: Sequence[Group]) -> str:
    return phrases.listed([group.label for group in groups], 2)


def _written(group: Group, quantity: Quantity) -> str:
    value = group.mean(quantity.read)
    return phrases.NONE if value is None else quantity.write(value)
