"""Merges small parts, so that reading thousands of runs opens few files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bloatlab.store import layout
from bloatlab.store.database import Database
from bloatlab.store.parts import DamagedError, Part, joined, of_runs, write_part
from bloatlab.store.records import NOTES
from bloatlab.store.tables import PARTS, RUNS

MERGE_ABOVE = 32
"""Number of parts above which they are merged."""
MERGE_BYTES = 64_000_000
"""Largest merged part."""


def merge(parts: Path, database: Database) -> None:
    """Merges the parts of a store if there are many. Parts that are damaged, or only at a URL, are not merged."""
    runs = database.runs_by_part()
    rows = database.rows(PARTS)
    if len(rows) <= MERGE_ABOVE:
        return
    group: list[Part] = []
    size = 0
    for name, manifest, _ in sorted(rows):
        try:
            part = Part(parts, str(name), str(manifest))
        except (FileNotFoundError, DamagedError):
            continue
        part_size = sum(size for _, size in part.tables.values())
        if size + part_size > MERGE_BYTES:
            _merge_group(parts, database, group, runs)
            group, size = [], 0
        group.append(part)
        size += part_size
    _merge_group(parts, database, group, runs)


def _merge_group(parts: Path, database: Database, group: Sequence[Part], runs: Mapping[str, Sequence[str]]) -> None:
    if len(group) < 2:
        return
    frames = {}
    try:
        for table in sorted({table for part in group for table in part.tables}):
            whole = [(part, frame) for part in group if (frame := part.read(table)) is not None]
            kept = [frame if table == NOTES else of_runs(frame, runs.get(part.name, ())) for part, frame in whole]
            frames[table] = joined(kept)
    except DamagedError:
        # Its readers get an error. The group is not merged until the part is repaired.
        return
    name, manifest = write_part(parts, frames)
    with database.transaction():
        notes = frames[NOTES].height if NOTES in frames else 0
        database.put(PARTS, [(name, manifest, notes)])
        for part in group:
            database.put(RUNS, [(*row[:-1], name) for row in database.rows(RUNS, "part = ?", part.name)])
        database.remove(PARTS, [(part.name,) for part in group])
    for part in group:
        layout.remove_part(part.path)
