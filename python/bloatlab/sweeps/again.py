"""Repeats runs whose files in the store are missing or altered, from their scenarios and seeds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from bloatlab.engines import Engine
from bloatlab.errors import BloatlabError
from bloatlab.experiments import CATALOGUE
from bloatlab.loading import NO_PLUGINS, AllowedPlugins
from bloatlab.store import Keep, Store
from bloatlab.sweeps.plan import PlannedRun


def planned_again(
    store: Store, run_ids: Iterable[str], allowed: AllowedPlugins = NO_PLUGINS, given: Engine | None = None
) -> tuple[list[PlannedRun], Mapping[str, str]]:
    """The runs as a plan, and the runs that cannot be repeated here, each with the reason.

    Args:
        store: The store.
        run_ids: The runs.
        allowed: What may be imported.
        given: An engine that the user names; it is used for the runs that it made.
    """
    planned, refused = [], {}
    for run_id in run_ids:
        row = store.find(run_id)
        experiment = CATALOGUE.get(row["experiment"])
        try:
            engine, plugins = store.origin(run_id).prepare(allowed, given)
        except BloatlabError as error:
            refused[run_id] = str(error)
            continue
        planned.append(
            PlannedRun(
                run_id, row["experiment"], row["scenario"], row["seed"], engine, row["engine_version"],
                json.loads(row["parameters"]), plugins,
                experiment.files if experiment is not None and experiment.leaves_files else None, Keep(row["kept"]),
                experiment.measure if experiment is not None and experiment.measures else None,
                experiment.measures if experiment is not None else {},
            )
        )  # fmt: skip
    return planned, refused
