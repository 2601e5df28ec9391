"""Which parameters of a queue are tuned, and within which bounds: the rules of the field.

- CoDel and its relatives (RFC 8289 section 4): `interval` from the base RTT of the path, or the default if that
  is smaller, to twice the larger of both. `target` is 5 to 10 % of the interval.
- PIE and its relatives: `target` from a third of the default to twice the default. `tupdate` is 50 to 160 % of the target;
  the defaults are 100 % in RFC 8033, 160 % in RFC 8034, and 107 % in Linux's dualpi2.
- CAKE (tc-cake(8)): `rtt` is one of its presets, from half of the base RTT to ten times the base RTT, or `internet`.
  `bandwidth` is the rate of the link. An RTT within an order of magnitude works well.
- RED (Floyd, Gummadi and Shenker 2001): `target_delay`; it sets `min`, and `max` to three times `min`.
- Any other queue: its limit, from an initial window of ten packets (RFC 6928) to the default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab import language, units
from bloatlab.analysis.bottleneck import Bottleneck
from bloatlab.analysis.space import Vary
from bloatlab.errors import unknown
from bloatlab.experiments.queues import MTU, comparable, described

PRESETS = {
    "datacentre": "100us", "lan": "1ms", "metro": "10ms", "regional": "30ms", "internet": "100ms",
    "oceanic": "300ms", "satellite": "1s", "interplanetary": "3600s",
}  # fmt: skip
"""RTT of the presets of CAKE (tc-cake(8))."""
LIMITS = ("limit", "memlimit")
LEAST = 10
"""Smallest limit in packets: an initial window."""


@dataclass(frozen=True)
class Rule:
    """A duration that is searched on a logarithmic scale, and a second one that is a share of it."""

    name: str
    low: float
    """Lowest value as a share of the default."""
    high: float
    follows_rtt: bool = False
    """Whether the range is widened or narrowed to the base RTT of the path."""
    follower: str = ""
    """Parameter that is set as a share of the first; empty: none."""
    shares: tuple[float, float] = (0.0, 0.0)
    """Its least and greatest share in percent."""


_CODEL = Rule("interval", 1.0, 2.0, follows_rtt=True, follower="target", shares=(5.0, 10.0))
_PIE = Rule("target", 1 / 3, 2.0, follower="tupdate", shares=(50.0, 160.0))
RULES = {
    "codel": _CODEL,
    "fq_codel": _CODEL,
    "cobalt": _CODEL,
    "gsp": _CODEL,
    # Its threshold is the interval by default, and CoDel's share at least.
    "rlc_codel_2022": Rule("interval", 1.0, 2.0, follows_rtt=True, follower="threshold", shares=(5.0, 100.0)),
    "pie": _PIE,
    "fq_pie": _PIE,
    "dualpi2": _PIE,
    "red": Rule("target_delay", 0.2, 10.0),
}
CAKE = "cake"


def knobs(kind: str, where: Bottleneck) -> list[Vary]:
    """What is searched for a queue, named `KIND.PARAMETER`; a share is named `KIND.PARAMETER/OTHER`, in percent.

    Raises:
        ParameterError: There is no such queue, or it only wraps other queues.
    """
    if kind not in comparable():
        raise unknown("queue that can be tuned", kind, comparable())
    parameters = described()[kind]
    if kind == CAKE:
        return [Vary(f"{kind}.rtt", tuple(_presets(where.rtt_s)))]
    if (rule := RULES.get(kind)) is None:
        return [_limit(kind, name, of) for name in LIMITS if (of := parameters.get(name)) and of["default"]]
    default_ms = 1e3 * units.duration(parameters[rule.name]["default"])
    low, high = default_ms * rule.low, default_ms * rule.high
    if rule.follows_rtt and where.rtt_s:
        low, high = min(low, max(1e3 * where.rtt_s, 0.1)), max(high, 2e3 * where.rtt_s)
    found = [Vary(f"{kind}.{rule.name}", (), low, high, "ms")]
    if rule.follower:
        found.append(Vary(f"{kind}.{rule.follower}/{rule.name}", (), *rule.shares, "%"))
    return found


def _presets(rtt_s: float) -> list[str]:
    """The presets for a base RTT, with CAKE's default."""
    fitting = [text for text in PRESETS.values() if rtt_s / 2 <= units.duration(text) <= 10 * rtt_s]
    return [text for text in PRESETS.values() if text in fitting or text == PRESETS["internet"]]


def _limit(kind: str, name: str, parameter: Mapping[str, Any]) -> Vary:
    if parameter["type"] == "integer":
        return Vary(f"{kind}.{name}", (), LEAST, float(parameter["default"]), "", True)
    default = units.queue_limit(parameter["default"])
    if default.unit == "packets":
        return Vary(f"{kind}.{name}", (), LEAST, default.value, "p", True)
    return Vary(f"{kind}.{name}", (), LEAST * MTU, default.value, "B", True)


def default_of(knob: Vary) -> Any:
    """Default of the registry, in the unit of the range."""
    kind, _, name = knob.name.partition(".")
    parameters = described()[kind]
    name, _, other = name.partition("/")
    given = parameters[name]["default"]
    if other:
        return 100 * units.duration(given) / units.duration(parameters[other]["default"])
    if knob.values:
        return given
    if knob.unit == "ms":
        return 1e3 * units.duration(given)
    return int(given) if not knob.unit else int(units.queue_limit(given).value)


def table_of(kind: str, drawn: Mapping[str, Any], where: Bottleneck) -> dict[str, Any]:
    """The queue as a table of the scenario.

    Args:
        kind: The queue.
        drawn: A value for each of its `knobs`: a number in the unit of the range, or one of the values.
        where: The bottleneck. CAKE gets its rate as the bandwidth, because it manages only a queue that it shapes.
    """
    table: dict[str, Any] = {"kind": kind}
    if kind == CAKE and where.rate_bps is not None:
        table["bandwidth"] = _rate(where.rate_bps)
    for knob in knobs(kind, where):
        name, _, other = knob.name.partition(".")[2].partition("/")
        value = drawn[knob.name]
        if other:
            table[name] = _ms(value / 100 * 1e3 * units.duration(table[other]))
        elif knob.unit == "ms":
            table[name] = _ms(value)
        else:
            table[name] = value if knob.values else knob.write(value)
    return table


def _ms(value: float) -> str:
    """A duration with two digits, because no rule of the field is more exact."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:g}ms" if rounded >= 1 else f"{1e3 * rounded:g}us"


def _rate(bps: int) -> str:
    """A rate in the largest unit in which it is a whole number."""
    for size, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if bps % size == 0:
            return f"{bps // size}{unit}"
    return f"{bps}bit/s"


def tc_of(queue: Mapping[str, Any], where: Bottleneck, *, shaped: bool = True, device: str = "eth0") -> str:
    """The tc commands that set up a queue on Linux, or why there are none.

    With `shaped`, a queue that does not shape gets HTB with the rate of the link around it, because it would stay empty
    on a faster device. Where the rate varies, there is no rate to shape to, and the commands set up the queue alone.
    """
    whole: Mapping[str, Any] = queue
    if shaped and where.rate_bps is not None and queue["kind"] != CAKE:
        whole = {"kind": "htb", "rate": _rate(where.rate_bps), "queue": queue}
    try:
        return "; ".join(language.tc(json.dumps(whole), device))
    except language.ScenarioError as error:
        return f"no tc command: {error}"
