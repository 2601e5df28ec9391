"""`store repair` and `runs`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from bloatlab.cli.console import complain, counted, progress_bar
from bloatlab.cli.run import MOST_REASONS, command_line, complain_of
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store, canonical
from bloatlab.store.remote import Place, is_url, local, shown
from bloatlab.store.repair import needs_database, rebuild
from bloatlab.store.text import readable
from bloatlab.sweeps import execute
from bloatlab.sweeps.again import planned_again
from bloatlab.visible import visible


def repair_store(place: Place, engine: str | None, settings: RunSettings, *, allow_plugins: bool) -> int:
    """Repairs what it can, prints what was done and returns the exit code."""
    where = shown(place)
    unmended = 0
    directory = local(place)
    if not is_url(place) and needs_database(directory):
        rebuilt = rebuild(directory)
        kept = f"; the damaged one is kept as {rebuilt.aside.name}" if rebuilt.aside is not None else ""
        print(f"{where}: database rebuilt from {counted(rebuilt.parts, 'part')}: {counted(rebuilt.runs, 'run')}{kept}")
        for problem in rebuilt.damaged:
            complain(f"{where}: {problem}; the command that made its runs makes them again")
        unmended = len(rebuilt.damaged)
    store = Store(place)
    damaged = store.damaged(store.runs()["run_id"].to_list())
    allowed = AllowedPlugins(all=allow_plugins)
    given = None if engine is None else RunSettings(engine=engine).find_engine(allowed)
    planned, refused = planned_again(store, damaged, allowed, given)
    for run_id, why in list(refused.items())[:MOST_REASONS]:
        complain(f"run {run_id} cannot be made again: {why}")
    if planned:
        with progress_bar(len(planned)) as tell:
            summary = execute(planned, place, settings, progress=tell, command=command_line())
        complain_of(summary)
        print(f"{where}: {counted(summary.done, 'run')} made again")
        unmended += len(summary.failed) + len(summary.suspect)
    else:
        # Closing a writer removes parts that no run needs any more.
        Store(place).writer().close()
    if not damaged and not unmended:
        print(f"{where}: every run can be read")
    return 1 if refused or unmended else 0


def list_runs(place: Place, *, as_json: bool) -> None:
    """Prints every run: identity, state, engine, seed, experiment and parameters."""
    store = Store(place)
    points = {row["point"]: json.loads(row["parameters"]) for row in store.points().iter_rows(named=True)}
    rows = [
        {
            "run_id": row["run_id"],
            "state": row["status"],
            "kept": None if row["status"] == "failed" else Keep(row["kept"]).name.lower(),
            "reason": row["reason"],
            "engine": row["engine"],
            "seed": row["seed"],
            "repetition": row["repetition"],
            "experiment": row["experiment"],
            "parameters": points[row["point"]],
            "created": row["created"],
        }
        for row in store.runs().iter_rows(named=True)
    ]
    if as_json:
        sys.stdout.write(json.dumps({"runs": rows}) + "\n")
        return
    for row in rows:
        given = " ".join(f"{name}={readable(canonical(value))}" for name, value in row["parameters"].items())
        state = f"{row['state']}: {row['reason']}" if row["reason"] else f"{row['state']} ({row['kept']})"
        print(
            visible(f"{row['run_id']}  {state}  {row['engine']}  {_seed(row)}  {row['experiment']}  {given}").rstrip()
        )


def _seed(row: Mapping[str, Any]) -> str:
    repeated = f" (repetition {row['repetition']})" if row["repetition"] else ""
    return f"seed {row['seed']}{repeated}"
