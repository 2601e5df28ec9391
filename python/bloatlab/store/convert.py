"""How an older store is brought up to this version, a version at a time."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from bloatlab.store import metrics, parts, tables
from bloatlab.store.points import Points


def _bounds(connection: sqlite3.Connection, directory: Path) -> None:
    connection.execute("ALTER TABLE claims ADD COLUMN bound TEXT NOT NULL DEFAULT ''")


def _points(connection: sqlite3.Connection, directory: Path) -> None:
    """Scenarios and parameters once a point, metrics into the parts."""
    rows = defaultdict(list)
    query = (
        "SELECT part, run_id, scope, entity, metric, value FROM metrics JOIN runs USING (run_id) WHERE part IS NOT NULL"
    )
    for part, *row in connection.execute(query):
        rows[part].append(tuple(row))
    for part, of in rows.items():
        # Written before the version says so: a conversion that was cut short begins again.
        parts.add_table(directory, part, metrics.TABLE, metrics.frame(of))
    connection.execute(tables.UNITS)
    connection.execute("INSERT INTO units SELECT scope, metric, max(unit) FROM metrics GROUP BY scope, metric")
    parameters: dict[str, dict[str, object]] = defaultdict(dict)
    for run_id, name, value in connection.execute("SELECT run_id, name, value FROM parameters"):
        parameters[run_id][name] = json.loads(value)
    connection.execute("ALTER TABLE runs RENAME TO runs_2")
    connection.execute("DROP INDEX runs_by_part")
    for statement in (tables.POINTS, tables.RUNS, tables.RUNS_BY_PART):
        connection.execute(statement)
    points = Points(connection)
    old = connection.execute("SELECT run_id, scenario FROM runs_2").fetchall()
    for run_id, scenario in old:
        point = points.of(scenario, parameters[run_id])
        connection.execute(
            "INSERT INTO runs SELECT run_id, experiment, ?, seed, engine_version, status, reason, digest, wall_s, events, "
            "2 + packets, created, part FROM runs_2 WHERE run_id = ?",
            (point, run_id),
        )
    for table in ("runs_2", "parameters", "metrics"):
        connection.execute(f"DROP TABLE {table}")


CONVERTERS: dict[int, Callable[[sqlite3.Connection, Path], None]] = {1: _bounds, 2: _points}
"""From a version to the next."""
