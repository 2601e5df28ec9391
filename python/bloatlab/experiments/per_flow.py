"""Lists with a value for each flow, as the scenarios of CCPerf have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab import units
from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments import parameters as read
from bloatlab.experiments.parameters import Parameter, Reader

MODELS = {"Greedy": "greedy", "Cbr": "cbr", "Poisson": "poisson", "OnOff": "on_off"}
"""Traffic models and the kinds of traffic of a scenario. A greedy flow with `bytes` above 0 is a `finite` one."""
GREEDY = "Greedy(bytes=0)"
"""The traffic model of all flows unless others are given."""
FORMS = f"{GREEDY}, Greedy(bytes=N), Cbr(rate=R), Poisson(rate=R), OnOff(rate=R, on=T, off=T)"
SCALARS = {"rtts": "rtt", "algs": "cca", "recoveries": "recovery"}
"""Lists, and the parameter that gives all flows one value."""
_CALL = re.compile(r"(\w+)\s*(?:\((.*)\))?")
_COMMA = re.compile(r",(?![^(]*\))(?![^{]*\})")
"""A comma outside parentheses and braces."""


def in_ns3(one: Reader) -> Reader:
    """Reads as `one`; a name may have the prefix of ns-3, such as `ns3::TcpCubic`."""
    return lambda given: one(given.removeprefix("ns3::") if isinstance(given, str) else given)


def listed(one: Reader) -> Reader:
    """A list, a single number, or a text with commas between its values. Each value is read by `one`."""

    def values(given: Any) -> list[Any]:
        items = _COMMA.split(given) if isinstance(given, str) else given
        if isinstance(items, int | float) and not isinstance(items, bool):
            items = [items]
        if not isinstance(items, Sequence) or not items:
            raise ParameterError(f"`{given}` is not a list with a value for each flow")
        found = []
        for number, item in enumerate(items, 1):
            try:
                found.append(one(item.strip() if isinstance(item, str) else item))
            except ParameterError as error:
                raise ParameterError(f"value {number}: {error}") from error
        return found

    return values


def moment(value: Any) -> str:
    """A duration; a bare number is in seconds, as in CCPerf."""
    text = f"{value}s" if re.fullmatch(r"\d+(\.\d+)?", str(value)) else str(value)
    units.duration(text)
    return text


def host(value: Any) -> str:
    """The name of a host."""
    if not isinstance(value, str) or not value:
        raise ParameterError(f"`{value}` is not the name of a host")
    return value


def traffic_model(value: Any) -> str:
    """A traffic model in CCPerf's words, such as `Greedy(bytes=0)`."""
    name, settings = _parsed(str(value))
    return f"{name}({', '.join(f'{key}={of}' for key, of in settings.items())})"


def _parsed(text: str) -> tuple[str, dict[str, str]]:
    call = _CALL.fullmatch(text.strip())
    if call is None:
        raise ParameterError(f"`{text}` is not a traffic model")
    name = call[1]
    if name not in MODELS:
        raise unknown("traffic model", name, MODELS)
    settings: dict[str, str] = {}
    for item in filter(str.strip, (call[2] or "").split(",")):
        key, equals, of = (part.strip() for part in item.partition("="))
        if not equals or not key or not of or key in settings:
            raise ParameterError(f"`{text}`: `{item.strip()}` must be key=value, each key once")
        settings[key] = of
    if name == "Greedy":
        size = settings.setdefault("bytes", "0")
        if len(settings) > 1:
            raise unknown("setting of Greedy", next(key for key in settings if key != "bytes"), ["bytes"])
        if size != "0":
            settings["bytes"] = f"{size}B" if size.isdecimal() else size
            units.size(settings["bytes"])
    elif "transport" in settings:
        raise ParameterError(f"`{text}`: protocols sets the transport")
    elif "rate" not in settings:
        raise ParameterError(
            f"`{text}`: needs rate, such as {name}(rate=2Mbit/s{', on=1s, off=1s' * (name == 'OnOff')})"
        )
    return name, settings


def _traffic(model: str, protocol: str) -> dict[str, Any]:
    """The traffic of a scenario for a model and a protocol."""
    name, settings = _parsed(model)
    if name == "Greedy":
        if protocol != "tcp":
            raise ParameterError(
                f"protocols: a flow with {model} cannot be {protocol}, because a datagram sender has no window; "
                "give it a traffic model with a rate, such as Cbr(rate=2Mbit/s)"
            )
        return {"kind": "greedy"} if settings["bytes"] == "0" else {"kind": "finite", **settings}
    return {"kind": MODELS[name], "transport": protocol, **settings}


PARAMETERS = (
    Parameter(
        "rtts", None, "s",
        allowed="durations such as 15ms,40ms: one, or one per flow",
        help="two-way propagation of each flow; by default rtt",
        read=listed(read.duration), published="15ms",
    ),
    Parameter(
        "sources", None, "",
        allowed="names such as a,b: one, or one per flow",
        help="host that each flow comes from, for queues that share between hosts; by default one per flow",
        read=listed(host),
    ),
    Parameter(
        "destinations", None, "",
        allowed="names such as a,b: one, or one per flow",
        help="host that each flow goes to, for queues that share between hosts; by default one per flow",
        read=listed(host),
    ),
    Parameter(
        "protocols", None, "",
        allowed="tcp, udp: one, or one per flow",
        help="transport of each flow; udp needs a traffic model with a rate; by default tcp",
        read=listed(
            in_ns3(
                read.choice("tcp", "udp", TCP="tcp", UDP="udp", TcpSocketFactory="tcp", UdpSocketFactory="udp")
            )
        ),
    ),
    Parameter(
        "algs", None, "",
        allowed="congestion controls of `bloatlab algorithms`, or ns-3's names (TcpCubic, ns3::TcpCubic): one, or one per flow",
        help="congestion control of each flow; by default cca",
        read=listed(in_ns3(read.algorithm("congestion_controls"))), published="TcpNewReno",
    ),
    Parameter(
        "recoveries", None, "",
        allowed="prr, classic, TcpPrrRecovery, TcpClassicRecovery: one, or one per flow",
        help="how each flow reduces its window in recovery; by default recovery",
        read=listed(in_ns3(read.choice("prr", "classic", TcpPrrRecovery="prr", TcpClassicRecovery="classic"))),
        published="TcpPrrRecovery",
    ),
    Parameter(
        "start_times", None, "s",
        allowed="durations such as 0s,1.87s, or numbers of seconds: one, or one per flow",
        help="when each flow starts; by default at once",
        read=listed(moment), published="0s",
    ),
    Parameter(
        "stop_times", None, "s",
        allowed="durations such as 10s,15s, or numbers of seconds: one, or one per flow",
        help="when each flow stops; by default stop, the end of the run",
        read=listed(moment), published="15s",
    ),
    Parameter(
        "traffic_models", None, "",
        allowed=f"{FORMS}: one, or one per flow",
        help=f"what the application of each flow sends; by default {GREEDY}",
        read=listed(traffic_model), published=GREEDY,
    ),
)  # fmt: skip
NAMES = tuple(parameter.name for parameter in PARAMETERS)
_KEYS = {"rtts": "rtt", "sources": "source", "destinations": "destination", "algs": "cca", "start_times": "start"}
"""Keys of a flow that hold the values of a list as they are."""


def spread(given: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """The given parameters; what all flows share by a list of one value is given by its scalar parameter as well.

    Args:
        given: Parameters as the user gives them.
        renamed: Congestion controls in `algs` that are replaced by others.

    Raises:
        ParameterError: A list and its scalar parameter are both given, or a list cannot be read.
    """
    found = dict(given)
    for parameter in PARAMETERS:
        scalar = SCALARS.get(parameter.name)
        if scalar is None or found.get(parameter.name) is None:
            continue
        if found.get(scalar) is not None:
            raise ParameterError(f"{parameter.name}: is the list of {scalar}; give one of the two")
        values = parameter.value(found[parameter.name])
        if parameter.name == "algs" and renamed:
            values = [_renamed(value, renamed) for value in values]
            found[parameter.name] = values
        if len(values) == 1:
            found[scalar] = values[0]
    return found


def _renamed(algorithm: Any, renamed: Mapping[str, str]) -> Any:
    """The algorithm under its other name, if it is given by its name alone."""
    return renamed.get(algorithm, algorithm) if isinstance(algorithm, str) else algorithm


def check(values: Mapping[str, Any]) -> None:
    """Checks that each list fits the number of flows, and that the flows can be made.

    Raises:
        ParameterError: It has another length than one and `k`, or its values contradict each other.
    """
    flows = values["k"]
    for name in NAMES:
        count = len(values[name] or "x")
        if count not in (1, flows):
            raise ParameterError(
                f"{name}: has {count} values for k={flows} {'flow' if flows == 1 else 'flows'} "
                f"(allowed: {'one value' if flows == 1 else f'1 or {flows} values'}, or k={count})"
            )
    end = units.duration(values["stop"])
    for number in range(flows):
        one = _of(values, number)
        start, stop = (
            units.duration(one.get(name) or of) for name, of in (("start_times", "0s"), ("stop_times", "0s"))
        )
        if stop > end:
            raise ParameterError(f"stop_times: {one['stop_times']} is after the end of the run (stop={values['stop']})")
        if start >= (stop or end):
            told = one.get("stop_times") or values["stop"]
            raise ParameterError(f"start_times: {one['start_times']} is not before the flow stops ({told})")
        _traffic(one.get("traffic_models", GREEDY), one.get("protocols", "tcp"))


def is_uniform(values: Mapping[str, Any]) -> bool:
    """Whether no list makes the flows differ from those without lists."""
    return not any(values[name] for name in NAMES if name not in SCALARS) and not any(
        len(values[name] or ()) > 1 for name in SCALARS
    )


def flows(values: Mapping[str, Any], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The flows of a scenario, one entry each.

    Args:
        values: Resolved parameters.
        shared: What all flows have, with its `tcp`.
    """
    found = []
    for number in range(values["k"]):
        one = _of(values, number)
        flow = {**shared, **{key: one[name] for name, key in _KEYS.items() if name in one}}
        if "stop_times" in one and units.duration(one["stop_times"]) < units.duration(values["stop"]):
            flow["stop"] = one["stop_times"]
        if "recoveries" in one:
            flow["tcp"] = {**shared["tcp"], "recovery": one["recoveries"]}
        if "traffic_models" in one or "protocols" in one:
            flow["traffic"] = _traffic(one.get("traffic_models", GREEDY), one.get("protocols", "tcp"))
        found.append(flow)
    return found


def _of(values: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The values of one flow from the lists that are given."""
    return {name: of[number % len(of)] for name in NAMES if (of := values[name])}
