"""Names of the files that runs leave: equal parameters, seed, repetition and engine give equal names, others do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bloatlab.engines import DEFAULT
from bloatlab.experiments.base import plain

if TYPE_CHECKING:
    from bloatlab.experiments.base import Experiment
    from bloatlab.result import Result


def mark(experiment: Experiment, run: Result, own: Mapping[str, Any], *, usual: bool = True) -> str:
    """What distinguishes a run from the simulator's with the defaults; empty if nothing does.

    It holds the engine, and the first digits of the run's identity if other parameters are not the defaults.

    Args:
        experiment: The experiment of the run.
        run: The run.
        own: The parameters that the name states anyway.
        usual: Whether the name states these parameters completely.
    """
    defaults = plain(experiment.for_engine(run.engine).resolve(own)) if usual else None
    return "-".join(
        part
        for part in (
            safe(run.engine) if run.engine != DEFAULT else "",
            run.run_id[:6] if run.parameters != defaults else "",
        )
        if part
    )


def is_plain(algorithm: Any) -> bool:
    """Whether a queue or congestion control is given as a name, which then states it completely."""
    return isinstance(algorithm, str) and " " not in algorithm.strip() and ":" not in algorithm


def number(run: Result) -> str:
    """The seed; for a further run with the same seed also its repetition, such as `42r1`."""
    return f"{run.seed}r{run.repetition}" if run.repetition else str(run.seed)


def safe(text: object) -> str:
    """A text as a part of a name."""
    return re.sub(r"[^A-Za-z0-9_+.]", "_", str(text))
