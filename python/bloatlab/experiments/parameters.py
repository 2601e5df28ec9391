"""Parameters of an experiment: name, allowed values, and how a value is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeGuard

from bloatlab import language, units
from bloatlab.errors import ParameterError, unknown
from bloatlab.plugins import Configured

Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter of an experiment."""

    name: str
    default: Any
    """Default; `None`: the engine's default, or derived as `help` says."""
    unit: str
    allowed: str
    help: str
    read: Reader
    """Checks a value and converts it to its canonical form."""
    published: Any = None
    """Value of the source, if it states one."""

    def value(self, given: Any) -> Any:
        """Checks a value and converts it; raises `ParameterError` with the parameter's name."""
        try:
            return self.read(given)
        except ParameterError as error:
            allowed = "" if "allowed: " in str(error) else f" (allowed: {self.allowed})"
            raise ParameterError(f"{self.name}: {error}{allowed}") from error


def _text_of(parse: Callable[[object], Any]) -> Reader:
    def read(value: Any) -> str:
        parse(value)
        return str(value)

    return read


rate = _text_of(units.rate)
duration = _text_of(units.duration)
size = _text_of(units.size)
frequency = _text_of(units.frequency)
limit = units.limit


def between(parse: Callable[[object], float], low: str, high: str) -> Reader:
    """A quantity from `low` to `high`.

    Args:
        parse: `units.rate`, `units.duration`, `units.size` or `units.frequency`.
        low: The smallest value.
        high: The largest value.
    """

    def check(value: Any) -> None:
        if not parse(low) <= parse(value) <= parse(high):
            raise ParameterError(f"`{value}` is not between {low} and {high}")

    return _text_of(check)


def whole(low: int, high: int) -> Reader:
    """A whole number from `low` to `high`."""

    def read(value: Any) -> int:
        if isinstance(value, str) and value.strip().lstrip("+-").isdigit():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ParameterError(f"`{value}` is not a whole number from {low} to {high}")
        return value

    return read


def number(low: float, high: float) -> Reader:
    """A number from `low` to `high`."""

    def read(value: Any) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = float("nan")
        if isinstance(value, bool) or not low <= found <= high:
            raise ParameterError(f"`{value}` is not a number from {low:g} to {high:g}")
        return found

    return read


def probability(value: Any) -> float:
    """A number from 0 to below 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < 1:
        raise ParameterError(f"`{value}` is not a probability")
    return number


def boolean(value: Any) -> bool:
    """True or false."""
    words = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False, "1": True, "0": False}
    word = str(value).lower()
    if word not in words:
        raise ParameterError(f"`{value}` is neither true nor false")
    return words[word]


def choice(*names: str, **aliases: str) -> Reader:
    """One of the names; aliases are names in other tools."""

    def read(value: Any) -> str:
        if isinstance(value, bool):
            value = "on" if value else "off"
        text = str(value)
        text = aliases.get(text, text)
        if text not in names:
            raise unknown("choice", text, names)
        return text

    return read


def algorithm(what: str) -> Reader:
    """A queue or congestion control: a name, `{"kind": ...}` with parameters, a user's class or `module:Class`.

    A queue may also be a tc text, such as `"fq_codel limit 5000 target 10ms"`, which is kept unchanged.

    Args:
        what: Key of the engine's list: `queues` or `congestion_controls`.
    """

    def read(value: Any) -> Any:
        if what == "queues" and is_tc(value):
            return checked_tc(value)
        if isinstance(value, type | Configured) or (isinstance(value, str) and ":" in value and "{" not in value):
            return value
        if isinstance(value, str):
            return kinds(what).get(value) or _unknown(value, what)
        if isinstance(value, Mapping):
            if not isinstance(value.get("kind"), str):
                raise ParameterError(f"`{json.dumps(value, default=str)}` has no `kind`")
            kind = value["kind"]
            if kind == "python":
                return dict(value)
            return dict(value) | {"kind": kinds(what).get(kind) or _unknown(kind, what)}
        raise ParameterError(f"`{value}` is neither a name nor a table with its `kind`")

    return read


def names(what: str) -> Reader:
    """Names of several algorithms with `+` between them, each checked.

    Args:
        what: As for `algorithm`.
    """
    one = algorithm(what)

    def read(value: Any) -> str:
        return "+".join(str(one(name)) for name in split_names(str(value)))

    return read


def split_names(text: str) -> list[str]:
    """Splits names joined by `+`. A name may end in `+` (`ledbat++`), so a separator is a `+` before a letter."""
    return [name.strip() for name in re.split(r"\+\s*(?=[A-Za-z])", text)]


def is_tc(value: Any) -> TypeGuard[str]:
    """Whether a queue is a tc text: a string with a space."""
    return isinstance(value, str) and any(letter.isspace() or letter == ";" for letter in value.strip())


def checked_tc(text: str) -> str:
    """Checks a tc text with the engine and returns it; the error says what tc allows."""
    try:
        language.queue(json.dumps(text))
    except language.ScenarioError as error:
        raise ParameterError(str(error)) from error
    return text.strip()


def _unknown(name: str, what: str) -> Any:
    raise unknown(what.replace("_", " ").removesuffix("s"), name, set(kinds(what).values()))


def kinds(what: str) -> Mapping[str, str]:
    """Canonical name for each name and alias of the engine's algorithms."""
    return _kinds(language.version(), what)


@lru_cache(maxsize=8)
def _kinds(_engine_version: str, what: str) -> Mapping[str, str]:
    """As `kinds`, cached for each engine."""
    found = {}
    for description in json.loads(language.algorithms())[what]:
        for name in (description["kind"], *description.get("aliases", ())):
            found[name] = description["kind"]
    return found
