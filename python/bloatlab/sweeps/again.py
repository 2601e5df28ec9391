"""Makes runs of a store again whose files are missing or altered, from what the store says of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from bloatlab.engines import engine
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE
from bloatlab.loading import NO_PLUGINS, AllowedPlugins, resolve
from bloatlab.store import Keep, Store
from bloatlab.sweeps.plan import PlannedRun


def planned_again(
    store: Store, run_ids: Iterable[str], allowed: AllowedPlugins = NO_PLUGINS
) -> tuple[list[PlannedRun], Mapping[str, str]]:
    """The runs as a plan, and those that cannot be made here, each with the reason.

    Args:
        store: The store.
        run_ids: The runs.
        allowed: The plugins that may be imported.
    """
    version = engine().engine_version()
    planned, refused = [], {}
    for run_id in run_ids:
        row = store.find(run_id)
        experiment = CATALOGUE.get(row["experiment"])
        if row["engine_version"] != version:
            refused[run_id] = f"engine {row['engine_version']} made it, and this is {version}"
            continue
        try:
            document, plugins = resolve(json.loads(row["scenario"]), allowed)
        except ParameterError as error:
            refused[run_id] = str(error)
            continue
        if document != json.loads(row["scenario"]):
            refused[run_id] = "the source of its plugin has changed since"
            continue
        planned.append(
            PlannedRun(
                run_id, row["experiment"], row["scenario"], row["seed"], version, json.loads(row["parameters"]), plugins,
                experiment.files if experiment is not None and experiment.leaves_files else None, Keep(row["kept"]),
                experiment.measure if experiment is not None and experiment.measures else None,
                experiment.measures if experiment is not None else {},
            )
        )  # fmt: skip
    return planned, refused
