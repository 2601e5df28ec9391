"""Numbers, parameters and lists as they are written in a sentence."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NONE = "–"
TINY, HUGE = 1e-4, 1e12
"""From where to where numbers have no exponent."""
SMALL = 0.1
"""Below this, a number has at most three significant digits."""
FINEST = {"ms": 3, "s": 4, "%": 3, "B": 1, "packets": 3, "segments": 3}
"""Largest number of decimals of values with these units. Nobody can use a delay with more digits than microseconds."""
ROUNDING = 1e-12
"""An interval is a remainder of rounding if it is shorter than this share of the mean."""
_SIZED = re.compile(r"([\d.]+(?:e[-+]?\d+)?)(p|B|[kMGT]i?B|[kMGT]?bit/s|[mun]?s)\Z")
# Headings with the unit of values that are bare numbers.
_HEADINGS = {"lambda": "load (packets/s)", "depth": "buffer (BDP)"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?\Z")
_UNITS = {"p": "packets"}
# How a value of a parameter is said in a sentence.
_SAID = {
    "bw": "a rate of {}",
    "cap": "a rate of {}",
    "rate": "a rate of {}",
    "low_rate": "a low rate of {}",
    "up": "{} on the way back",
    "upf_rate": "a rate of {} to the base station",
    "rtt": "an RTT of {}",
    "rtt_2": "an RTT of {} of the other flows",
    "qlen": "a buffer of {}",
    "limit": "a limit of {}",
    "buffer": "a buffer of {}",
    "buf": "a buffer of {} packets",
    "maxq": "a queue of {} buffers",
    "depth": "a buffer of {} bandwidth-delay products",
    "k": "{} flows",
    "flows": "{} flows",
    "wld": "{} Reno flows",
    "ues": "{} users",
    "gnbs": "{} base stations",
    "mcs": "MCS {}",
    "friendly": "{} NewReno flows",
    "loss": "random loss of {}",
    "lambda": "{} packets/s",
    "iw": "a window of {} segments",
    "ecn": "ECN {}",
    "congestion": "{} congestion",
    "period": "phases of {}",
    "target": "a changing {}",
    "direction": "direction {}",
    "lower": "a lower level of {}",
    "upper": "an upper level of {}",
    "case": "set-up {}",
    "rlc": "RLC mode {}",
    "newcomer": "newcomer {}",
    "incumbent": "incumbent {}",
}
_ABSENT = {"mcs": "link adaptation"}
"""How a value that is not set is said, where it is more than a default."""
_BARE = {"experiment", "cca", "queue", "ccp", "scheme", "path", "channel", "scenario", "mode", "preset"}
_SHARES = {"loss"}
# Values whose own name says too little.
_WORDS = {
    ("scenario", "sl"): "static (sl)",
    ("scenario", "sb"): "crossing (sb)",
    ("scenario", "lb"): "blocked (lb)",
    ("scenario", "mobb"): "walking (mobb)",
    ("target", "rtt"): "RTT",
}
# What a number of values is called: singular and plural.
_NOUNS = {
    "cca": ("congestion control", "congestion controls"),
    "ccp": ("congestion control", "congestion controls"),
    "newcomer": ("newcomer", "newcomers"),
    "incumbent": ("incumbent", "incumbents"),
    "queue": ("queue", "queues"),
    "scheme": ("scheme", "schemes"),
    "path": ("path", "paths"),
    "channel": ("channel", "channels"),
    "qlen": ("queue limit", "queue limits"),
    "limit": ("queue limit", "queue limits"),
    "buffer": ("buffer size", "buffer sizes"),
    "buf": ("buffer size", "buffer sizes"),
    "depth": ("buffer size", "buffer sizes"),
    "maxq": ("queue size", "queue sizes"),
    "rate": ("rate", "rates"),
    "bw": ("rate", "rates"),
    "cap": ("rate", "rates"),
    "up": ("rate on the way back", "rates on the way back"),
    "upf_rate": ("rate to the base station", "rates to the base station"),
    "rtt": ("RTT", "RTTs"),
    "rtt_2": ("RTT of the other flows", "RTTs of the other flows"),
    "lambda": ("load", "loads"),
    "congestion": ("level of congestion", "levels of congestion"),
    "loss": ("loss rate", "loss rates"),
    "k": ("number of flows", "numbers of flows"),
    "flows": ("number of flows", "numbers of flows"),
    "wld": ("number of Reno flows", "numbers of Reno flows"),
    "friendly": ("NewReno flow count", "NewReno flow counts"),
    "ues": ("number of users", "numbers of users"),
    "gnbs": ("number of base stations", "numbers of base stations"),
    "mcs": ("MCS", "MCSs"),
    "iw": ("initial window", "initial windows"),
    "ecn": ("ECN setting", "ECN settings"),
    "rlc": ("RLC mode", "RLC modes"),
    "scenario": ("link scenario", "link scenarios"),
    "target": ("changing quantity", "changing quantities"),
    "direction": ("direction", "directions"),
    "period": ("phase length", "phase lengths"),
    "case": ("set-up", "set-ups"),
    "mode": ("mode", "modes"),
    "preset": ("preset", "presets"),
    "engine": ("engine", "engines"),
    "experiment": ("experiment", "experiments"),
}


def number(value: float | None, digits: int = 4) -> str:
    """A number with `digits` significant digits and no exponent for everyday sizes; a dash for none."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    size = abs(value)
    if size < SMALL:
        digits = min(digits, 3)
    if not TINY <= size < HUGE:
        return f"{value:.{digits - 1}e}"
    if _is_whole(value) or size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:,.{_decimals(size, digits)}f}"


def _is_whole(value: float) -> bool:
    """Whether it is an integer, apart from a remainder of counting in ns."""
    return abs(value - round(value)) < 1e-9 * abs(value)


def _decimals(size: float, digits: int) -> int:
    """Number of decimals that give this many significant digits."""
    return max(0, digits - 1 - math.floor(math.log10(size)))


def amount(value: float | None, unit: str, digits: int = 4) -> str:
    """A number of a unit, without the unit. One that is smaller than the finest step of the unit is `<0.001`."""
    least = FINEST.get(unit)
    if least is None or not value or not math.isfinite(value) or abs(value) >= 10**-least * 10 ** (digits - 1):
        return number(value, digits)
    return _fixed(value, min(least, _decimals(abs(value), min(digits, 3) if abs(value) < SMALL else digits)))


def numbers(values: Sequence[float | None], unit: str = "", digits: int = 4) -> list[str]:
    """The numbers of a column, all with the same number of decimals.

    The largest has `digits` significant digits. It has one more if the smallest needs it for two digits.

    Args:
        values: The numbers; `None` is written as a dash.
        unit: Their unit, which may bound the decimals.
        digits: Number of significant digits of the largest.
    """
    there = [value for value in values if value and math.isfinite(value)]
    largest, smallest = (of((abs(value) for value in there), default=0.0) for of in (max, min))
    if not TINY <= largest < HUGE and not (unit in FINEST and largest < HUGE):
        return [number(value, digits) for value in values]
    if all(map(_is_whole, there)):
        return [number(value, digits) for value in values]
    most = _decimals(largest, min(digits, 3) if largest < SMALL else digits)
    decimals = min(max(most, min(_decimals(smallest, 2), most + 1)), FINEST.get(unit, 12))
    # Zeros at the end of all numbers say nothing.
    while decimals and all(abs(value - round(value, decimals - 1)) < 1e-9 * abs(value) for value in there):
        decimals -= 1
    return [_fixed(value, decimals) for value in values]


def _fixed(value: float | None, decimals: int) -> str:
    """A number with this many decimals; `<0.001` if they do not show it."""
    if not value or not math.isfinite(value):
        return number(value)
    text = f"{value:,.{decimals}f}"
    if float(text.replace(",", "")):
        return text
    return f"{'<' if value > 0 else '>-'}{10**-decimals:.{decimals}f}"


def separated(text: str) -> str:
    """A number that is text with separators between thousands; any other text as it is."""
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}" if _NUMBER.match(text) and len(whole) > 3 else text


def interval(mean: float, half: float | None, digits: int = 4) -> str:
    """A mean with the half-width of its interval, such as `31.1 ± 2.5`, or the mean alone if the values differ by rounding only.

    The half-width has two significant digits. The mean has no digit after the last one of the half-width, and the half-width
    none after the last one of the mean.

    Args:
        mean: The mean.
        half: The half-width; `None` if it is not known.
        digits: Largest number of significant digits of the mean.
    """
    if not half or half <= ROUNDING * abs(mean):
        return number(mean, digits)
    if not math.isfinite(half) or (mean and not TINY <= abs(mean) < HUGE):
        return f"{number(mean, digits)} ± {number(half, 2)}"
    allowed = [place - math.floor(math.log10(size)) for place, size in ((digits - 1, abs(mean)), (1, half)) if size]
    decimals = max(0, min(allowed))
    shown = f"{half:,.{decimals}f}"
    if not float(shown.replace(",", "")):
        shown = f"<{10**-decimals:.{decimals}f}"
    return f"{mean:z,.{decimals}f} ± {shown}"


def span(values: Sequence[float], text: Callable[[float], str]) -> str:
    """The smallest and the largest of some values, each written by `text`, such as `17 to 20`."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def percent(share: float | None) -> str:
    """A share such as 0.962 as `96.2 %`."""
    return NONE if share is None else f"{number(100 * share, 3)} %"


def with_unit(value: float | None, unit: str, digits: int = 3) -> str:
    """A number with its unit, such as `12.3 ms` or `<0.001 ms`."""
    return f"{amount(value, unit, digits)} {unit}".rstrip()


def plural(count: int, noun: str) -> str:
    """A count with its noun, such as `3 flows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def ms(value: float) -> str:
    """A duration in ms; from 10 s on in s."""
    return with_unit(value / 1e3, "s") if value >= 1e4 else with_unit(value, "ms")


def seconds(value: float) -> str:
    """A duration in s."""
    return with_unit(value, "s")


def mbps(value: float) -> str:
    """A rate in Mbit/s."""
    return with_unit(value, "Mbit/s")


def packets(value: float) -> str:
    """A number of packets."""
    return with_unit(value, "packets")


def index(value: float) -> str:
    """An index between 0 and 1."""
    return f"{value:.2f}"


def listed(names: Sequence[str], most: int = 3, join: str = "and") -> str:
    """Names as a list: `a`, `a and b`, `a, b and c`, `a, b, c and 4 more`."""
    names = list(names)
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} {join} {len(names) - most} more"
    return f" {join} ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def value(given: Any) -> str:
    """A parameter's value in a sentence: `80p` as `80 packets`, `40ms` as `40 ms`, a table by its kind."""
    if isinstance(given, Mapping):
        rest = ", ".join(f"{name} {value(item)}" for name, item in given.items() if name != "kind")
        kind = str(given.get("kind", ""))
        return f"{kind} ({rest})" if kind and rest else kind or rest
    if given is None:
        return "the default"
    if isinstance(given, bool):
        return "on" if given else "off"
    if isinstance(given, int | float):
        return f"{given:,.10g}"
    if not isinstance(given, str):
        return json.dumps(given)
    sized = _SIZED.match(given)
    if sized is None:
        return given
    if sized[2] == "B":
        return _bytes(float(sized[1]))
    return f"{sized[1]} {_UNITS.get(sized[2], sized[2])}"


def _bytes(count: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return with_unit(count / factor, unit)
    return with_unit(count, "bytes")


def said(name: str, given: Any) -> str:
    """A parameter with its value in a sentence, such as `a buffer of 80 packets`."""
    if given is None and name in _ABSENT:
        return _ABSENT[name]
    given = _as_number(given)
    share = name in _SHARES and isinstance(given, int | float)
    text = f"{100 * given:g} %" if share else in_words(name, given) or value(given)
    if name in _BARE:
        return text
    words = _SAID.get(name, f"{name.replace('_', ' ')} {{}}")
    # One flow, not one flows.
    return (words.removesuffix("s") if text == "1" and not words.endswith("/s") else words).replace("{}", text)


def _as_number(given: Any) -> Any:
    """The value; a text that is a number, as in tables of a store, as this number."""
    if not isinstance(given, str) or not _NUMBER.match(given):
        return given
    return float(given) if "." in given else int(given)


def heading(name: str) -> str:
    """What a column with values of a parameter is called: in words, if it has some, otherwise by its name."""
    return _HEADINGS.get(name) or (_NOUNS[name][0] if name in _NOUNS else name)


def cell(name: str, given: Any) -> str:
    """A parameter's value in a table, such as `58 Mbit/s`."""
    return in_words(name, given) or value(_as_number(given))


def in_words(name: str, given: Any) -> str:
    """What a value means, with the value if that is how its source calls it. Empty: the value says it itself."""
    return _WORDS.get((name, given), "") if isinstance(given, str) else ""


def short(names: Sequence[str]) -> dict[str, str]:
    """How parameters are called in a sentence: places in a document by their last word, if no two of them end alike.

    The kind of a queue is called by the word before it.
    """
    last = {name: name.removesuffix(".kind").rpartition(".")[2] for name in names}
    return last if len(set(last.values())) == len(last) else {name: name for name in names}


def together(parameters: Mapping[str, Any]) -> str:
    """Several parameters with their values in a sentence, such as `cubic, cake at a rate of 50 Mbit/s`."""
    names = [said(name, given) for name, given in parameters.items() if name in _BARE]
    sizes = [said(name, given) for name, given in parameters.items() if name not in _BARE]
    return " at ".join(filter(None, (", ".join(names), listed(sizes, len(sizes)))))


def has_words(name: str) -> bool:
    """Whether a parameter can be said without its name."""
    return name in _BARE or name in _SAID


def counted(name: str, count: int) -> str:
    """A number of values of a parameter, such as `24 queues`."""
    one, many = _nouns(name)
    return f"{count:,} {one if count == 1 else many}"


def those(name: str) -> str:
    """What the values of a parameter are called, such as `queues`."""
    return _nouns(name)[1]


def _nouns(name: str) -> tuple[str, str]:
    words = name.replace("_", " ")
    return _NOUNS.get(name, (f"value of {words}", f"values of {words}"))
