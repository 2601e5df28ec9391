"""Conditions on the points of a plan: `cap > '1Mbit/s' and queue in ('red', 'codel')`.

The syntax is Python's: comparisons, `in`, `and`, `or`, `not`, brackets. A name is a parameter. A dotted path that is
not a Python name is quoted with backticks (`flows.0.cca`). Quantities with units are compared by value: `'4Mbit/s' ==
'4Mbps'`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bloatlab import units
from bloatlab.errors import ParameterError, unknown

Condition = Callable[[Mapping[str, Any]], bool]
"""Whether a point with these parameters belongs to the plan."""

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_QUOTED = re.compile(r"`([^`]*)`")
_ALLOWED = "comparisons, in, and, or, not, brackets, names of parameters, numbers and quoted text"


def condition(text: str) -> Condition:
    """Reads a condition.

    Raises:
        ParameterError: It is not a condition. The condition itself raises it for an unknown parameter.
    """
    paths: list[str] = []

    def stand_in(found: re.Match[str]) -> str:
        paths.append(found[1])
        return f"_path_{len(paths) - 1}_"

    source = _QUOTED.sub(stand_in, text)
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise ParameterError(f"where: `{text}` cannot be read ({error.msg}; allowed: {_ALLOWED})") from error
    names = {f"_path_{place}_": path for place, path in enumerate(paths)}
    _check(tree, text)
    return lambda parameters: bool(_value(tree, parameters, names, text))


def _check(node: ast.expr, text: str) -> None:
    allowed = (
        ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.And, ast.Or,
        ast.Not, ast.USub, ast.Load, ast.cmpop,
    )  # fmt: skip
    for part in ast.walk(node):
        if not isinstance(part, allowed) or isinstance(part, ast.Is | ast.IsNot):
            raise ParameterError(f"where: `{text}` holds what is not allowed (allowed: {_ALLOWED})")


def _value(node: ast.expr, parameters: Mapping[str, Any], names: Mapping[str, str], text: str) -> Any:
    def of(inner: ast.expr) -> Any:
        return _value(inner, parameters, names, text)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [of(element) for element in elements]
        case ast.BoolOp(op=ast.And(), values=values):
            return all(of(value) for value in values)
        case ast.BoolOp(values=values):
            return any(of(value) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not of(operand)
        case ast.UnaryOp(operand=operand):
            return -of(operand)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [of(side) for side in (left, *comparators)]
            return all(_holds(op, sides[place], sides[place + 1], text) for place, op in enumerate(ops))
        case _:
            return _parameter(names.get(path := ast.unparse(node), path), parameters, text)


def _parameter(name: str, parameters: Mapping[str, Any], text: str) -> Any:
    if name not in parameters:
        raise ParameterError(f"where: `{text}`: {unknown('parameter', name, parameters)}")
    return parameters[name]


def _holds(op: ast.cmpop, left: Any, right: Any, text: str) -> bool:
    if isinstance(op, ast.In | ast.NotIn):
        among: Sequence[Any] = right if isinstance(right, list) else [right]
        return any(operator.eq(*_alike(left, value)) for value in among) == isinstance(op, ast.In)
    try:
        return bool(_COMPARISONS[type(op)](*_alike(left, right)))
    except TypeError as error:
        raise ParameterError(f"where: `{text}`: `{left}` and `{right}` have no order") from error


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both values as numbers if they are quantities of the same kind; otherwise unchanged."""
    for read in (units.rate, units.duration, _packets, units.size):
        try:
            return read(left), read(right)
        except ParameterError:
            continue
    return left, right


def _packets(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = units.queue_limit(value)
    if found.unit != "packets":
        raise ParameterError(f"`{value}` does not count packets")
    return float(found.value)
