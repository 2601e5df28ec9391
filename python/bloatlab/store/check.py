"""Checks every file of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bloatlab.store import layout
from bloatlab.store.layout import PARTS
from bloatlab.store.parts import DamagedError, Part
from bloatlab.store.store import Store


def problems(store: Store) -> Iterator[str]:
    """The problems, one per line: missing or altered parts with their runs, and files that bloatlab did not make.

    Opening the store has checked the database already.
    """
    parts = store.directory / PARTS
    held = store.runs_by_part()
    for name, manifest in sorted(store.manifests().items()):
        store.fetch_part(name)
        runs = ", ".join(held.get(name, ())) or "no run"
        try:
            Part(parts, name, manifest).check()
        except FileNotFoundError:
            yield f"{PARTS}/{name} is missing ({runs})"
        except DamagedError as error:
            yield f"{error} ({runs})"
    for path in sorted(parts.iterdir()) if parts.is_dir() else ():
        yield from _foreign(path)


def _foreign(path: Path) -> Iterator[str]:
    ours = layout.is_part(path.name) or layout.is_temporary(path.name)
    if not ours or path.is_symlink() or not path.is_dir():
        yield f"{PARTS}/{layout.quoted(path.name)} was not made by bloatlab, and is left alone"
        return
    for inside in sorted(path.iterdir()):
        if not layout.is_in_part(inside.name):
            yield f"{PARTS}/{path.name}/{layout.quoted(inside.name)} was not made by bloatlab, and is left alone"
