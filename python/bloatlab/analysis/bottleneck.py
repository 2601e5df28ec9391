"""The queue that `tune` tunes: that of the bottleneck."""

from __future__ import annotations

from dataclasses import dataclass

from bloatlab import language
from bloatlab.errors import ParameterError
from bloatlab.language import Flow, Link

BOTTLENECK = "bottleneck"
"""Name of the link that is the bottleneck wherever there is one, such as in a dumbbell."""
CELL = "cell.queue"
"""Path of the queues of a cell's bearers. Their limit in bytes is beside it, in `cell.buffer`."""
PROBES = ("ping", "fetch")
"""Kinds of traffic that do not fill a queue."""


@dataclass(frozen=True)
class Bottleneck:
    """The links whose queue is tuned, and what the rules of the field need to know about them."""

    path: str
    """Path of the queue in the document, or the name of the experiment's parameter."""
    links: tuple[str, ...]
    """Links that have this queue and carry flows."""
    rate_bps: int | None = None
    """Their constant rate; `None`: it varies, as that of a cell, or there are several rates."""
    rtt_s: float = 0.0
    """Largest base RTT of the flows that cross them; 0 if it is not known."""


def bottleneck_of(scenario: str, path: str | None = None) -> Bottleneck:
    """The bottleneck of a scenario.

    It is the link `bottleneck`. Without such a link it is the slowest of the links that long flows cross and whose
    queue the document can set. Links that share a queue in the document, such as the hops of a parking lot or the
    bearers of a cell, are tuned together.

    Args:
        scenario: The canonical document as JSON.
        path: Name to use for the queue, for an experiment whose parameter sets it.

    Raises:
        ParameterError: No link has such a queue, or several have the same rate.
    """
    plan = language.plan(scenario)
    long_flows = [flow for flow in plan.flows if flow.traffic not in PROBES] or list(plan.flows)
    queues = {name: link for name, link in plan.queues.items() if link.queue_path is not None}
    if BOTTLENECK in queues:
        chosen = str(queues[BOTTLENECK].queue_path)
    else:
        crossed = [name for name in queues if any(name in flow.forward for flow in long_flows)]
        chosen = _slowest({name: queues[name] for name in crossed or queues})
    links = {name: link for name, link in queues.items() if link.queue_path == chosen}
    used = {name: link for name, link in links.items() if _crossing(name, plan.flows)} or links
    if BOTTLENECK in used and path is not None:
        used = {BOTTLENECK: used[BOTTLENECK]}
    rates = {None if link.rate_varies else link.rate_bps for link in used.values()}
    flows = [flow for name in used for flow in _crossing(name, plan.flows)]
    rtt_ns = max((flow.base_rtt_ns for flow in flows), default=0)
    return Bottleneck(path or chosen, tuple(used), rates.pop() if len(rates) == 1 else None, rtt_ns / 1e9)


def _crossing(link: str, flows: tuple[Flow, ...]) -> list[Flow]:
    return [flow for flow in flows if link in flow.forward]


def _slowest(links: dict[str, Link]) -> str:
    """Path of the queue of the slowest link."""
    if not links:
        raise ParameterError("no link has a queue to tune (allowed: a scenario with a queue, such as `dumbbell.queue`)")
    rates: dict[str, int] = {}
    for link in links.values():
        path = str(link.queue_path)
        rates[path] = min(link.rate_bps, rates.get(path, link.rate_bps))
    slowest = [path for path, rate in rates.items() if rate == min(rates.values())]
    if len(slowest) > 1:
        raise ParameterError(
            f"it is not clear which queue to tune, because {', '.join(slowest)} belong to equally slow links "
            f"(allowed: one slowest link, or a link named `{BOTTLENECK}`)"
        )
    return slowest[0]
