"""`store repair` and `runs`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bloatlab.cli.console import complain, console, counted, progress_bar, say
from bloatlab.cli.run import MOST_REASONS, command_line, complain_of
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store, canonical
from bloatlab.store.remote import Place, is_url, local, shown
from bloatlab.store.repair import needs_database, rebuild
from bloatlab.store.text import readable
from bloatlab.sweeps import execute
from bloatlab.sweeps.again import planned_again
from bloatlab.visible import one_line

if TYPE_CHECKING:
    from rich.console import Console


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
    out = console()
    for number, name in enumerate(dict.fromkeys(row["experiment"] for row in rows)):
        if number:
            out.print()
        _print_runs(out, name, [row for row in rows if row["experiment"] == name])


def _print_runs(out: Console, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints the runs of an experiment: those parameters that differ in each row, and the others once."""
    texts = [{of: readable(canonical(value)) for of, value in row["parameters"].items()} for row in rows]
    names = sorted({of for text in texts for of in text})
    differing = [of for of in names if len({text.get(of) for text in texts}) > 1]
    shared = " ".join(f"{of}={texts[0][of]}" for of in names if of not in differing)
    columns = [Column("run", whole=True), Column("state", whole=True), Column("engine", optional=1), Column("seed")]
    if differing:
        columns.append(Column("parameters that differ"))
    table = FittedTable(columns, f"{name}: {counted(len(rows), 'run')}", elsewhere="--json shows them")
    for row, text in zip(rows, texts, strict=True):
        state = row["state"] if row["kept"] is None else f"{row['state']} ({row['kept']})"
        cells = [row["run_id"], state, row["engine"], _seed(row)]
        if differing:
            cells.append(" ".join(f"{of}={text[of]}" for of in differing if of in text))
        table.add(*cells)
    table.print(out)
    if shared:
        say(out, f"{'all' if len(rows) > 1 else 'parameters'}: {shared}")
    for row in rows:
        if row["reason"]:
            out.print(one_line(f"run {row['run_id']} {row['state']}: {row['reason']}"), soft_wrap=True)


def _seed(row: Mapping[str, Any]) -> str:
    repeated = f" (repetition {row['repetition']})" if row["repetition"] else ""
    return f"{row['seed']}{repeated}"
