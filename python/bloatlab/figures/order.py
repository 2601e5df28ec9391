"""The order in which the values of a sweep were asked for.

Runs end in another order than they were asked for, so their own order is not that of the user.
"""

from __future__ import annotations

import ast
import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from bloatlab.experiments import CATALOGUE
from bloatlab.experiments.base import plain
from bloatlab.store import canonical
from bloatlab.store.text import readable

SCHEMA = {"name": pl.String, "value": pl.String}


def given(commands: Sequence[str], experiments: Sequence[str] = ()) -> pl.DataFrame:
    """Values of parameters in their order: `name`, `value` as a reader sees it.

    Args:
        commands: The commands that made a store: of the command line with `--sweep`, or calls of `bloatlab.sweep`.
        experiments: Names of the experiments of the store, whose own axes come last.
    """
    found = [pair for command in commands for pair in (*_options(command), *_call(command))]
    for name in experiments:
        if name in CATALOGUE:
            found += _pairs(CATALOGUE[name].axes())
    return pl.DataFrame(list(dict.fromkeys(found)), schema=SCHEMA, orient="row")


def _options(command: str) -> Iterator[tuple[str, str]]:
    try:
        words = shlex.split(command)
    except ValueError:
        return
    for option, word in itertools.pairwise(words):
        if option == "--sweep":
            name, _, listed = word.partition("=")
            yield from ((name, value.strip()) for value in listed.split(","))


def _call(command: str) -> Iterator[tuple[str, str]]:
    """The axes of a call of `bloatlab.sweep`, as the store keeps it. It is read and never executed."""
    try:
        call = ast.parse(command, mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) else []
        axes: Any = next((ast.literal_eval(one.value) for one in keywords if one.arg == "axes"), {})
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if isinstance(axes, dict):
        yield from _pairs(axes)


def _pairs(axes: Mapping[Any, Any]) -> list[tuple[str, str]]:
    return [
        (str(name), readable(canonical(plain(value))))
        for name, values in axes.items()
        if isinstance(values, list | tuple | range)
        for value in values
    ]
