"""Which repetition of its seed a run is, where the engine gives other results in each run."""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence

from bloatlab.sweeps.plan import PlannedRun


def with_repetitions(runs: Sequence[PlannedRun], finished: Container[str]) -> list[PlannedRun]:
    """The runs as they are to be made now, in the same order.

    A reproducible engine would only repeat what is stored, so its runs stay as they are. Any other engine adds one
    repetition of every run of the plan. If some runs have fewer repetitions than others, only those are made. So a
    sweep that was killed resumes, and a repetition that failed is made again.

    Args:
        runs: The plan.
        finished: Identities of the runs that are done.
    """
    made = {
        run.run_id: next(number for number in itertools.count() if run.repeated(number).run_id not in finished)
        for run in runs
        if not run.engine.reproducible
    }
    most = max(made.values(), default=0)
    complete = min(made.values(), default=0) == most

    def of(run: PlannedRun) -> PlannedRun:
        if run.run_id not in made:
            return run
        number = made[run.run_id]
        return run.repeated(number if complete or number < most else most - 1)

    return [of(run) for run in runs]
