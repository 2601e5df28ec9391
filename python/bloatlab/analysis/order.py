"""The order of swept parameters and of their values: that in which the user gave them.

Runs end in another order than they were asked for, so their own order is not that of the user.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from bloatlab.experiments import CATALOGUE
from bloatlab.experiments.base import plain
from bloatlab.store import canonical
from bloatlab.store.text import readable

if TYPE_CHECKING:
    from bloatlab.store import Store

Lists = Mapping[str, Sequence[Sequence[str]]]
"""By parameter, in the order of the user: lists of its values as a reader sees them, the most recent list first."""
_SIZED = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([A-Za-zµ%/]*)\s*\Z")


def sized(values: Sequence[str]) -> tuple[list[float], str] | None:
    """The values as numbers, and their common unit. None if they are not all numbers of the same unit."""
    found = [_SIZED.match(value) for value in values]
    units = {match.group(2) for match in found if match}
    if not values or not all(found) or len(units) != 1:
        return None
    return [float(match.group(1)) for match in found if match], units.pop()


def ordered(values: Iterable[str], lists: Sequence[Sequence[str]]) -> list[str]:
    """The different values of a parameter in the order of the user; then the others by first appearance.

    Numbers that no list holds all of are sorted by size, because nobody gave them an order.

    Args:
        values: The values, as a reader sees them.
        lists: The lists of this parameter, the most recent first.
    """
    there = list(dict.fromkeys(values))
    numbers = sized(there)
    if numbers is not None:
        whole = next((one for one in lists if set(there) <= set(one)), None)
        if whole is None:
            return [value for _, value in sorted(zip(numbers[0], there, strict=True))]
        lists = [whole]
    place: dict[str, int] = {}
    for value in chain.from_iterable(lists):
        place.setdefault(value, len(place))
    return sorted(there, key=lambda value: place.get(value, len(place)))


def parameters(names: Iterable[str], lists: Lists) -> list[str]:
    """Parameters in the order of the user; then the others by first appearance."""
    place = {name: index for index, name in enumerate(lists)}
    return sorted(dict.fromkeys(names), key=lambda name: place.get(name, len(place)))


def indices(points: Sequence[Mapping[str, str]], lists: Lists) -> list[int]:
    """The indices of points, sorted by the values of their parameters; the first parameter varies slowest."""
    names = parameters(chain.from_iterable(points), lists)
    columns = {name: [point[name] for point in points if name in point] for name in names}
    places = {
        name: {value: index for index, value in enumerate(ordered(column, lists.get(name, [])))}
        for name, column in columns.items()
    }
    keys = [tuple(places[name].get(point.get(name, ""), -1) for name in names) for point in points]
    return sorted(range(len(points)), key=keys.__getitem__)


def of_axes(axes: Mapping[str, Iterable[Any]]) -> dict[str, list[str]]:
    """The values of axes as a reader sees them."""
    return {str(name): [_shown(value) for value in values] for name, values in axes.items()}


def _shown(value: Any) -> str:
    if type(value) in (str, int):
        # As below, without the way over JSON. Most of the many parameters of a sweep are texts and integers.
        return str(value)
    return "default" if value is None else readable(canonical(plain(value)))


def of_values(values: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a point as a reader sees them."""
    return {name: _shown(value) for name, value in values.items()}


def of_store(store: Store, experiments: Iterable[str]) -> Lists:
    """The lists of a store: those of its commands, and then the axes of its experiments.

    Args:
        store: The results.
        experiments: Names of its experiments.
    """
    commands = store.invocations().select("command", "axes").iter_rows()
    return of_commands(list(commands), experiments)


def runs_of(store: Store, experiment: str) -> dict[str, dict[str, Any]]:
    """Parameters of each finished run of an experiment, the runs in the order of the user."""
    found = store.run_parameters(experiment)
    runs = list(found)
    places = indices([of_values(given) for given in found.values()], of_store(store, [experiment]))
    return {runs[place]: found[runs[place]] for place in places}


def runs_of_main_engine(store: Store, experiment: str) -> dict[str, dict[str, Any]]:
    """As `runs_of`, only the runs of the store's main engine."""
    main = store.main_engine(experiment)
    # `engine` is one of the parameters where engines differ.
    return {run: given for run, given in runs_of(store, experiment).items() if given.get("engine", main) == main}


def of_commands(commands: Sequence[tuple[str, str]], experiments: Iterable[str]) -> Lists:
    """The lists of commands, and then those of experiments.

    Args:
        commands: Each command with its axes as JSON (`{}` in an older store), the oldest first. Without axes, they are read
            from the command: the options of a command line, or a call of `bloatlab.sweep`.
        experiments: Names of experiments.
    """
    found: dict[str, list[list[str]]] = {}
    given = [_recorded(axes) or _options(command) or _call(command) for command, axes in reversed(commands)]
    own = [_own_axes(name) for name in experiments if name in CATALOGUE]
    for one in (*given, *own):
        for name, values in one.items():
            if values not in found.setdefault(name, []):
                found[name].append(values)
    return found


def _own_axes(name: str) -> dict[str, list[str]]:
    experiment = CATALOGUE[name]
    return of_axes({**experiment.published_axes(), **experiment.axes()})


def _recorded(axes: str) -> dict[str, list[str]]:
    """The axes that the store recorded with a command. They may come from another person, so they are checked."""
    try:
        found = json.loads(axes)
    except (ValueError, RecursionError):
        return {}
    return _lists(found)


def _options(command: str) -> dict[str, list[str]]:
    return dict(_swept(command))


def _swept(command: str) -> Iterator[tuple[str, list[str]]]:
    try:
        words = shlex.split(command)
    except ValueError:
        return
    for option, word in itertools.pairwise(words):
        if option == "--sweep":
            name, _, listed = word.partition("=")
            yield name, [value.strip() for value in listed.split(",")]


def _call(command: str) -> dict[str, list[str]]:
    """The axes of a call of `bloatlab.sweep`, as an older store keeps it. It is read and never executed."""
    try:
        call = ast.parse(command, mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) else []
        axes: Any = next((ast.literal_eval(one.value) for one in keywords if one.arg == "axes"), {})
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return _lists(axes)


def _lists(axes: Any) -> dict[str, list[str]]:
    if not isinstance(axes, dict):
        return {}
    listed = {name: values for name, values in axes.items() if isinstance(values, list | tuple | range)}
    try:
        return of_axes(listed)
    except (TypeError, ValueError, RecursionError):
        # Values that no parameter can have, such as NaN.
        return {}


def natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts `flow_2` before `flow_10`."""
    pieces: list[tuple[int, int, str]] = []
    digits = ""
    for letter in f"{name}\0":
        if letter.isdigit():
            digits += letter
            continue
        if digits:
            pieces.append((0, int(digits), ""))
            digits = ""
        pieces.append((1, 0, letter))
    return pieces
