"""What a ranking does not show, and readers must know before they quote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bloatlab.experiments.parameters import split_names

YIELDING = frozenset({"cdg", "ledbat++", "lp", "nice", "vegas", "vivace"})
"""Congestion controls that get less than a quarter of a link beside one CUBIC flow (docs/congestion-controls/README.md)."""
SEPARATING = frozenset({"cake", "drr", "fq", "fq_codel", "fq_pie", "sfq"})
"""Queues that give each flow its own queue."""


def caveats_of(subject: str, contenders: Sequence[str]) -> tuple[str, ...]:
    """The caveats of a ranking, one sentence or two each.

    Args:
        subject: What is ranked.
        contenders: Their names in the order of the ranking.
    """
    # A contender may have further values, as in `fq_codel, ecn=on`.
    kinds = list(dict.fromkeys(name.partition(" ")[0].rstrip(",") for name in contenders))
    if subject == "congestion control":
        if any(len(split_names(kind)) > 1 for kind in kinds):
            return ()
        found = "Here all flows of a run use the same congestion control."
        if yielding := [kind for kind in kinds if kind in YIELDING]:
            found += (
                f" Beside flows that fill the queue, such as those of cubic, flows of {_listed(yielding)} get only a small "
                "share of the link. A first place says nothing about a shared link (`bloatlab run coexistence`)."
            )
        return (found,)
    if subject == "queue" and (separating := [kind for kind in kinds if kind in SEPARATING]):
        return (
            f"{_listed(separating)} give{_s(separating)} each flow its own queue, so a ping or a call is fast even where "
            "bulk flows wait long. Compare the queueing delay, too.",
        )
    return ()


def alike_of(values: Mapping[str, Sequence[float | None]]) -> tuple[str, ...]:
    """A sentence about contenders that agree in every criterion, such as a queue that differs only beside other traffic.

    Args:
        values: The values of each contender, in the order of the criteria.
    """
    same: dict[tuple[float | None, ...], list[str]] = {}
    for name, of in values.items():
        same.setdefault(tuple(of), []).append(name)
    groups = [_listed(names) for of, names in same.items() if len(names) > 1 and any(value is not None for value in of)]
    if not groups:
        return ()
    return (f"{groups[0]} have the same values in every criterion{''.join(f'; so have {of}' for of in groups[1:])}.",)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _s(names: Sequence[str]) -> str:
    return "s" if len(names) == 1 else ""
